// What experiment kinds have in common whose model is a Transformer of post-norm blocks: settings with defaults filled in,
// what is refused of them, and which of them an encoding uses.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"
#include "proto/types/words.h"

namespace longreach::experiments {

struct Cost;  // registry.h

// Larger sizes are typing errors; the bounds also keep every product of the costs within 64 bits.
inline constexpr int kMaxSize = 1'000'000;
// Trainers compute in float32, of which anything beyond this is 0, has few digits left, or is infinite.
constexpr bool IsAboveZeroInFloat32(double value) { return value >= std::numeric_limits<float>::min() && value <= std::numeric_limits<float>::max(); }
// float32: parameters, and Adam's two moments of those that are trained.
constexpr double CheckpointBytes(double parameters, double trained) { return 4 * (parameters + 2 * trained); }
// In memory there are gradients too.
constexpr double MemoryBytes(double parameters, double trained) { return 4 * (parameters + 3 * trained); }

std::vector<std::string> Names(auto entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

// Of what was never corrected.
v1::Revisions FirstRevisions();
// Defaults that all of these kinds have, with positions below that one. Layers and widths, steps, lengths, batch size and examples are a kind's own.
v1::JobSpec TransformerDefaults(int max_position);

// The settings of a sweep or job with defaults filled in: nothing that its kind has is absent.
struct Settings {
  v1::Model model;
  v1::Positions positions;
  v1::Training training;
  v1::Evaluation evaluation;
};

// `own` over `defaults`; a list replaces the default list.
template <typename Part>
void Overlay(const Part& own, const Part& defaults, Part& whole) {
  whole = defaults;
  if constexpr (requires { whole.lengths(); }) {
    if (!own.lengths().empty()) whole.clear_lengths();
  }
  whole.MergeFrom(own);
}

// Of a SweepSpec or a JobSpec.
Settings WholeSettings(const auto& spec, const v1::JobSpec& defaults) {
  Settings whole;
  Overlay(spec.model(), defaults.model(), whole.model);
  Overlay(spec.positions(), defaults.positions(), whole.positions);
  Overlay(spec.training(), defaults.training(), whole.training);
  Overlay(spec.evaluation(), defaults.evaluation(), whole.evaluation);
  // What nothing is trained at is said only of weights that were: CompleteSettings() keeps it where tests ask for it.
  if (whole.training.steps() == 0 && spec.training().lengths().empty()) whole.training.clear_lengths();
  return whole;
}

// Collects the first refusal, so that a list of checks reads as a list.
class Checks {
 public:
  explicit Checks(std::string_view prefix) : prefix_(prefix) {}

  void Refuse(const std::string& why);
  void Range(std::string_view field, int64_t value, int64_t least, int64_t most);
  const absl::Status& status() const { return status_; }

 private:
  std::string prefix_;
  absl::Status status_;
};

// The most that anything is multiplied by: in float32 the product is still finite.
inline constexpr double kMostFactor = 1e9;
// Refuses what is not a number above `least`, at most that.
void CheckFactor(std::string_view field, double value, double least, Checks& checks);
// Refuses a word that is none of these.
void CheckWord(std::string_view field, const std::string& value, const std::vector<std::string>& known, Checks& checks);
// Sizes, positions, training and evaluation, but for evaluation.examples.
void CheckSettings(const Settings& settings, Checks& checks);
// Refuses what other kinds alone have (only_kind and also_kind in proto/longreach/v1/spec.proto).
void CheckOwnKind(const Settings& settings, std::string_view kind, Checks& checks);
absl::Status CheckEncodings(const v1::Axes& axes, std::string_view prefix);

// Lengths of tests and, where there are steps to train, of training; ascending.
std::vector<int> LengthsOf(const Settings& settings);

// The tape of a length.
struct Tape {
  std::string_view task;
  int length = 0;
  int64_t tokens = 0;
};
// Whether an encoding can be given such tapes.
void CheckEncodingFits(const EncodingName& encoding, const Settings& settings, std::span<const Tape> tapes, Checks& checks);
// Whether the attention matrices that are asked for are few enough.
void CheckAttentionFits(const Settings& settings, std::span<const Tape> tapes, Checks& checks);
// No steps and no weights: there is nothing to compute.
void CheckSomethingToDo(const v1::SweepSpec& sweep, const Settings& settings, Checks& checks);

// Gives a job its settings: lists that are sets are sorted, what its encoding does not use is taken away.
void CompleteSettings(v1::JobSpec& job, Settings whole);

// The input "weights": the artifact, and models of the same shape with parameters of the same encoding. Both jobs complete.
absl::Status CheckWeightsInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job, std::string_view prefix);
// Refuses a size that is not the same in the job that makes an input.
void CheckSame(const v1::Input& input, std::string_view what, int64_t there, int64_t here, std::string_view prefix, Checks& checks);

// Numbers that are trained: of the encoding, and of the blocks without embedding and head.
int64_t EncodingParameters(const v1::JobSpec& job);
double BlockParameters(const v1::Model& model);
// How large the checkpoint of a job is, and what it has in memory: it has the encoding's parameters beside these, and trains all of them or none, on
// tapes of at most so many tokens.
void SetSizes(const v1::JobSpec& job, double parameters, int64_t tape, Cost& cost);

}  // namespace longreach::experiments
