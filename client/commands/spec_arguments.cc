#include "client/commands/spec_arguments.h"

#include <fmt/format.h>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/parts.h"
#include "proto/types/sweep_parts.h"
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

// The axis whose list is most of what a sweep's specification takes; empty: none is.
std::string LongAxis(const v1::SweepSpec& spec) {
  const v1::Axes& axes = spec.axes();
  for (int i = 0; i < v1::Axes::descriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = v1::Axes::descriptor()->field(i);
    v1::Axes others = axes;
    others.GetReflection()->ClearField(&others, field);
    if (axes.ByteSizeLong() - others.ByteSizeLong() > spec.ByteSizeLong() / 2) return fmt::format("axes.{}", std::string(field->name()));
  }
  return "";
}

// It has fewer jobs than a sweep may have, but its lists, which are sent value by value, do not fit into a message.
absl::Status TooLongToSend(const v1::SweepSpec& spec, double jobs) {
  const size_t bytes = spec.ByteSizeLong();
  const std::string axis = LongAxis(spec);
  return Error(absl::StatusCode::kResourceExhausted,
               fmt::format("{}: the specification of these {:.0f} jobs takes {}, and a sweep's may take {} (and it may have {} jobs)",
                           axis.empty() ? "the sweep's lists are too long" : axis + " has too many values", jobs, HumanBytes(static_cast<double>(bytes)),
                           HumanBytes(static_cast<double>(kMaxContentBytes)), kMaxJobsOfSweep),
               fmt::format("split it into {} sweeps or more, each with a part of {}", (bytes + kMaxContentBytes - 1) / kMaxContentBytes,
                           axis.empty() ? "them" : axis));
}

// What the scheduler would refuse as well, but only if the message reached it: lists of millions make it
// too large.
absl::Status CheckSize(const v1::SweepSpec& spec) {
  const v1::Axes& axes = spec.axes();
  if (const std::string too_many = TooManyJobs(axes); !too_many.empty()) {
    return Error(absl::StatusCode::kResourceExhausted, too_many, "cut an axis with --set, or split the sweep");
  }
  return spec.ByteSizeLong() > kMaxContentBytes ? TooLongToSend(spec, CountOf(axes)) : absl::OkStatus();
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
