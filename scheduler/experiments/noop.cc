// The experiment kind "noop": jobs that compute nothing. They go the way of all others (submit, lease, worker, report, store), so
// a sweep of them shows what that way costs, and rehearses another sweep's axes. Their result is a number made of the job's id.
#include <algorithm>

#include <fmt/format.h>

#include "proto/catalog/catalog.h"
#include "scheduler/experiments/registry.h"
#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

const Kind& Noop();

namespace {

v1::JobSpec MakeDefaults() {
  v1::JobSpec job;
  *job.mutable_revisions() = FirstRevisions();
  return job;
}

class NoopKind final : public Kind {
 public:
  std::string_view Name() const override { return "noop"; }
  bool ComputesNothing() const override { return true; }
  const v1::JobSpec& Defaults() const override {
    static const v1::JobSpec defaults = MakeDefaults();
    return defaults;
  }

  absl::Status Validate(const v1::SweepSpec& sweep, std::string_view prefix) const override {
    std::vector<std::string> known = Names(catalog::Tasks());
    for (const std::string& name : Names(catalog::DataTasks())) known.push_back(name);
    for (const std::string& task : sweep.axes().task()) {
      if (std::ranges::find(known, task) == known.end()) {
        return UnknownWord(fmt::format("{}axes.task", prefix), "task", task, known, "'longreach list tasks' shows all of them");
      }
    }
    RETURN_IF_ERROR(CheckEncodings(sweep.axes(), prefix));
    Checks checks(prefix);
    const auto refuse = [&checks](std::string_view field) {
      checks.Refuse(fmt::format("{}: a no-op job computes nothing and has no settings\n  leave it out", field));
    };
    if (!sweep.data().empty()) refuse("data");
    if (sweep.has_model()) refuse("model");
    if (sweep.has_positions()) refuse("positions");
    if (sweep.has_training()) refuse("training");
    if (sweep.has_evaluation()) refuse("evaluation");
    return checks.status();
  }

  void Complete(v1::JobSpec& job) const override {
    job.clear_data();
    job.clear_model();
    job.clear_positions();
    job.clear_training();
    job.clear_evaluation();
    // Nothing is computed, so no revision makes a difference.
    *job.mutable_revisions() = Defaults().revisions();
  }

  absl::Status ValidateInput(const v1::Input& input, const v1::JobSpec&, const v1::JobSpec&, std::string_view prefix) const override {
    return absl::InvalidArgumentError(fmt::format("{}inputs.{}: a no-op job needs no input\n  leave it out", prefix, input.name()));
  }

  double MeasurementsOf(const v1::JobSpec&) const override { return 1; }
  Cost CostOf(const v1::JobSpec&, const MakerStoresWeights&) const override { return {}; }
};

}  // namespace

const Kind& Noop() {
  static const NoopKind kind;
  return kind;
}

}  // namespace longreach::experiments
