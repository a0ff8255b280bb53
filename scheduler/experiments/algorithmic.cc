// The experiment kind "algorithmic": an encoder, or a decoder, trained on short sequences of a task that makes its own data, tested on long ones.
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
#include "proto/catalog/limits.h"
#include "proto/catalog/longest_tape.h"
#include "proto/catalog/usual_lengths.h"
#include "proto/types/words.h"
#include "scheduler/experiments/rate_schedule.h"
#include "scheduler/experiments/registry.h"
#include "scheduler/experiments/score_curve.h"
#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

const Kind& Algorithmic();

namespace {

v1::JobSpec AlgorithmicDefaults() {
  v1::JobSpec job = TransformerDefaults(2048);
  v1::Model& model = *job.mutable_model();
  model.set_layers(5);
  model.set_embedding_dim(64);
  model.set_mlp_dim(256);
  model.set_causal(false);
  model.set_norm("post");
  v1::Training& training = *job.mutable_training();
  training.set_steps(2'000'000);
  training.set_batch_size(128);
  training.set_warmup_steps(0);
  training.set_final_rate(0.1);
  training.set_schedule("constant");
  for (int length = catalog::kFirstTrainedLength; length <= catalog::kLastTrainedLength; ++length) training.add_lengths(length);
  v1::Evaluation& evaluation = *job.mutable_evaluation();
  for (int length = catalog::kFirstTestedLength; length <= catalog::kLastTestedLength; ++length) evaluation.add_lengths(length);
  evaluation.set_examples(500);
  return job;
}

const v1::JobSpec& DefaultJob() {
  static const v1::JobSpec defaults = AlgorithmicDefaults();
  return defaults;
}

absl::Status CheckTasks(const v1::Axes& axes, std::string_view prefix) {
  for (const std::string& task : axes.task()) {
    if (catalog::FindTask(task) == nullptr) {
      return UnknownTask(fmt::format("{}axes.task", prefix), "algorithmic", task, Names(catalog::Tasks()), "'longreach list tasks' shows all of them");
    }
  }
  return absl::OkStatus();
}

// FLOP of the matrix products of one forward pass of one sequence: chomsky section 9 in the catalog's terms, the same
// as longreach::trainer::MatmulFlops() without its factors for the batch and for backward.
double ForwardFlops(const v1::Model& model, const catalog::Task& task, int length) {
  const double tape = static_cast<double>(task.Tape(length));
  const double d = model.embedding_dim();
  const double per_token = 2 * d * (task.TokensRead(model.causal()) + 1) + model.layers() * (8 * d * d + 4 * d * model.mlp_dim()) +
                           2 * d * task.output_vocabulary;
  const double pairs = model.causal() ? tape * tape / 2 : tape * tape;
  return tape * per_token + 4.0 * model.layers() * d * pairs;
}

// Blocks have as many norms either way; with "pre" there is one more behind the last.
double FinalNormParameters(const v1::Model& model) { return model.norm() == "pre" ? 2.0 * model.embedding_dim() : 0; }

class AlgorithmicKind final : public Kind {
 public:
  std::string_view Name() const override { return "algorithmic"; }
  const v1::JobSpec& Defaults() const override { return DefaultJob(); }

  absl::Status Validate(const v1::SweepSpec& sweep, std::string_view prefix) const override {
    RETURN_IF_ERROR(CheckTasks(sweep.axes(), prefix));
    RETURN_IF_ERROR(CheckEncodings(sweep.axes(), prefix));
    Checks checks(prefix);
    if (!sweep.data().empty()) {
      checks.Refuse(fmt::format("data: '{}': the tasks of this kind make their own data\n  leave 'data' out", sweep.data()));
    }
    const Settings settings = WholeSettings(sweep, DefaultJob());
    CheckSettings(settings, checks);
    for (const int length : settings.training.lengths()) checks.Range("training.lengths", length, 1, catalog::kMaxInputLength);
    for (const int length : settings.evaluation.lengths()) checks.Range("evaluation.lengths", length, 1, catalog::kMaxInputLength);
    CheckOwnKind(settings, Name(), checks);
    CheckRateSchedule(sweep.training(), settings.training, checks);
    const std::string& norm = settings.model.norm();
    if (norm != "post" && norm != "pre") checks.Refuse(fmt::format("model.norm: '{}' is neither 'post' nor 'pre'", norm));
    checks.Range("evaluation.examples", settings.evaluation.examples(), 1, kMaxSize);
    RETURN_IF_ERROR(checks.status());

    std::vector<Tape> tapes;
    for (const std::string& name : sweep.axes().task()) {
      const catalog::Task& task = *catalog::FindTask(name);
      for (const int length : LengthsOf(settings)) tapes.push_back({name, length, task.Tape(length)});
    }
    bool relative_randomized = false;
    for (const std::string& value : sweep.axes().encoding()) {
      const EncodingName encoding = *ParseEncodingName(value);
      CheckEncodingFits(encoding, settings, tapes, checks);
      relative_randomized |= encoding == EncodingName{"relative", true};
    }
    if (settings.model.causal() && (settings.positions.relative_as_released() || settings.model.break_symmetry())) {
      checks.Refuse(fmt::format("{}: true: with model.causal the model looks back only, there is nothing to tell apart\n  leave it out",
                                settings.model.break_symmetry() ? "model.break_symmetry" : "positions.relative_as_released"));
    }
    if (settings.positions.relative_as_released()) {
      if (!relative_randomized) {
        checks.Refuse("positions.relative_as_released: true, and no encoding is relative:randomized, the only one that it is about");
      } else if (settings.positions.randomized_by() != "distance") {
        checks.Refuse(fmt::format("positions.relative_as_released: true, and positions.randomized_by is '{}'\n"
                      "  the released table is one of distances: set positions.randomized_by to 'distance'", settings.positions.randomized_by()));
      }
    }
    CheckAttentionFits(settings, tapes, checks);
    CheckSomethingToDo(sweep, settings, checks);
    return checks.status();
  }

  void Complete(v1::JobSpec& job) const override {
    CompleteSettings(job, WholeSettings(job, DefaultJob()));
    CompleteRateSchedule(*job.mutable_training());
  }

  absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job,
                             std::string_view prefix) const override {
    RETURN_IF_ERROR(CheckWeightsInput(input, maker, job, prefix));
    const catalog::Task& their_task = *catalog::FindTask(maker.task());
    const catalog::Task& our_task = *catalog::FindTask(job.task());
    Checks checks("");
    if (maker.model().causal() != job.model().causal()) {
      checks.Refuse(fmt::format("{}inputs.{}.from: model.causal is {} there and {} here, so its parameters do not fit", prefix, input.name(),
                                maker.model().causal(), job.model().causal()));
    }
    if (maker.model().norm() != job.model().norm()) {
      checks.Refuse(fmt::format("{}inputs.{}.from: model.norm is '{}' there and '{}' here, so its parameters do not fit", prefix, input.name(),
                                maker.model().norm(), job.model().norm()));
    }
    CheckSame(input, "the input vocabulary", their_task.input_vocabulary, our_task.input_vocabulary, prefix, checks);
    CheckSame(input, "the output vocabulary", their_task.output_vocabulary, our_task.output_vocabulary, prefix, checks);
    return checks.status();
  }

  double MeasurementsOf(const v1::JobSpec& job) const override {
    // Accuracy and loss, and of a decoder exact_match, at each length and over all.
    const double values = 1 + job.evaluation().lengths_size() + static_cast<double>(CurveValues(job.training(), job.evaluation()));
    return (job.model().causal() ? 3.0 : 2.0) * values;
  }

  Cost CostOf(const v1::JobSpec& job, const MakerStoresWeights&) const override {
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
    const auto test_flops = [&](int length) { return static_cast<double>(job.evaluation().examples()) * ForwardFlops(model, *task, length); };
    for (const int length : job.evaluation().lengths()) cost.flops += test_flops(length);
    cost.flops += CurveFlops(job, test_flops);
    const double d = model.embedding_dim();
    const double others = d * (task->TokensRead(model.causal()) + 1) + FinalNormParameters(model) + (d + 1) * task->output_vocabulary;
    const int64_t trained = catalog::LongestTape(*task, job.training().lengths());
    SetSizes(job, BlockParameters(model) + others, trained, cost);
    if (job.encoding() == "fire") {
      cost.pair_tables = {.tables = static_cast<double>(model.layers()) * model.heads(),
                          .trained = trained,
                          .tested = catalog::LongestTape(*task, job.evaluation().lengths()),
                          .batch_size = job.training().batch_size()};
    }
    return cost;
  }
};

}  // namespace

const Kind& Algorithmic() {
  static const AlgorithmicKind kind;
  return kind;
}

}  // namespace longreach::experiments
