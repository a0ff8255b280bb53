// The experiment kind "algorithmic": an encoder trained on short sequences of one of 15 tasks, tested on long ones.
// Sources: arXiv:2305.16843 and google-deepmind/randomized_positional_encodings; the fields' meaning is in spec.proto.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/words.h"
#include "scheduler/experiments/registry.h"

namespace longreach::experiments {

const Kind& Algorithmic();

namespace {

constexpr int kMaxLength = 1'000'000;
// A length is one measurement row of each metric, and more than this many values belong into a series file.
constexpr int kMaxTestLengths = 1000;
constexpr int kMaxTrainingLengths = 100'000;
// Larger sizes are typing errors; the bounds also keep every product below within 64 bits.
constexpr int kMaxSize = 1'000'000;

v1::JobSpec MakeDefaults() {
  v1::JobSpec job;
  v1::Model& model = *job.mutable_model();
  model.set_layers(5);
  model.set_embedding_dim(64);
  model.set_heads(8);
  model.set_mlp_dim(256);
  model.set_dropout(0.1);
  model.set_kerple_shared(false);
  model.set_break_symmetry(false);
  model.set_sandwich_dim(128);
  model.set_learned_rows(2048);
  v1::Positions& positions = *job.mutable_positions();
  positions.set_max_position(2048);
  positions.set_randomized_by("distance");
  positions.set_relative_as_released(false);
  positions.set_shift_max(0);
  positions.set_shift_at_test("random");
  v1::Training& training = *job.mutable_training();
  training.set_steps(2'000'000);
  training.set_batch_size(128);
  for (int length = 1; length <= 40; ++length) training.add_lengths(length);
  training.set_clip_norm(1.0);
  training.set_data_seed(0);
  v1::Evaluation& evaluation = *job.mutable_evaluation();
  for (int length = 41; length <= 500; ++length) evaluation.add_lengths(length);
  evaluation.set_examples(500);
  evaluation.set_dropout(false);
  evaluation.set_seed(0);
  job.mutable_revisions()->set_task(1);
  job.mutable_revisions()->set_encoding(1);
  job.mutable_revisions()->set_model(1);
  return job;
}

const v1::JobSpec& DefaultJob() {
  static const v1::JobSpec defaults = MakeDefaults();
  return defaults;
}

// What an encoding makes of the settings.
bool IsKerple(std::string_view encoding) { return encoding == "log_kerple" || encoding == "power_kerple"; }
// The signed distance is all it looks at, so randomized positions may be drawn per distance.
bool IsOfDistance(std::string_view encoding) {
  return encoding == "alibi" || encoding == "relative" || encoding == "sandwich" || IsKerple(encoding);
}
// Half of the embedding holds sines and half cosines.
bool NeedsEvenEmbedding(std::string_view encoding) {
  return encoding == "sin_cos" || encoding == "shape" || encoding == "relative";
}

std::vector<std::string> Names(auto entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

// The settings of a sweep with its defaults filled in: nothing is absent.
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

Settings WholeSettings(const auto& spec) {
  Settings whole;
  Overlay(spec.model(), DefaultJob().model(), whole.model);
  Overlay(spec.positions(), DefaultJob().positions(), whole.positions);
  Overlay(spec.training(), DefaultJob().training(), whole.training);
  Overlay(spec.evaluation(), DefaultJob().evaluation(), whole.evaluation);
  return whole;
}

// Collects the first refusal, so that a list of checks reads as a list.
class Checks {
 public:
  explicit Checks(std::string_view prefix) : prefix_(prefix) {}

  template <typename... Args>
  void Refuse(fmt::format_string<Args...> why, Args&&... args) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(prefix_ + fmt::format(why, std::forward<Args>(args)...));
  }
  void Range(std::string_view field, int64_t value, int64_t least, int64_t most) {
    if (value < least) Refuse("{}: {} is below {}", field, value, least);
    if (value > most) Refuse("{}: {} is above {}", field, value, most);
  }
  const absl::Status& status() const { return status_; }

 private:
  std::string prefix_;
  absl::Status status_;
};

void CheckModel(const v1::Model& model, Checks& checks) {
  checks.Range("model.layers", model.layers(), 1, 1000);
  checks.Range("model.embedding_dim", model.embedding_dim(), 1, kMaxSize);
  checks.Range("model.heads", model.heads(), 1, kMaxSize);
  if (model.heads() > 0 && model.embedding_dim() % model.heads() != 0) {
    checks.Refuse("model.heads: {} does not divide model.embedding_dim, {}\n  set one of them so that it does", model.heads(),
                  model.embedding_dim());
  }
  checks.Range("model.mlp_dim", model.mlp_dim(), 1, kMaxSize);
  if (!(model.dropout() >= 0 && model.dropout() < 1)) {
    checks.Refuse("model.dropout: {} is not in [0, 1)", ShortestNumber(model.dropout()));
  }
  checks.Range("model.sandwich_dim", model.sandwich_dim(), 2, kMaxSize);
  if (model.sandwich_dim() % 2 != 0) checks.Refuse("model.sandwich_dim: {} is odd; it must be even", model.sandwich_dim());
  checks.Range("model.learned_rows", model.learned_rows(), 1, kMaxSize);
}

void CheckPositions(const v1::Positions& positions, Checks& checks) {
  checks.Range("positions.max_position", positions.max_position(), 1, kMaxSize);
  if (positions.randomized_by() != "distance" && positions.randomized_by() != "position") {
    checks.Refuse("positions.randomized_by: '{}' is neither 'distance' nor 'position'", positions.randomized_by());
  }
  checks.Range("positions.shift_max", positions.shift_max(), 0, kMaxSize);
  const std::string& at_test = positions.shift_at_test();
  if (at_test != "random" && at_test != "fixed" && at_test != "zero") {
    checks.Refuse("positions.shift_at_test: '{}' is none of 'random', 'fixed' and 'zero'", at_test);
  }
  if (at_test == "fixed" && positions.shift_max() == 0) {
    checks.Refuse("positions.shift_at_test: 'fixed' shifts by positions.shift_max, which is 0\n  set positions.shift_max, or use 'zero'");
  }
}

template <typename Lengths>
void CheckLengths(std::string_view field, const Lengths& lengths, int most, Checks& checks) {
  if (lengths.size() > most) checks.Refuse("{}: {} lengths; at most {} in one job", field, lengths.size(), most);
  std::set<int> seen;
  for (const int length : lengths) {
    checks.Range(field, length, 1, kMaxLength);
    if (!seen.insert(length).second) checks.Refuse("{}: {} is there twice", field, length);
  }
}

void CheckTraining(const v1::Training& training, Checks& checks) {
  checks.Range("training.steps", training.steps(), 0, std::numeric_limits<int32_t>::max());
  checks.Range("training.batch_size", training.batch_size(), 1, kMaxSize);
  CheckLengths("training.lengths", training.lengths(), kMaxTrainingLengths, checks);
  if (!std::isfinite(training.clip_norm()) || training.clip_norm() <= 0) {
    checks.Refuse("training.clip_norm: {} is not a finite number above 0", ShortestNumber(training.clip_norm()));
  }
}

void CheckEvaluation(const v1::Evaluation& evaluation, Checks& checks) {
  checks.Range("evaluation.examples", evaluation.examples(), 1, kMaxSize);
  CheckLengths("evaluation.lengths", evaluation.lengths(), kMaxTestLengths, checks);
}

absl::Status CheckTasks(const v1::Axes& axes, std::string_view prefix) {
  for (const std::string& task : axes.task()) {
    if (catalog::FindTask(task) == nullptr) {
      return UnknownWord(fmt::format("{}axes.task", prefix), "task", task, Names(catalog::Tasks()),
                         "'longreach list tasks' shows all of them");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEncodings(const v1::Axes& axes, std::string_view prefix) {
  const std::string field = fmt::format("{}axes.encoding", prefix);
  for (const std::string& value : axes.encoding()) {
    const std::optional<EncodingName> name = ParseEncodingName(value);
    if (!name) {
      return absl::InvalidArgumentError(
          fmt::format("{}: '{}': only ':randomized' may follow a name, as in 'rope:randomized'", field, value));
    }
    const catalog::Encoding* encoding = catalog::FindEncoding(name->name);
    if (encoding == nullptr) {
      return UnknownWord(field, "encoding", name->name, Names(catalog::Encodings()), "'longreach list encodings' shows all of them");
    }
    if (name->randomized && (encoding->positions & catalog::kRandomized) == 0) {
      std::vector<std::string> admitted;
      for (const catalog::Encoding& other : catalog::Encodings()) {
        if (other.positions & catalog::kRandomized) admitted.emplace_back(other.name);
      }
      return absl::InvalidArgumentError(fmt::format("{}: '{}': {} admits no randomized positions\n  those that do: {}", field, value,
                                                    name->name, Join(admitted, ", ")));
    }
  }
  return absl::OkStatus();
}

// The first (task, length) whose tape is longer than `limit`, if there is one.
struct LongTape {
  std::string_view task;
  int length = 0;
  int64_t tape = 0;
};
std::optional<LongTape> FindLongTape(const v1::Axes& axes, const Settings& settings, int64_t limit) {
  for (const std::string& name : axes.task()) {
    const catalog::Task& task = *catalog::FindTask(name);
    std::vector<int> lengths(settings.evaluation.lengths().begin(), settings.evaluation.lengths().end());
    if (settings.training.steps() > 0) {
      lengths.insert(lengths.end(), settings.training.lengths().begin(), settings.training.lengths().end());
    }
    std::ranges::sort(lengths);
    for (const int length : lengths) {
      if (task.Tape(length) > limit) return LongTape{task.name, length, task.Tape(length)};
    }
  }
  return std::nullopt;
}

void CheckEncodingFits(const EncodingName& encoding, const v1::Axes& axes, const Settings& settings, Checks& checks) {
  const v1::Model& model = settings.model;
  const v1::Positions& positions = settings.positions;
  const int64_t max_position = positions.max_position();
  if (NeedsEvenEmbedding(encoding.name) && model.embedding_dim() % 2 != 0) {
    checks.Refuse("model.embedding_dim: {} is odd, and {} needs an even one", model.embedding_dim(), encoding.name);
  }
  if (encoding.name == "rope" && (model.embedding_dim() / model.heads()) % 2 != 0) {
    checks.Refuse("model.heads: {} heads of {} dimensions each, and rope turns pairs of them\n  choose an even number for each head",
                  model.heads(), model.embedding_dim() / model.heads());
  }
  if (encoding.randomized) {
    if (const auto tape = FindLongTape(axes, settings, max_position)) {
      checks.Refuse("positions.max_position: {} at length {} has a tape of {} tokens, and {} draws that many distinct positions below {}\n"
                    "  set positions.max_position to at least {}, or shorten evaluation.lengths and training.lengths",
                    tape->task, tape->length, tape->tape, ToText(encoding), max_position, tape->tape);
    }
    if (encoding.name == "learned" && model.learned_rows() < max_position) {
      checks.Refuse("model.learned_rows: {} rows, and positions of learned:randomized go up to positions.max_position, {}\n"
                    "  set model.learned_rows to at least that", model.learned_rows(), max_position);
    }
  } else if (encoding.name == "learned") {
    if (const auto tape = FindLongTape(axes, settings, model.learned_rows())) {
      checks.Refuse("model.learned_rows: {} at length {} has a tape of {} tokens, and the table has {} rows\n"
                    "  set model.learned_rows to at least {}, or shorten evaluation.lengths and training.lengths",
                    tape->task, tape->length, tape->tape, model.learned_rows(), tape->tape);
    }
  } else if (encoding.name == "shape") {
    if (const auto tape = FindLongTape(axes, settings, max_position - positions.shift_max())) {
      checks.Refuse("positions.max_position: {} at length {} has a tape of {} tokens, which shape shifts by up to {} below {}\n"
                    "  set positions.max_position to at least {}, or shorten evaluation.lengths and training.lengths",
                    tape->task, tape->length, tape->tape, positions.shift_max(), max_position, tape->tape + positions.shift_max());
    }
  }
}

// Parameters that come with an encoding, of one model.
int64_t EncodingParameters(const v1::JobSpec& job) {
  const v1::Model& model = job.model();
  const int64_t d = model.embedding_dim();
  if (job.encoding() == "relative") return model.layers() * (d * d + 2 * d);
  if (IsKerple(job.encoding())) return 2 * model.heads() * (model.kerple_shared() ? 1 : model.layers());
  if (job.encoding() == "learned") return d * model.learned_rows();
  return 0;
}

// FLOP of the matrix products of one forward pass of one sequence: chomsky section 9 in the catalog's terms, the same
// as longreach::trainer::MatmulFlops() without its factors for the batch and for backward.
double ForwardFlops(const v1::Model& model, const catalog::Task& task, int length) {
  const double tape = static_cast<double>(task.Tape(length));
  const double d = model.embedding_dim();
  const double per_token = 2 * d * (task.input_vocabulary + 1) + model.layers() * (8 * d * d + 4 * d * model.mlp_dim()) +
                           2 * d * task.output_vocabulary;
  return tape * per_token + 4.0 * model.layers() * d * tape * tape;
}

class AlgorithmicKind final : public Kind {
 public:
  std::string_view Name() const override { return "algorithmic"; }
  std::string_view MainMetric() const override { return "accuracy"; }
  const v1::JobSpec& Defaults() const override { return DefaultJob(); }

  absl::Status Validate(const v1::SweepSpec& sweep, std::string_view prefix) const override {
    RETURN_IF_ERROR(CheckTasks(sweep.axes(), prefix));
    RETURN_IF_ERROR(CheckEncodings(sweep.axes(), prefix));
    Checks checks(prefix);
    if (!sweep.data().empty()) {
      checks.Refuse("data: '{}': the tasks of this kind make their own data\n  leave 'data' out", sweep.data());
    }
    const Settings settings = WholeSettings(sweep);
    CheckModel(settings.model, checks);
    CheckPositions(settings.positions, checks);
    CheckTraining(settings.training, checks);
    CheckEvaluation(settings.evaluation, checks);
    RETURN_IF_ERROR(checks.status());

    bool relative_randomized = false;
    for (const std::string& value : sweep.axes().encoding()) {
      const EncodingName encoding = *ParseEncodingName(value);
      CheckEncodingFits(encoding, sweep.axes(), settings, checks);
      relative_randomized |= encoding == EncodingName{"relative", true};
    }
    if (settings.positions.relative_as_released()) {
      if (!relative_randomized) {
        checks.Refuse("positions.relative_as_released: true, and no encoding is relative:randomized, the only one that it is about");
      } else if (settings.positions.randomized_by() != "distance") {
        checks.Refuse("positions.relative_as_released: true, and positions.randomized_by is '{}'\n"
                      "  the released table is one of distances: set positions.randomized_by to 'distance'", settings.positions.randomized_by());
      }
    }
    const bool weights = std::ranges::any_of(sweep.inputs(), [](const v1::Input& input) { return input.name() == "weights"; });
    if (settings.training.steps() == 0 && !weights) {
      checks.Refuse("training.steps: 0 steps train nothing\n  set training.steps, or give an input 'weights' to evaluate");
    }
    return checks.status();
  }

  void Complete(v1::JobSpec& job) const override {
    Settings whole = WholeSettings(job);
    std::ranges::sort(*whole.training.mutable_lengths());
    std::ranges::sort(*whole.evaluation.mutable_lengths());
    const std::string& encoding = job.encoding();
    if (!IsKerple(encoding)) whole.model.clear_kerple_shared();
    if (!IsKerple(encoding) && encoding != "sandwich") whole.model.clear_break_symmetry();
    if (encoding != "sandwich") whole.model.clear_sandwich_dim();
    if (encoding != "learned") whole.model.clear_learned_rows();
    if (!job.randomized() && encoding != "shape") whole.positions.clear_max_position();
    if (!job.randomized() || !IsOfDistance(encoding)) whole.positions.clear_randomized_by();
    if (!job.randomized() || encoding != "relative") whole.positions.clear_relative_as_released();
    if (encoding != "shape") whole.positions.clear_shift_max();
    if (encoding != "shape") whole.positions.clear_shift_at_test();
    if (whole.training.steps() == 0) {
      whole.training.clear_batch_size();
      whole.training.clear_lengths();
      whole.training.clear_clip_norm();
      whole.training.clear_data_seed();
    }
    *job.mutable_model() = whole.model;
    *job.mutable_positions() = whole.positions;
    *job.mutable_training() = whole.training;
    *job.mutable_evaluation() = whole.evaluation;
    // A job that was stored under older revisions keeps those; a new one gets the catalog's.
    v1::Revisions& revisions = *job.mutable_revisions();
    const catalog::Task* task = catalog::FindTask(job.task());
    const catalog::Encoding* known = catalog::FindEncoding(encoding);
    if (!revisions.has_task()) revisions.set_task(task != nullptr ? task->revision : 1);
    if (!revisions.has_encoding()) revisions.set_encoding(known != nullptr ? known->revision : 1);
    if (!revisions.has_model()) revisions.set_model(catalog::kModelRevision);
  }

  absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job,
                             std::string_view prefix) const override {
    const std::string field = fmt::format("{}inputs.{}", prefix, input.name());
    if (input.name() != "weights") {
      return UnknownWord(field, "input", input.name(), {"weights"}, "this kind knows the input 'weights': initial parameters");
    }
    if (input.artifact() != "weights") {
      return absl::InvalidArgumentError(fmt::format("{}.artifact: '{}' is not what the input 'weights' takes\n  set it to 'weights'", field,
                                                    input.artifact().empty() ? input.metric() : input.artifact()));
    }
    if (maker.experiment() != job.experiment()) {
      return absl::InvalidArgumentError(
          fmt::format("{}.from.experiment: parameters of '{}' do not fit into '{}'", field, maker.experiment(), job.experiment()));
    }
    const v1::Model& theirs = maker.model();
    const v1::Model& ours = job.model();
    const catalog::Task& their_task = *catalog::FindTask(maker.task());
    const catalog::Task& our_task = *catalog::FindTask(job.task());
    Checks checks("");
    const auto same = [&](std::string_view what, int64_t there, int64_t here) {
      if (there != here) {
        checks.Refuse("{}.from: {} is {} there and {} in {} with {}, so its parameters do not fit", field, what, there, here, job.task(),
                      job.encoding());
      }
    };
    same("model.layers", theirs.layers(), ours.layers());
    same("model.embedding_dim", theirs.embedding_dim(), ours.embedding_dim());
    same("model.heads", theirs.heads(), ours.heads());
    same("model.mlp_dim", theirs.mlp_dim(), ours.mlp_dim());
    same("the input vocabulary", their_task.input_vocabulary, our_task.input_vocabulary);
    same("the output vocabulary", their_task.output_vocabulary, our_task.output_vocabulary);
    const int64_t theirs_extra = EncodingParameters(maker);
    const int64_t ours_extra = EncodingParameters(job);
    same("the number of the encoding's parameters", theirs_extra, ours_extra);
    if (ours_extra > 0 && maker.encoding() != job.encoding()) {
      checks.Refuse("{}.from.axes.encoding: parameters of '{}' do not fit into '{}'", field, maker.encoding(), job.encoding());
    }
    return checks.status();
  }

  Cost CostOf(const v1::JobSpec& job) const override {
    const catalog::Task* task = catalog::FindTask(job.task());
    if (task == nullptr) return {};  // A task that a later version has: its job was not made here.
    Cost cost;
    const v1::Model& model = job.model();
    if (job.training().lengths_size() > 0) {
      double mean = 0;
      for (const int length : job.training().lengths()) mean += ForwardFlops(model, *task, length);
      mean /= job.training().lengths_size();
      // Backward costs twice forward.
      cost.flops += 3.0 * job.training().batch_size() * job.training().steps() * mean;
    }
    for (const int length : job.evaluation().lengths()) {
      cost.flops += static_cast<double>(job.evaluation().examples()) * ForwardFlops(model, *task, length);
    }
    const double d = model.embedding_dim();
    const double mlp = model.mlp_dim();
    const double layer = 4 * d * d + 2 * d * mlp + mlp + d + 4 * d;  // Projections, MLP with biases, two layer norms.
    const double parameters = d * (task->input_vocabulary + 1) + model.layers() * layer + (d + 1) * task->output_vocabulary +
                              static_cast<double>(EncodingParameters(job));
    constexpr double kBytes = 4 * 3;  // float32: the parameter and Adam's two moments.
    cost.checkpoint_bytes = kBytes * parameters;
    return cost;
  }
};

}  // namespace

const Kind& Algorithmic() {
  static const AlgorithmicKind kind;
  return kind;
}

}  // namespace longreach::experiments
