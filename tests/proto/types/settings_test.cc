// Settings by their paths.
#include "proto/types/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "longreach/v1/spec.pb.h"

namespace longreach {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(SettingsTest, AreSingleValues) {
  EXPECT_THAT(SettingPaths(), Contains("model.layers"));
  EXPECT_THAT(SettingPaths(), Contains("data"));
  EXPECT_THAT(SettingPaths(), Contains("positions.rope_scaling"));
  for (const char* none : {"training.lengths", "model", "name", "experiment", "task", "axes.task", "inputs.name", "seed", "model.layers.x", ""}) {
    EXPECT_THAT(SettingPaths(), Not(Contains(none)));
    EXPECT_FALSE(IsSettingPath(none)) << none;
  }
  for (const std::string& path : SettingPaths()) EXPECT_TRUE(IsSettingPath(path)) << path;
}

TEST(SettingsTest, AreTextsThatAreTheSameWhereTheyComputeTheSame) {
  v1::JobSpec spec;
  EXPECT_EQ(SettingOf(spec, "model.dropout"), "");
  spec.mutable_model()->set_dropout(-0.0);
  EXPECT_EQ(SettingOf(spec, "model.dropout"), "0");
  spec.mutable_model()->set_dropout(1e-5);
  EXPECT_EQ(SettingOf(spec, "model.dropout"), "1e-05");
  spec.mutable_model()->set_layers(0);
  EXPECT_EQ(SettingOf(spec, "model.layers"), "0");
  spec.mutable_evaluation()->set_dropout(false);
  EXPECT_EQ(SettingOf(spec, "evaluation.dropout"), "false");
  spec.set_data("enwik8");
  EXPECT_EQ(SettingOf(spec, "data"), "enwik8");
}

TEST(SettingsTest, NumbersAreNotWordsOrFlags) {
  EXPECT_TRUE(IsNumberSetting("model.layers"));
  EXPECT_TRUE(IsNumberSetting("model.dropout"));
  EXPECT_TRUE(IsNumberSetting("evaluation.seed"));
  EXPECT_FALSE(IsNumberSetting("model.folder"));
  EXPECT_FALSE(IsNumberSetting("model.kerple_shared"));
  EXPECT_FALSE(IsNumberSetting("model.layer"));
}

TEST(SettingsTest, AWrongPathIsNearThoseOfItsGroup) {
  EXPECT_THAT(SettingPathsNear("positions.max"), Contains("positions.max_position"));
  EXPECT_THAT(SettingPathsNear("positions.max"), Not(Contains("model.layers")));
  EXPECT_EQ(SettingPathsNear("modle.layers"), SettingPaths());
  EXPECT_TRUE(NamesSettingGroup("model.layer"));
  EXPECT_FALSE(NamesSettingGroup("modle.layers"));
  EXPECT_FALSE(NamesSettingGroup("model"));
  EXPECT_FALSE(NamesSettingGroup(".layers"));
}

TEST(SettingsTest, AWordMayMeanAnAxisOrThePathsThatItEnds) {
  const std::vector<std::string> axes = {"encoding", "layer", "seed"};
  EXPECT_THAT(AxesMeant("layers", axes), ElementsAre("model.layers")) << "not the axis that is near";
  EXPECT_THAT(AxesMeant("layrs", axes), ElementsAre("model.layers"));
  EXPECT_THAT(AxesMeant("dropout", axes), ElementsAre("evaluation.dropout", "model.dropout"));
  EXPECT_THAT(AxesMeant("sed", axes), ElementsAre("seed")) << "not evaluation.seed";
  EXPECT_THAT(AxesMeant("encodng", axes), ElementsAre("encoding"));
  EXPECT_THAT(AxesMeant("lr", {"learning_rate", "seed"}), ElementsAre("learning_rate")) << "not model.learned_rows";
  EXPECT_THAT(AxesMeant("", axes), IsEmpty());
  EXPECT_THAT(AxesMeant("quite something else", axes), IsEmpty());
}

TEST(SettingsTest, FlagsAreTrueOrFalse) {
  EXPECT_TRUE(IsFlagSetting("model.kerple_shared"));
  EXPECT_FALSE(IsFlagSetting("model.layers"));
  EXPECT_FALSE(IsFlagSetting("kerple_shared"));
}

TEST(SettingsTest, WithoutThemAxesListsAndInputsAreLeft) {
  v1::SweepSpec sweep;
  sweep.mutable_model()->set_layers(5);
  sweep.set_data("wiki");
  ClearSettings(sweep);
  EXPECT_FALSE(sweep.has_model()) << "nothing is left in it";
  EXPECT_EQ(sweep.ByteSizeLong(), 0u);
  sweep.mutable_training()->set_batch_size(4);
  sweep.mutable_training()->add_lengths(7);
  sweep.mutable_axes()->add_seed(1);
  sweep.add_inputs()->set_name("weights");
  ClearSettings(sweep);
  EXPECT_FALSE(sweep.training().has_batch_size());
  EXPECT_EQ(sweep.training().lengths_size(), 1);
  EXPECT_EQ(sweep.axes().seed_size(), 1);
  EXPECT_EQ(sweep.inputs_size(), 1);
}

TEST(SettingsTest, AreReadFromSweepsAndJobs) {
  v1::SweepSpec sweep;
  EXPECT_EQ(SettingOf(sweep, "model.layers"), "");
  sweep.mutable_model()->set_layers(5);
  sweep.mutable_model()->set_dropout(0.1);
  sweep.mutable_model()->set_kerple_shared(false);
  sweep.mutable_positions()->set_rope_scaling("yarn");
  sweep.set_data("wiki");
  EXPECT_EQ(SettingOf(sweep, "model.layers"), "5");
  EXPECT_EQ(SettingOf(sweep, "model.dropout"), "0.1");
  EXPECT_EQ(SettingOf(sweep, "model.kerple_shared"), "false") << "said, though it is the default";
  EXPECT_EQ(SettingOf(sweep, "positions.rope_scaling"), "yarn");
  EXPECT_EQ(SettingOf(sweep, "data"), "wiki");
  v1::JobSpec job;
  *job.mutable_model() = sweep.model();
  EXPECT_EQ(SettingOf(job, "model.layers"), "5");
  for (const char* none : {"model.layer", "model", "axes.task", "training.lengths", "data.x", "inputs.name", "."}) EXPECT_EQ(SettingOf(sweep, none), "") << none;
}

}  // namespace
}  // namespace longreach
