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

// Inputs of such sweeps: pretrained weights, and the best uniform scale of them.
inline v1::Input Weights() {
  v1::Input input;
  input.set_name("weights");
  input.set_artifact("weights");
  return input;
}

inline v1::Input Scale() {
  v1::Input input;
  input.set_name("attention_scale");
  input.set_metric("best_attention_scale");
  input.mutable_from()->mutable_training()->set_steps(0);
  v1::Evaluation& evaluation = *input.mutable_from()->mutable_evaluation();
  evaluation.add_lengths(256);
  evaluation.set_position_bins(4);
  evaluation.add_attention_scales(1);
  evaluation.add_attention_scales(1.5);
  *input.mutable_from()->add_inputs() = Weights();
  return input;
}

}  // namespace longreach::experiments
