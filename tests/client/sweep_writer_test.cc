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

TEST(SweepWriterTest, TextsReadBackAsTheSame) {
  v1::SweepSpec sweep = SweepOf(Job());
  sweep.set_name("a");
  v1::TableSpec table;
  table.set_title("\"quoted\" \\ größe");

  const absl::StatusOr<SweepFile> file = ReadSweepFile(ToYaml(sweep, table), "written");

  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->table.title(), table.title());
}

// No file with such a text is taken, but a store may come from anybody.
TEST(SweepWriterTest, WhatATerminalWouldObeyIsEscaped) {
  v1::TableSpec table;
  table.set_title("two\nlines, \x1b[2J, \xc2\x9b and \xe2\x80\xae");
  EXPECT_THAT(ToYaml(SweepOf(Job()), table), HasSubstr("  title: \"two\\x0alines, \\x1b[2J, \\x9b and \\u202e\"\n"));
}

}  // namespace
}  // namespace longreach::client
