#include "client/commands/spec_arguments.h"

#include <fmt/format.h>

#include "client/errors.h"
#include "client/spec/parts.h"
#include "proto/types/wire_limits.h"

namespace longreach::client {

void SpecArguments::AddTo(CLI::App& app) {
  app.add_option("SPEC", spec, "A preset, or a YAML file")->required();
  app.add_option("--set", overrides, "Replace an axis or a field of the sweep; may be repeated")
      ->type_name("PATH=VALUE[,VALUE...]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

namespace {

// What the scheduler would refuse as well, but only if the message reached it: lists of millions make it
// too large.
absl::Status CheckSize(const v1::SweepSpec& spec) {
  const v1::Axes& axes = spec.axes();
  const double jobs = static_cast<double>(axes.task_size()) * axes.encoding_size() *
                      axes.learning_rate_size() * axes.seed_size();
  if (jobs > static_cast<double>(kMaxJobsOfSweep)) {
    return Error(
        absl::StatusCode::kResourceExhausted,
        fmt::format(
            "axes: {} tasks x {} encodings x {} learning rates x {} seeds = {:.0f} jobs; at most {}",
            axes.task_size(), axes.encoding_size(), axes.learning_rate_size(), axes.seed_size(), jobs,
            kMaxJobsOfSweep),
        "cut an axis with --set, or split the sweep");
  }
  if (spec.ByteSizeLong() > kMaxContentBytes) {
    return Error(absl::StatusCode::kResourceExhausted,
                 "the sweep's lists are too long to be sent to the scheduler", "split the sweep");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<LoadedSweep>> SpecArguments::Load() const {
  ASSIGN_OR_RETURN(std::vector<LoadedSweep> sweeps, LoadSweeps(*this));
  for (const LoadedSweep& one : sweeps) {
    if (absl::Status status = CheckSize(one.file.spec); !status.ok()) return sweeps.size() > 1 ? InPart(status, one) : status;
  }
  return sweeps;
}

}  // namespace longreach::client
