#include "client/spec/joined_sweeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/spec/sweep_writer.h"

namespace longreach::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::SweepSpec SweepToJoin(const std::string& name, const std::vector<std::string>& encodings, const std::vector<uint32_t>& seeds) {
  v1::SweepSpec sweep;
  sweep.set_name(name);
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("even_pairs");
  for (const std::string& encoding : encodings) sweep.mutable_axes()->add_encoding(encoding);
  sweep.mutable_axes()->add_learning_rate(1e-3);
  for (const uint32_t seed : seeds) sweep.mutable_axes()->add_seed(seed);
  sweep.mutable_training()->set_steps(100);
  for (const int length : {1, 2, 3}) sweep.mutable_training()->add_lengths(length);
  return sweep;
}

TEST(JoinedSweepsTest, SeedsThatCameLaterAreOneAxisWithTheFirstOnes) {
  const absl::StatusOr<JoinedSweep> joined = JoinSweeps({SweepToJoin("later", {"rope"}, {3, 4}), SweepToJoin("first", {"rope"}, {2, 0, 1})}, "all");

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->spec.name(), "all");
  EXPECT_THAT(joined->spec.axes().seed(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(joined->spec.axes().encoding(), ElementsAre("rope"));
  EXPECT_EQ(joined->spec.training().steps(), 100);
  EXPECT_THAT(joined->spec.systems(), IsEmpty());
  EXPECT_EQ(joined->jobs, 5);
  EXPECT_EQ(joined->new_jobs, 0);
}

TEST(JoinedSweepsTest, JobsThatNoneOfThemHasAreCounted) {
  // Each has four jobs, and one of them both have.
  const absl::StatusOr<JoinedSweep> joined = JoinSweeps({SweepToJoin("a", {"rope", "none"}, {0, 1}), SweepToJoin("b", {"rope", "alibi"}, {1, 2})}, "all");

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(joined->spec.axes().encoding(), ElementsAre("rope", "none", "alibi"));
  EXPECT_THAT(joined->spec.axes().seed(), ElementsAre(0, 1, 2));
  EXPECT_EQ(joined->jobs, 9);
  EXPECT_EQ(joined->new_jobs, 2) << "none of seed 2 and alibi of seed 0";
}

TEST(JoinedSweepsTest, OtherSettingsBecomeSystemsThatSayOnlyWhatDiffers) {
  v1::SweepSpec deep = SweepToJoin("deep", {"rope"}, {0, 1});
  deep.mutable_model()->set_layers(8);
  deep.mutable_training()->set_batch_size(32);
  v1::SweepSpec other_lengths = SweepToJoin("longer", {"rope"}, {0, 1, 2});
  other_lengths.mutable_training()->add_lengths(4);

  const absl::StatusOr<JoinedSweep> joined = JoinSweeps({SweepToJoin("plain", {"rope"}, {0, 1}), deep, other_lengths}, "all");

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(ToYaml(joined->spec),
            "name: \"all\"\n"
            "experiment: \"algorithmic\"\n"
            "axes:\n"
            "  task: [\"even_pairs\"]\n"
            "  encoding: [\"rope\"]\n"
            "  learning_rate: [0.001]\n"
            "training:\n"
            "  steps: 100\n"
            "systems:\n"
            "  - name: \"plain\"\n"
            "    with:\n"
            "      axes:\n"
            "        seed: [0, 1]\n"
            "      training:\n"
            "        lengths: 1..3\n"
            "  - name: \"deep\"\n"
            "    with:\n"
            "      axes:\n"
            "        seed: [0, 1]\n"
            "      model:\n"
            "        layers: 8\n"
            "      training:\n"
            "        batch_size: 32\n"
            "        lengths: 1..3\n"
            "  - name: \"longer\"\n"
            "    with:\n"
            "      axes:\n"
            "        seed: 0..2\n"
            "      training:\n"
            "        lengths: 1..4\n");
  EXPECT_EQ(joined->jobs, 7);
  EXPECT_EQ(joined->new_jobs, 0);
}

v1::SweepSpec GridOfLayers(const std::string& name, const std::vector<int>& layers, const std::vector<uint32_t>& seeds) {
  v1::SweepSpec grid = SweepToJoin(name, {"rope"}, seeds);
  for (const int count : layers) {
    v1::System& system = *grid.add_systems();
    system.set_name("layers-" + std::to_string(count));
    system.mutable_with()->mutable_model()->set_layers(count);
  }
  return grid;
}

std::vector<std::string> SystemsIn(const v1::SweepSpec& spec) {
  std::vector<std::string> names;
  for (const v1::System& system : spec.systems()) names.push_back(system.name());
  return names;
}

TEST(JoinedSweepsTest, SystemsOfTheSameSettingsAreOne) {
  const absl::StatusOr<JoinedSweep> joined = JoinSweeps({GridOfLayers("a", {1, 2}, {0, 1}), GridOfLayers("b", {2, 3}, {2})}, "all");

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsIn(joined->spec), ElementsAre("layers-1", "layers-2", "layers-3"));
  EXPECT_THAT(joined->spec.systems(1).with().axes().seed(), ElementsAre(0, 1, 2));
  EXPECT_EQ(joined->spec.systems(1).with().model().layers(), 2);
  EXPECT_EQ(joined->jobs, 6);
  EXPECT_EQ(joined->new_jobs, 0);
}

TEST(JoinedSweepsTest, SystemsOfOneSweepStayApart) {
  v1::SweepSpec sweep = SweepToJoin("a", {"rope"}, {0});
  for (const char* encoding : {"rope", "none"}) {
    v1::System& system = *sweep.add_systems();
    system.set_name(encoding);
    system.mutable_with()->mutable_axes()->add_encoding(encoding);
  }

  const absl::StatusOr<JoinedSweep> joined = JoinSweeps({sweep, SweepToJoin("b", {"alibi"}, {0})}, "all");

  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsIn(joined->spec), ElementsAre("rope", "none", "b"));
  EXPECT_THAT(joined->spec.systems(1).with().axes().encoding(), ElementsAre("none"));
}

TEST(JoinedSweepsTest, NamesThatSeveralWouldHaveAreToldApart) {
  v1::SweepSpec other_steps = GridOfLayers("b", {2}, {0});
  other_steps.mutable_training()->set_steps(7);
  absl::StatusOr<JoinedSweep> joined = JoinSweeps({GridOfLayers("a", {1, 2}, {0}), other_steps}, "all");
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsIn(joined->spec), ElementsAre("layers-1", "a.layers-2", "b.layers-2"));

  v1::SweepSpec same_name = SweepToJoin("a", {"rope"}, {0});
  same_name.mutable_training()->set_steps(7);
  joined = JoinSweeps({SweepToJoin("a", {"rope"}, {0}), same_name}, "all");
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(SystemsIn(joined->spec), ElementsAre("a", "a-2"));

  v1::SweepSpec long_name = GridOfLayers(std::string(64, 'x'), {2}, {0});
  long_name.mutable_training()->set_steps(7);
  EXPECT_THAT(std::string(JoinSweeps({GridOfLayers("a", {2}, {0}), long_name}, "all").status().message()), HasSubstr("has 73 characters; at most 64"));
}

TEST(JoinedSweepsTest, InputsStayWhereAxesAloneDiffer) {
  v1::SweepSpec first = SweepToJoin("a", {"rope"}, {0}), second = SweepToJoin("b", {"rope"}, {1});
  for (v1::SweepSpec* sweep : {&first, &second}) {
    v1::Input& input = *sweep->add_inputs();
    input.set_name("weights");
    input.set_artifact("weights");
    input.mutable_from()->mutable_training()->set_steps(10);
  }
  const absl::StatusOr<JoinedSweep> joined = JoinSweeps({first, second}, "all");
  ASSERT_TRUE(joined.ok()) << joined.status();
  ASSERT_EQ(joined->spec.inputs_size(), 1);
  EXPECT_EQ(joined->spec.inputs(0).from().training().steps(), 10);
  EXPECT_THAT(joined->spec.axes().seed(), ElementsAre(0, 1));

  // As a system it would begin with weights that the joined sweep's settings make.
  second.mutable_training()->set_steps(7);
  EXPECT_THAT(std::string(JoinSweeps({first, second}, "all").status().message()), AllOf(HasSubstr("a, b: they have inputs"), HasSubstr("compare")));
}

TEST(JoinedSweepsTest, SeveralKindsAreNoSweep) {
  v1::SweepSpec other = SweepToJoin("b", {"rope"}, {1});
  other.set_experiment("language");
  EXPECT_THAT(std::string(JoinSweeps({SweepToJoin("a", {"rope"}, {0}), other}, "all").status().message()),
              HasSubstr("'a' is of the experiment kind 'algorithmic', and 'b' of 'language'"));
}

}  // namespace
}  // namespace longreach::client
