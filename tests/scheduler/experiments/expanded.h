// What tests of the experiment kinds ask of a sweep: its first job, or why it is refused; and the sweep that tests of "llama" begin with.
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

inline std::string IdOf(const v1::SweepSpec& sweep) { return Expansion::Of(sweep)->At(0).id.value; }

// One job over bytes, with the defaults of its kind.
inline v1::SweepSpec LlamaSweep() {
  v1::SweepSpec sweep;
  sweep.set_name("nope");
  sweep.set_experiment("llama");
  sweep.set_data("words");
  sweep.mutable_axes()->add_task("bytes");
  sweep.mutable_axes()->add_encoding("none");
  sweep.mutable_axes()->add_learning_rate(4e-4);
  sweep.mutable_axes()->add_seed(0);
  return sweep;
}

}  // namespace longreach::experiments
