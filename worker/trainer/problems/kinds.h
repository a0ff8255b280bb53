// What an experiment kind makes of its settings, without data and without torch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "proto/base/status.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

class Problem;

struct ExperimentKind {
  std::string_view name;
  // Each token sees those before it and itself; otherwise model.causal says it.
  bool causal;
  // Input and output sequences of symbols, each output at a place of its own: the model is the encoder or, with model.causal, its decoder, whose blocks
  // normalise as model.norm says, and the kernels for CPUs know it.
  bool of_sequences;
  // Reads a data set (settings.data).
  bool needs_data;
  // Its models may have billions of parameters: a sequence may be all that is computed at a time, and gives signs of life within.
  bool large;
  // Tokens that a requested length gives, as settings that the kind refuses nothing of.
  int64_t (*Tape)(const PackSettings& settings, int length);
  // What is refused of a task, a length and whatever the kind alone knows.
  absl::Status (*Validate)(const PackSettings& settings);
  double (*ForwardFlops)(const PackSettings& settings, int length);
  // What it is trained and tested on (problem.h). The settings have been validated; `data` is null for a stand-in. Errors as of MakeProblem().
  absl::StatusOr<std::unique_ptr<Problem>> (*Make)(const PackSettings& settings, const DataSource* data);
};

// Each in a file of its own.
absl::StatusOr<std::unique_ptr<Problem>> MakeAlgorithmic(const PackSettings& settings, const DataSource* data);
absl::StatusOr<std::unique_ptr<Problem>> MakeImages(const PackSettings& settings, const DataSource* data);
absl::StatusOr<std::unique_ptr<Problem>> MakeLanguage(const PackSettings& settings, const DataSource* data);
absl::StatusOr<std::unique_ptr<Problem>> MakeLlama(const PackSettings& settings, const DataSource* data);
absl::StatusOr<std::unique_ptr<Problem>> MakeSequences(const PackSettings& settings, const DataSource* data);

// Ascending by name.
std::span<const ExperimentKind> ExperimentKinds();
// nullptr when there is none.
const ExperimentKind* FindExperimentKind(std::string_view name);

// Of settings whose experiment is known.
bool IsCausal(const PackSettings& settings);
bool IsLarge(const PackSettings& settings);
int64_t TapeOf(const PackSettings& settings, int length);
// Outputs of a length, of kinds that are of sequences; as TapeOf().
int64_t OutputsOf(const PackSettings& settings, int length);
// 0 of no lengths.
int64_t LongestTape(const PackSettings& settings, std::span<const int> lengths);

// What a length means for images: `rows` of `cols` pixels, behind each of which a delimiter may stand.
struct ImageShape {
  int rows = 0;
  int cols = 0;
  int64_t tape = 0;
};
// Lengths are cut into rows as squarely as they can be, never fewer columns than rows: 506 = 22 x 23, 2025 = 45 x 45.
// INVALID_ARGUMENT when no pixel is left.
absl::StatusOr<ImageShape> ImageShapeOf(const PackSettings::Model& model, int length);

}  // namespace longreach::trainer
