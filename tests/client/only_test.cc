#include "client/commands/only.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/commands/shared_draw.h"
#include "client/commands/title_words.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

TEST(OnlyTest, ValuesAreAsJobsHaveThem) {
  const Only only({"learning_rate=1e-3,5e-4", "seed=01", "layer=2.0", "system=nan,1e-3", "model.layers=04"});
  EXPECT_TRUE(only.Admits("learning_rate", "0.001"));
  EXPECT_TRUE(only.Admits("learning_rate", "0.0005"));
  EXPECT_FALSE(only.Admits("learning_rate", "0.0001"));
  EXPECT_TRUE(only.Admits("seed", "1"));
  EXPECT_TRUE(only.Admits("layer", "2"));
  EXPECT_TRUE(only.Admits("model.layers", "4"));
  EXPECT_TRUE(only.Admits("system", "nan")) << "a name";
  EXPECT_FALSE(only.Admits("system", "0.001")) << "a name";
  EXPECT_TRUE(only.Admits("task", "even_pairs")) << "not named";
}

TEST(OnlyTest, NumbersMayBeRanges) {
  const Only only({"learning_rate=1e-4..5e-4", "seed=7,1..2", "system=1..2", "length=41..60"});
  EXPECT_TRUE(only.Admits("learning_rate", "0.0001"));
  EXPECT_TRUE(only.Admits("learning_rate", "0.0005"));
  EXPECT_FALSE(only.Admits("learning_rate", "0.001"));
  EXPECT_TRUE(only.Admits("seed", "7"));
  EXPECT_FALSE(only.Admits("seed", "3"));
  EXPECT_TRUE(only.Admits("system", "1..2")) << "a name";
  EXPECT_FALSE(only.Admits("system", "1")) << "a name";
  ASSERT_NE(only.Of("length"), nullptr);
  EXPECT_EQ(only.Of("task"), nullptr);
}

TEST(TitleWordsTest, LengthsThatAreAskedForAreNamed) {
  EXPECT_EQ(AtLength(0, {}, ""), "over all test lengths");
  EXPECT_EQ(AtLength(40, {"seed=0"}, ""), "at length 40");
  EXPECT_EQ(AtLength(0, {"length=40"}, ""), "at length 40");
  EXPECT_EQ(AtLength(0, {"length=41..60,10"}, ""), "averaged over length 10 and 41 to 60");
}

// Tests while a job was trained may have had fewer lengths than those at its end.
TEST(TitleWordsTest, ValuesAtStepsAreOverTheLengthsOfCurves) {
  EXPECT_EQ(AtLength(0, {}, "", /*by_step=*/true), "over the lengths of curves");
  EXPECT_EQ(AtLength(0, {}, "step=200"), "over the lengths of curves");
  EXPECT_EQ(AtLength(0, {"step=200"}, ""), "over the lengths of curves");
  EXPECT_EQ(AtLength(40, {"step=200"}, ""), "at length 40");
  EXPECT_EQ(AtLength(0, {}, "depth=3"), "over all test lengths");

  EXPECT_EQ(AtEachLength({}, "", /*by_step=*/true), "at each length of curves");
  EXPECT_EQ(AtEachLength({"seed=0"}, "step=200"), "at each length of curves");
  EXPECT_EQ(AtEachLength({"step=200"}, ""), "at each length of curves");
  EXPECT_EQ(AtEachLength({"seed=0"}, "depth=3"), "at each test length");
}

TEST(OnlyTest, ASystemHasTheAxesOfItsSweepButForItsOwn) {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_task("even_pairs");
  spec.mutable_axes()->add_encoding("rope");
  v1::System& system = *spec.add_systems();
  system.mutable_with()->mutable_axes()->add_encoding("alibi");
  const v1::Axes axes = AxesOf(spec, system);
  EXPECT_EQ(ValuesOf(axes, "task"), std::vector<std::string>{"even_pairs"});
  EXPECT_EQ(ValuesOf(axes, "encoding"), std::vector<std::string>{"alibi"});
}

TEST(SharedDrawTest, IsNotedWhereJobsThatAreAskedForHaveRandomizedPositions) {
  v1::SweepSpec spec;
  spec.set_experiment("algorithmic");
  for (const char* encoding : {"rope", "rope:randomized"}) spec.mutable_axes()->add_encoding(encoding);
  EXPECT_THAT(NoteOfSharedDraw(spec, {}), HasSubstr("evaluation.seed"));
  EXPECT_EQ(NoteOfSharedDraw(spec, {"encoding=rope"}), "");
  spec.set_experiment("sequences");
  EXPECT_THAT(NoteOfSharedDraw(spec, {}), HasSubstr("for each test length, more often only where it has very many pairs, the same for all jobs")) << "up to 65,536 tokens are one part";
  spec.set_experiment("language");
  EXPECT_EQ(NoteOfSharedDraw(spec, {}), "") << "drawn anew for each part of a test";
}

TEST(SharedDrawTest, KnowsTheEncodingsOfSystems) {
  v1::SweepSpec spec;
  spec.set_experiment("algorithmic");
  spec.mutable_axes()->add_encoding("rope");
  for (const char* name : {"plain", "randomized"}) spec.add_systems()->set_name(name);
  spec.mutable_systems(1)->mutable_with()->mutable_axes()->add_encoding("rope:randomized");
  EXPECT_THAT(NoteOfSharedDraw(spec, {}), HasSubstr("evaluation.seed"));
  EXPECT_THAT(NoteOfSharedDraw(spec, {"system=randomized"}), HasSubstr("evaluation.seed"));
  EXPECT_EQ(NoteOfSharedDraw(spec, {"system=plain"}), "");
}

}  // namespace
}  // namespace longreach::client
