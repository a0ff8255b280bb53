#include "client/spec/sweep_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/spec/spec_reader.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

v1::JobSpec Job() {
  v1::JobSpec job;
  job.set_experiment("algorithmic");
  job.set_task("even_pairs");
  job.set_encoding("alibi");
  job.set_randomized(true);
  job.set_learning_rate(3e-5);
  job.set_seed(7);
  job.mutable_model()->set_layers(2);
  job.mutable_model()->set_dropout(0.1);
  job.mutable_model()->set_kerple_shared(false);
  job.mutable_positions()->set_randomized_by("distance");
  for (const int length : {1, 2, 3, 4}) job.mutable_training()->add_lengths(length);
  job.mutable_training()->set_steps(0);
  for (const int length : {5, 9}) job.mutable_evaluation()->add_lengths(length);
  return job;
}

TEST(SweepWriterTest, WhatIsWrittenReadsBackAsTheSame) {
  v1::SweepSpec sweep = SweepOf(Job());
  sweep.set_name("repeat-1f3a");
  v1::Input& input = *sweep.add_inputs();
  input.set_name("weights");
  *input.mutable_from() = SweepOf(Job());
  input.set_artifact("weights");
  v1::Input& second = *sweep.add_inputs();
  second.set_name("scale");
  *second.mutable_from() = SweepOf(Job());
  second.set_metric("accuracy");

  const absl::StatusOr<SweepFile> file = ReadSweepFile(ToYaml(sweep), "written");

  ASSERT_TRUE(file.ok()) << file.status() << "\n" << ToYaml(sweep);
  EXPECT_EQ(file->spec.SerializeAsString(), sweep.SerializeAsString()) << ToYaml(sweep);
}

TEST(SweepWriterTest, AnEncodingSaysThatItIsRandomizedAndRangesAreShort) {
  const std::string text = ToYaml(SweepOf(Job()));
  EXPECT_THAT(text, HasSubstr("  encoding: [\"alibi:randomized\"]\n"));
  EXPECT_THAT(text, HasSubstr("  lengths: 1..4\n"));
  EXPECT_THAT(text, HasSubstr("  lengths: [5, 9]\n"));
  EXPECT_THAT(text, HasSubstr("  steps: 0\n"));
}

}  // namespace
}  // namespace longreach::client
