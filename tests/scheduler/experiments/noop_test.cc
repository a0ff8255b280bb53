#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/experiments/expansion.h"

namespace longreach::experiments {
namespace {

v1::SweepSpec NoopSweep() {
  v1::SweepSpec sweep;
  sweep.set_name("nothing");
  sweep.set_experiment("noop");
  for (const char* task : {"even_pairs", "enwik8"}) sweep.mutable_axes()->add_task(task);
  sweep.mutable_axes()->add_encoding("rope:randomized");
  sweep.mutable_axes()->add_learning_rate(1e-4);
  for (const uint32_t seed : {0u, 1u, 2u}) sweep.mutable_axes()->add_seed(seed);
  return sweep;
}

TEST(NoopTest, TakesEveryTaskAndAsksForNothingBeside) {
  Expansion expansion = *Expansion::Of(NoopSweep());
  ASSERT_EQ(expansion.size(), 6);

  const ExpandedJob job = expansion.At(4);

  EXPECT_EQ(job.canonical,
            "longreach-job/1\nencoding=rope\nexperiment=noop\nlearning_rate=0.0001\nrandomized=true\nseed=1\ntask=enwik8\n");
  EXPECT_EQ(job.spec.data(), "");
  EXPECT_EQ(expansion.kind().CostOf(job.spec).flops, 0);
  EXPECT_TRUE(expansion.kind().ComputesNothing());
  EXPECT_EQ(ReadJob(job.canonical)->SerializeAsString(), job.spec.SerializeAsString());
}

TEST(NoopTest, RefusesWhatWouldMakeNoDifference) {
  v1::SweepSpec with_steps = NoopSweep();
  with_steps.mutable_training()->set_steps(5);
  EXPECT_EQ(std::string(Expansion::Of(with_steps).status().message()),
            "training: a no-op job computes nothing and has no settings\n  leave it out");
  v1::SweepSpec with_input = NoopSweep();
  with_input.add_inputs()->set_name("weights");
  with_input.mutable_inputs(0)->set_artifact("weights");
  EXPECT_EQ(std::string(Expansion::Of(with_input).status().message()), "inputs.weights: a no-op job needs no input\n  leave it out");
  v1::SweepSpec unknown = NoopSweep();
  unknown.mutable_axes()->set_task(0, "even_pears");
  EXPECT_EQ(std::string(Expansion::Of(unknown).status().message()),
            "axes.task: unknown task 'even_pears'\n  did you mean 'even_pairs'? 'longreach list tasks' shows all of them");
}

}  // namespace
}  // namespace longreach::experiments
