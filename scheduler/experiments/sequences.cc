// The experiment kind "sequences": the model of the kind "algorithmic", trained and tested on pairs of an input and an output that somebody imported. What these
// are, which lengths and symbols they have, only workers know: what a length is here is the number of input symbols, and what depends on the outputs is checked there.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "proto/catalog/limits.h"
#include "scheduler/experiments/data_kind.h"
#include "scheduler/experiments/sequence_model.h"

namespace longreach::experiments {

const Kind& Sequences();

namespace {

// What costs are estimated by, as the data is not known here: outputs as long as their inputs, so many symbols of either, and so many tests at a length where all
// that the data set has are asked for.
constexpr int64_t kEstimatedTape = 2;
constexpr int kEstimatedSymbols = 32;
constexpr double kEstimatedTests = 500;

v1::JobSpec SequencesDefaults() {
  v1::JobSpec job = SequenceModelDefaults();
  job.mutable_evaluation()->set_examples(0);
  job.mutable_positions()->set_data_rows(0);
  job.mutable_positions()->set_data_shift(0);
  return job;
}

SymbolCounts EstimatedSymbols(const v1::Model& model) { return {.read = kEstimatedSymbols + (model.causal() ? kEstimatedSymbols : 0) + 1, .given = kEstimatedSymbols}; }

template <typename Lengths>
void CheckGiven(std::string_view group, std::string_view split, const Lengths& lengths, Checks& checks) {
  if (lengths.empty()) {
    checks.Refuse(fmt::format("{}.lengths: is to be set: the input lengths of the data's {} pairs\n"
                              "  'longreach data list -o json' on a worker's machine says which there are", group, split));
  }
  for (const int length : lengths) checks.Range(fmt::format("{}.lengths", group), length, 1, catalog::kMaxPairInput);
}

class SequencesKind final : public DataKind {
 public:
  std::string_view Name() const override { return "sequences"; }
  const v1::JobSpec& Defaults() const override {
    static const v1::JobSpec defaults = SequencesDefaults();
    return defaults;
  }

  absl::Status Validate(const v1::SweepSpec& sweep, std::string_view prefix) const override {
    RETURN_IF_ERROR(DataKind::Validate(sweep, prefix));
    Checks checks(prefix);
    CheckSequenceModel(sweep, WholeSettings(sweep, Defaults()), checks);
    return checks.status();
  }

  void Complete(v1::JobSpec& job) const override {
    DataKind::Complete(job);
    CompleteSequenceModel(job);
    if (job.positions().data_rows() == 0) job.mutable_positions()->clear_data_shift();
  }

  // Whether the symbols are the same is looked at where the data is.
  absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec& maker, const v1::JobSpec& job, std::string_view prefix) const override {
    RETURN_IF_ERROR(DataKind::ValidateInput(input, maker, job, prefix));
    Checks checks("");
    CheckSameMake(input, maker, job, prefix, checks);
    CheckSame(input, "positions.data_rows", maker.positions().data_rows(), job.positions().data_rows(), prefix, checks);
    return checks.status();
  }

  // Sizes are those of the lengths that are trained and tested, by the tapes that costs are estimated by.
  Cost CostOf(const v1::JobSpec& job, const MakerStoresWeights& maker_does) const override {
    Cost cost = DataKind::CostOf(job, maker_does);
    const auto longest = [](const auto& lengths) { return lengths.empty() ? int64_t{0} : kEstimatedTape * *std::ranges::max_element(lengths); };
    SetSequenceSizes(job, EstimatedSymbols(job.model()), {.trained = longest(job.training().lengths()), .tested = longest(job.evaluation().lengths())}, cost);
    return cost;
  }

  // As many outputs as the tapes that costs are estimated by have.
  double MeasurementsOf(const v1::JobSpec& job) const override {
    return DataKind::MeasurementsOf(job) +
           static_cast<double>(OutputValues(job.evaluation(), [](int length) { return (kEstimatedTape - 1) * length; }));
  }

 protected:
  void CheckOwn(const Settings& settings, Checks& checks) const override {
    if (settings.training.steps() > 0) CheckGiven("training", "training", settings.training.lengths(), checks);
    CheckGiven("evaluation", "test", settings.evaluation.lengths(), checks);
    CheckSides(settings, checks);
    checks.Range("positions.data_rows", settings.positions.data_rows(), 0, kMaxSize);
    checks.Range("positions.data_shift", settings.positions.data_shift(), 0, kMaxSize);
    if (settings.positions.data_rows() > 0 && settings.positions.data_shift() >= settings.positions.data_rows()) {
      checks.Refuse(fmt::format("positions.data_shift: {} moves positions out of the {} rows of positions.data_rows\n  set fewer, or more rows",
                                settings.positions.data_shift(), settings.positions.data_rows()));
    }
  }
  // The least that there can be, an output of one symbol: by it nothing is refused that would fit.
  int64_t TapeOf(const v1::Model&, int length) const override { return int64_t{length} + 1; }
  double ForwardFlops(const v1::Model& model, int length) const override {
    return SequenceForwardFlops(model, EstimatedSymbols(model), static_cast<double>(kEstimatedTape * length));
  }
  double Parameters(const v1::Model& model) const override { return SequenceParameters(model, EstimatedSymbols(model)); }
  double TestExamples(int) const override { return kEstimatedTests; }
  bool HasAnyNumberOfTests(const v1::JobSpec&) const override { return true; }
};

}  // namespace

const Kind& Sequences() {
  static const SequencesKind kind;
  return kind;
}

}  // namespace longreach::experiments
