// Settings by their paths.
#include "proto/types/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "longreach/v1/spec.pb.h"

namespace longreach {
namespace {

using testing::Contains;
using testing::Not;

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
