// What tests of the experiment kinds ask of a sweep: its first job, or why it is refused.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "scheduler/experiments/expansion.h"

namespace longreach::experiments {

inline v1::JobSpec JobOf(const v1::SweepSpec& sweep) {
  absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
  EXPECT_TRUE(expansion.ok()) << expansion.status();
  return expansion.ok() ? expansion->At(0).spec : v1::JobSpec();
}

inline std::string Refused(const v1::SweepSpec& sweep) {
  const absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
  EXPECT_FALSE(expansion.ok());
  return std::string(expansion.status().message());
}

}  // namespace longreach::experiments
