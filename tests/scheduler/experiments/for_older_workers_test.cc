#include "scheduler/experiments/for_older_workers.h"

#include <functional>

#include <gtest/gtest.h>

#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ChangeSweep = std::function<void(v1::SweepSpec&)>;

v1::JobSpec SentOf(v1::SweepSpec sweep, const ChangeSweep& change) {
  change(sweep);
  v1::JobSpec job = JobOf(sweep);
  LeaveOutForOlderWorkers(job);
  return job;
}

v1::SweepSpec EncoderSweep() {
  v1::SweepSpec sweep;
  sweep.set_name("encoder");
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("even_pairs");
  sweep.mutable_axes()->add_encoding("rope");
  sweep.mutable_axes()->add_learning_rate(3e-4);
  sweep.mutable_axes()->add_seed(0);
  return sweep;
}

v1::SweepSpec PairsSweep() {
  v1::SweepSpec sweep = EncoderSweep();
  sweep.set_experiment("sequences");
  sweep.mutable_axes()->set_task(0, "pairs");
  sweep.mutable_training()->add_lengths(4);
  sweep.mutable_evaluation()->add_lengths(8);
  return sweep;
}

TEST(ForOlderWorkersTest, WhatWasDoneBeforeIsSaidAsBefore) {
  const v1::JobSpec encoder = SentOf(EncoderSweep(), [](v1::SweepSpec&) {});
  EXPECT_FALSE(encoder.model().has_norm());
  EXPECT_FALSE(encoder.model().has_length_scaling());
  EXPECT_FALSE(encoder.training().has_schedule());
  EXPECT_FALSE(encoder.positions().has_none_every());
  EXPECT_TRUE(encoder.model().has_causal()) << "nothing else is left out";
  EXPECT_EQ(encoder.training().steps(), 2'000'000);

  const v1::JobSpec pairs = SentOf(PairsSweep(), [](v1::SweepSpec&) {});
  EXPECT_FALSE(pairs.positions().has_data_rows());
  EXPECT_FALSE(pairs.positions().has_data_shift());

  const v1::JobSpec llama = SentOf(LlamaSweep(), [](v1::SweepSpec&) {});
  EXPECT_FALSE(llama.training().has_schedule());
  EXPECT_EQ(llama.training().warmup_steps(), 2000);
  EXPECT_EQ(llama.training().final_rate(), 0.1);
}

// A worker that left these out would train something else, under the name of this job.
TEST(ForOlderWorkersTest, WhatTheyCannotDoIsSaidToThem) {
  const auto of_encoder = [](const ChangeSweep& change) { return SentOf(EncoderSweep(), change); };
  EXPECT_EQ(of_encoder([](v1::SweepSpec& s) { s.mutable_model()->set_norm("pre"); }).model().norm(), "pre");
  EXPECT_EQ(of_encoder([](v1::SweepSpec& s) { s.mutable_positions()->set_none_every(2); }).positions().none_every(), 2);
  EXPECT_EQ(of_encoder([](v1::SweepSpec& s) { s.mutable_model()->set_length_scaling("log"); }).model().length_scaling(), "log");
  EXPECT_EQ(SentOf(PairsSweep(), [](v1::SweepSpec& s) { s.mutable_positions()->set_data_rows(50); }).positions().data_rows(), 50);
  EXPECT_EQ(of_encoder([](v1::SweepSpec& s) { s.mutable_training()->set_warmup_steps(10); }).training().schedule(), "constant");
  for (const char* schedule : {"cosine", "linear"}) {
    EXPECT_EQ(of_encoder([&](v1::SweepSpec& s) { s.mutable_training()->set_schedule(schedule); }).training().schedule(), schedule);
  }
  for (const char* schedule : {"constant", "linear"}) {
    EXPECT_EQ(SentOf(LlamaSweep(), [&](v1::SweepSpec& s) { s.mutable_training()->set_schedule(schedule); }).training().schedule(), schedule);
  }
}

TEST(ForOlderWorkersTest, NoGroupComesWhereThereWasNone) {
  v1::JobSpec job;
  LeaveOutForOlderWorkers(job);
  EXPECT_FALSE(job.has_model());
  EXPECT_FALSE(job.has_positions());
  EXPECT_FALSE(job.has_training());
}

}  // namespace
}  // namespace longreach::experiments
