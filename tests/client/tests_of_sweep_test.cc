// A sweep that tests what another one has trained (`longreach spec --tests`): what trained it are that one's jobs, whatever is set further.
#include "client/spec/tests_of_sweep.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/spec/spec_reader.h"
#include "client/spec/sweep_writer.h"
#include "scheduler/experiments/expansion.h"

namespace longreach::client {
namespace {

using ::testing::UnorderedElementsAreArray;

v1::SweepSpec SweepOfText(const std::string& yaml) {
  absl::StatusOr<SweepFile> file = ReadSweepFile(yaml, "sweep.yaml");
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? file->spec : v1::SweepSpec();
}

std::vector<std::string> JobIds(const v1::SweepSpec& sweep) {
  absl::StatusOr<experiments::Expansion> expansion = experiments::Expansion::Of(sweep);
  EXPECT_TRUE(expansion.ok()) << expansion.status();
  std::vector<std::string> ids;
  for (int64_t i = 0; expansion.ok() && i < expansion->size(); ++i) ids.push_back(expansion->At(i).id.value);
  return ids;
}

// Of the tests of a sweep, changed by --set and as a file has them: the jobs whose weights they begin with. None of them trains.
std::vector<std::string> MakersOfTests(const v1::SweepSpec& sweep, const std::vector<std::string>& overrides) {
  absl::StatusOr<SweepFile> file = ReadSweepFile(ToYaml(TestsOfSweep(sweep)), "tests.yaml");
  EXPECT_TRUE(file.ok()) << file.status() << ToYaml(TestsOfSweep(sweep));
  if (!file.ok()) return {};
  EXPECT_TRUE(ApplyOverrides(overrides, *file).ok()) << ApplyOverrides(overrides, *file);
  absl::StatusOr<experiments::Expansion> expansion = experiments::Expansion::Of(file->spec);
  EXPECT_TRUE(expansion.ok()) << expansion.status() << ToYaml(file->spec);
  std::vector<std::string> makers;
  for (int64_t i = 0; expansion.ok() && i < expansion->size(); ++i) {
    const experiments::ExpandedJob job = expansion->At(i);
    EXPECT_EQ(job.spec.training().steps(), 0);
    EXPECT_EQ(job.prerequisites.size(), 1u);
    if (!job.prerequisites.empty()) makers.push_back(job.prerequisites[0].id.value);
  }
  return makers;
}

constexpr const char* kPlain = R"(
name: plain
experiment: algorithmic
axes: {task: [even_pairs, reverse_string], encoding: [rope, "rope:randomized"], learning_rate: [1e-4, 3e-4], seed: 0..2}
model: {layers: 3}
positions: {max_position: 600}
training: {steps: 100, batch_size: 16, lengths: 1..20, warmup_steps: 10}
evaluation: {lengths: [30, 40], examples: 50, attention_lengths: 30, curve_every: 50, curve_lengths: 40, output_lengths: 30}
)";

TEST(TestsOfSweepTest, EachJobIsGivenItsOwnWeights) {
  const v1::SweepSpec sweep = SweepOfText(kPlain);
  EXPECT_THAT(MakersOfTests(sweep, {}), UnorderedElementsAreArray(JobIds(sweep)));
  EXPECT_THAT(MakersOfTests(sweep, {"evaluation.lengths=50..100:10", "evaluation.examples=7"}), UnorderedElementsAreArray(JobIds(sweep)));
  // What is said of the tests is not said of what trained the weights.
  EXPECT_THAT(MakersOfTests(sweep, {"positions.max_position=2048", "model.dropout=0.2", "evaluation.lengths=300"}), UnorderedElementsAreArray(JobIds(sweep)));
}

TEST(TestsOfSweepTest, SettingsAtTheirDefaultsAreThoseOfTheTrainingToo) {
  const v1::SweepSpec sweep = SweepOfText("name: usual\nexperiment: algorithmic\naxes: {task: even_pairs, encoding: rope, learning_rate: 1e-4, seed: 0}\n");
  EXPECT_THAT(MakersOfTests(sweep, {"evaluation.lengths=20", "evaluation.examples=3", "positions.rope_scaling=linear", "positions.rope_factor=2"}),
              UnorderedElementsAreArray(JobIds(sweep)));
}

TEST(TestsOfSweepTest, AttentionThatGoesByTrainedLengthsKnowsThem) {
  v1::SweepSpec sweep = SweepOfText(kPlain);
  sweep.mutable_model()->set_length_scaling("log");
  const v1::SweepSpec tests = TestsOfSweep(sweep);
  EXPECT_EQ(tests.training().lengths_size(), 20);
  EXPECT_THAT(MakersOfTests(sweep, {"evaluation.lengths=300"}), UnorderedElementsAreArray(JobIds(sweep)));
}

TEST(TestsOfSweepTest, HeadScalesThatWereTunedUnderABoundInTheModelAreTestedUnderIt) {
  const v1::SweepSpec sweep = SweepOfText(R"(
name: tuned
experiment: llama
data: words
axes: {task: bytes, encoding: none, learning_rate: 0.1, seed: 0}
training: {trainable: head_scales, scale_bound: relu, steps: 10, warmup_steps: 1, weight_decay: 0}
evaluation: {lengths: 256}
inputs: [{name: weights, artifact: weights, from: {training: {steps: 100, warmup_steps: 1}}}]
)");
  EXPECT_THAT(MakersOfTests(sweep, {"evaluation.lengths=512"}), UnorderedElementsAreArray(JobIds(sweep)));
}

constexpr const char* kSystems = R"(
name: systems
experiment: algorithmic
axes: {task: even_pairs, encoding: none, learning_rate: 1e-4, seed: 0..1}
training: {steps: 100, lengths: 1..20}
evaluation: {lengths: [30, 40], examples: 50}
systems:
  - {name: none, with: {}}
  - {name: rope, with: {axes: {encoding: rope}, model: {layers: 2}}}
  - {name: rates, with: {axes: {encoding: rope, learning_rate: [1e-4, 5e-4]}, training: {steps: 300}}}
  - {name: yarn, with: {axes: {encoding: rope}, positions: {rope_scaling: yarn, rope_factor: 3, original_length: 21}, training: {steps: 0},
                        inputs: [{name: weights, artifact: weights, from: {axes: {encoding: rope}}}]}}
)";

TEST(TestsOfSweepTest, OfSystemsEachIsTestedAndThoseThatOnlyTestStayAsTheyAre) {
  const v1::SweepSpec sweep = SweepOfText(kSystems);
  std::vector<std::string> expected;
  absl::StatusOr<experiments::Expansion> expansion = experiments::Expansion::Of(sweep);
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  for (int64_t i = 0; i < expansion->size(); ++i) {
    const experiments::ExpandedJob job = expansion->At(i);
    expected.push_back(job.prerequisites.empty() ? job.id.value : job.prerequisites[0].id.value);
  }
  EXPECT_THAT(MakersOfTests(sweep, {}), UnorderedElementsAreArray(expected));
  EXPECT_THAT(MakersOfTests(sweep, {"evaluation.lengths=100,200", "evaluation.seed=3"}), UnorderedElementsAreArray(expected)) << "what all systems share is set for all";
}

TEST(TestsOfSweepTest, SystemsOfOtherTestsKeepTheirOwn) {
  v1::SweepSpec sweep = SweepOfText(kSystems);
  sweep.mutable_systems(1)->mutable_with()->mutable_evaluation()->set_examples(9);
  const v1::SweepSpec tests = TestsOfSweep(sweep);
  EXPECT_FALSE(tests.has_evaluation());
  EXPECT_EQ(tests.systems(1).with().evaluation().examples(), 9);
  EXPECT_EQ(tests.systems(0).with().evaluation().examples(), 50);
}

}  // namespace
}  // namespace longreach::client
