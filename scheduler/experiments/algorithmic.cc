// The experiment kind "algorithmic": an encoder, or a decoder, trained on short sequences of a task that makes its own data, tested on long ones.
// Sources: arXiv:2305.16843 and google-deepmind/randomized_positional_encodings; the fields' meaning is in spec.proto.
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "proto/catalog/catalog.h"
#include "proto/catalog/limits.h"
#include "proto/catalog/longest_tape.h"
#include "proto/catalog/usual_lengths.h"
#include "proto/types/words.h"
#include "scheduler/experiments/position_layers.h"
#include "scheduler/experiments/rope_scaling.h"
#include "scheduler/experiments/score_curve.h"
#include "scheduler/experiments/sequence_model.h"

namespace longreach::experiments {

const Kind& Algorithmic();

namespace {

v1::JobSpec AlgorithmicDefaults() {
  v1::JobSpec job = SequenceModelDefaults();
  v1::Training& training = *job.mutable_training();
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

SymbolCounts SymbolsOf(const catalog::Task& task, const v1::Model& model) {
  return {.read = task.TokensRead(model.causal()) + 1, .given = task.output_vocabulary};
}

int64_t OutputValuesOf(const std::string& task_name, const v1::Evaluation& evaluation) {
  const catalog::Task* task = catalog::FindTask(task_name);
  if (task == nullptr) return 0;  // A task that a later version has.
  return OutputValues(evaluation, [task](int length) { return task->OutputTokens(task->InputTokens(length)); });
}

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
    CheckSequenceModel(sweep, settings, checks);
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
    CheckRopeScalingOf(sweep, checks);
    CheckPositionLayers(sweep.axes(), settings, checks);
    CheckSides(settings, checks);
    if (settings.positions.relative_as_released()) {
      if (!relative_randomized) {
        checks.Refuse("positions.relative_as_released: true, and no encoding is relative:randomized, the only one that it is about");
      } else if (settings.positions.randomized_by() != "distance") {
        checks.Refuse(fmt::format("positions.relative_as_released: true, and positions.randomized_by is '{}'\n"
                      "  the released table is one of distances: set positions.randomized_by to 'distance'", settings.positions.randomized_by()));
      }
    }
    CheckAttentionFits(settings, tapes, checks);
    for (const std::string& name : sweep.axes().task()) {
      const int64_t values = OutputValuesOf(name, settings.evaluation);
      if (values <= catalog::kMaxValuesOfMetric) continue;
      checks.Refuse(fmt::format("evaluation.output_lengths: {} has {} values at outputs of these lengths and over them, more than {}\n  choose shorter or fewer lengths",
                                name, values, catalog::kMaxValuesOfMetric));
    }
    CheckSomethingToDo(sweep, settings, checks);
    return checks.status();
  }

  void Complete(v1::JobSpec& job) const override {
    CompleteSettings(job, WholeSettings(job, DefaultJob()));
    CompleteSequenceModel(job);
  }

  absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job,
                             std::string_view prefix) const override {
    RETURN_IF_ERROR(CheckWeightsInput(input, maker, job, prefix));
    const catalog::Task& their_task = *catalog::FindTask(maker.task());
    const catalog::Task& our_task = *catalog::FindTask(job.task());
    Checks checks("");
    CheckSameMake(input, maker, job, prefix, checks);
    CheckSame(input, "the input vocabulary", their_task.input_vocabulary, our_task.input_vocabulary, prefix, checks);
    CheckSame(input, "the output vocabulary", their_task.output_vocabulary, our_task.output_vocabulary, prefix, checks);
    return checks.status();
  }

  double MeasurementsOf(const v1::JobSpec& job) const override {
    // Accuracy and loss, and of a decoder exact_match, at each length and over all.
    const double values = 1 + job.evaluation().lengths_size() + static_cast<double>(CurveValues(job.training(), job.evaluation()));
    return (job.model().causal() ? 3.0 : 2.0) * values + static_cast<double>(OutputValuesOf(job.task(), job.evaluation()));
  }

  Cost CostOf(const v1::JobSpec& job, const MakerStoresWeights&) const override {
    const catalog::Task* task = catalog::FindTask(job.task());
    if (task == nullptr) return {};  // A task that a later version has: its job was not made here.
    Cost cost;
    const SymbolCounts symbols = SymbolsOf(*task, job.model());
    const auto forward_flops = [&](int length) { return SequenceForwardFlops(job.model(), symbols, static_cast<double>(task->Tape(length))); };
    if (job.training().lengths_size() > 0) {
      double mean = 0;
      for (const int length : job.training().lengths()) mean += forward_flops(length);
      mean /= job.training().lengths_size();
      // Backward costs twice forward.
      cost.flops += 3.0 * job.training().batch_size() * job.training().steps() * mean;
    }
    const auto test_flops = [&](int length) { return static_cast<double>(job.evaluation().examples()) * forward_flops(length); };
    for (const int length : job.evaluation().lengths()) cost.flops += test_flops(length);
    cost.flops += CurveFlops(job, test_flops);
    SetSequenceSizes(job, symbols,
                     {.trained = catalog::LongestTape(*task, job.training().lengths()), .tested = catalog::LongestTape(*task, job.evaluation().lengths())}, cost);
    return cost;
  }
};

}  // namespace

const Kind& Algorithmic() {
  static const AlgorithmicKind kind;
  return kind;
}

}  // namespace longreach::experiments
