// What --between of `longreach compare` takes, and which jobs it puts beside each other.
#include "client/commands/between.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

v1::Job JobWith(const std::string& encoding, uint32_t seed = 0, double rate = 1e-3) {
  v1::Job job;
  job.set_task("even_pairs");
  job.set_encoding(encoding);
  job.set_seed(seed);
  job.set_learning_rate(rate);
  return job;
}

// The side that a job is on and the key that it has there.
std::pair<int, PairKey> Taken(const std::string& between, v1::Job job) {
  const absl::StatusOr<Between> parsed = Between::Parse(between);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  if (!parsed.ok()) return {};
  const std::optional<size_t> side = parsed->Take(job);
  return {side ? static_cast<int>(*side) : -1, KeyOf(job)};
}

TEST(BetweenTest, TwoValuesOfAnAxisAreTheSides) {
  const auto rope = Taken("encoding=rope,alibi", JobWith("rope")), alibi = Taken("encoding=rope,alibi", JobWith("alibi"));
  EXPECT_EQ(rope.first, 0);
  EXPECT_EQ(alibi.first, 1);
  EXPECT_EQ(rope.second, alibi.second) << "so they are a pair";
  EXPECT_EQ(Taken("encoding=rope,alibi", JobWith("rope:randomized")).first, -1);
  EXPECT_NE(Taken("encoding=rope,alibi", JobWith("alibi", 1)).second, rope.second);
}

TEST(BetweenTest, NumbersAreWhatTheyStandFor) {
  EXPECT_EQ(Taken("learning_rate=0.0003,1e-3", JobWith("rope", 0, 3e-4)).first, 0);
  EXPECT_EQ(Taken("learning_rate=0.0003, 1e-3 ", JobWith("rope", 0, 1e-3)).first, 1) << "as lists are written in sweep files";
  EXPECT_EQ(Taken("learning_rate=0.0003,1e-3", JobWith("rope", 0, 1e-3)).first, 1);
  EXPECT_EQ(Taken("seed=1,0", JobWith("rope", 0)), (std::pair<int, PairKey>{1, KeyOf(JobWith("rope", 0))}));
}

TEST(BetweenTest, EachEncodingIsBesideItselfWithRandomizedPositions) {
  const auto plain = Taken("randomized", JobWith("rope")), randomized = Taken("randomized", JobWith("rope:randomized"));
  EXPECT_EQ(plain.first, 0);
  EXPECT_EQ(randomized.first, 1);
  EXPECT_EQ(plain.second, randomized.second);
  EXPECT_EQ(plain.second, KeyOf(JobWith("rope")));
  EXPECT_NE(Taken("randomized", JobWith("alibi:randomized")).second, plain.second);
}

SystemSettings GridOf(const std::vector<std::pair<int, int>>& layers_and_batches) {
  v1::SweepSpec spec;
  for (const auto& [layers, batch] : layers_and_batches) {
    v1::System& system = *spec.add_systems();
    system.set_name("l" + std::to_string(layers) + "_b" + std::to_string(batch));
    system.mutable_with()->mutable_model()->set_layers(layers);
    system.mutable_with()->mutable_training()->set_batch_size(batch);
  }
  return SystemSettings(spec);
}

TEST(BetweenTest, EachSideHasAChoiceThatProgramsRead) {
  const auto choices = [](const std::string& text) {
    const absl::StatusOr<Between> between = Between::Parse(text);
    EXPECT_TRUE(between.ok()) << between.status();
    return between.ok() ? std::vector{between->Choice(0), between->Choice(1)} : std::vector<std::string>();
  };
  EXPECT_THAT(choices("randomized"), ::testing::ElementsAre("plain", "randomized"));
  EXPECT_THAT(choices("learning_rate=3e-4,0.0010"), ::testing::ElementsAre("learning_rate=0.0003", "learning_rate=0.001")) << "as jobs have them";
  EXPECT_THAT(choices("model.layers=2,1"), ::testing::ElementsAre("model.layers=2", "model.layers=1"));
}

TEST(BetweenTest, ANumberIsNamedWithWhatItIsOf) {
  const auto title = [](const std::string& between) { return Between::Parse(between)->Title(); };
  EXPECT_EQ(title("encoding=rope,alibi"), "rope and alibi");
  EXPECT_EQ(title("randomized"), "plain and randomized");
  EXPECT_EQ(title("system=layers-2,layers-4"), "layers-2 and layers-4");
  EXPECT_EQ(title("model.causal=false,true"), "model.causal false and true");
  EXPECT_EQ(title("seed=0,1"), "seed 0 and 1");
  EXPECT_THAT(Between::Parse("learning_rate=1e-4,1e-3")->Names(), ::testing::ElementsAre("learning_rate 0.0001", "learning_rate 0.001"));
  EXPECT_THAT(Between::Parse("encoding=rope,alibi")->Names(), ::testing::ElementsAre("rope", "alibi"));
}

TEST(BetweenTest, SystemsAreBesideThoseThatHaveTheOtherSettingsInCommon) {
  absl::StatusOr<Between> between = Between::Parse("model.layers=2,1");
  ASSERT_TRUE(between.ok()) << between.status();
  ASSERT_TRUE(between->OfSetting());
  ASSERT_TRUE(between->ReadSystems(GridOf({{1, 8}, {1, 16}, {2, 8}, {2, 16}, {3, 8}})).ok());
  const auto taken = [&between](const std::string& system) {
    v1::Job job = JobWith("rope");
    job.add_systems(system);
    const std::optional<size_t> side = between->Take(job);
    return std::pair(side ? static_cast<int>(*side) : -1, KeyOf(job)[PlaceOf("system")]);
  };
  EXPECT_EQ(taken("l2_b8"), std::pair(0, std::string("training.batch_size=8")));
  EXPECT_EQ(taken("l1_b8"), std::pair(1, std::string("training.batch_size=8")));
  EXPECT_EQ(taken("l1_b16"), std::pair(1, std::string("training.batch_size=16")));
  EXPECT_EQ(taken("l3_b8").first, -1);
  EXPECT_EQ(taken("another").first, -1);
  EXPECT_EQ(between->difference(), "model.layers");
  EXPECT_TRUE(between->Leaves("system"));
}

TEST(BetweenTest, ASettingMustTellTheSystemsApart) {
  const auto refused = [](const std::string& text, const SystemSettings& settings) {
    absl::StatusOr<Between> between = Between::Parse(text);
    EXPECT_TRUE(between.ok()) << between.status();
    return std::string(between->ReadSystems(settings).message());
  };
  EXPECT_THAT(refused("model.layers=1,4", GridOf({{1, 8}, {2, 8}})), HasSubstr("'4'"));
  EXPECT_THAT(refused("model.layers=1,2", SystemSettings({})), HasSubstr("the sweep has no systems"));
  v1::SweepSpec spec = GridOf({{1, 8}, {2, 8}}).spec();
  *spec.add_systems() = spec.systems(0);
  spec.mutable_systems(2)->set_name("others");
  spec.mutable_systems(2)->mutable_with()->mutable_axes()->add_task("even_pairs");
  EXPECT_THAT(refused("model.layers=1,2", SystemSettings(spec)), HasSubstr("the systems 'l1_b8' and 'others' have the same value"));
}

TEST(BetweenTest, AnAxisAloneIsTheTwoValuesThatTheSweepHas) {
  v1::SweepSpec spec;
  for (const double rate : {1e-3, 3e-5}) spec.mutable_axes()->add_learning_rate(rate);
  absl::StatusOr<Between> between = Between::Parse("learning_rate");
  ASSERT_TRUE(between.ok()) << between.status();
  ASSERT_TRUE(between->Check(SweepValues(spec, {}).axes()).ok());
  EXPECT_THAT(between->values(), ::testing::ElementsAre("3e-05", "0.001"));
  v1::Job job = JobWith("rope", 0, 1e-3);
  EXPECT_EQ(between->Take(job), std::optional<size_t>(1));

  spec.mutable_axes()->add_learning_rate(1);
  EXPECT_THAT(std::string(Between::Parse("learning_rate")->Check(SweepValues(spec, {}).axes()).message()), HasSubstr("the sweep has 3 values of it: "));
  EXPECT_THAT(std::string(Between::Parse("learning_rate")->Check(SweepValues(spec, {}).axes()).message()), HasSubstr("name two of them: --between learning_rate=A,B"));
  EXPECT_THAT(std::string(Between::Parse("learning_rate")->Check(AxisValues()).message()), HasSubstr("the sweep has no value of it"));

  spec.mutable_axes()->clear_learning_rate();
  spec.mutable_axes()->add_learning_rate(1e-3);
  EXPECT_THAT(std::string(Between::Parse("learning_rate")->Check(SweepValues(spec, {}).axes()).message()),
              HasSubstr("the sweep has one value of it alone, 0.001\n")) << "of which nobody can name two";
}

TEST(BetweenTest, ASettingAloneIsTheTwoValuesOfTheSystems) {
  absl::StatusOr<Between> between = Between::Parse("model.layers");
  ASSERT_TRUE(between.ok()) << between.status();
  ASSERT_TRUE(between->ReadSystems(GridOf({{10, 8}, {2, 8}})).ok());
  EXPECT_THAT(between->values(), ::testing::ElementsAre("2", "10"));
  EXPECT_THAT(std::string(Between::Parse("model.layers")->ReadSystems(GridOf({{1, 8}, {2, 8}, {3, 8}})).message()), HasSubstr("the sweep has 3 values of it: 1, 2, 3"));
}

// As the systems of the NoPE paper: "nope" and "rope" have an encoding each, and "heads" a learning rate of its own.
v1::SweepSpec Systems() {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_task("bytes");
  spec.mutable_axes()->add_learning_rate(1e-3);
  for (const uint32_t seed : {0, 1}) spec.mutable_axes()->add_seed(seed);
  const std::pair<const char*, const char*> systems[] = {{"nope", "none"}, {"rope", "rope"}, {"heads", "none"}, {"both", "none"}};
  for (const auto& [name, encoding] : systems) {
    v1::System& system = *spec.add_systems();
    system.set_name(name);
    system.mutable_with()->mutable_axes()->add_encoding(encoding);
  }
  spec.mutable_systems(2)->mutable_with()->mutable_axes()->add_learning_rate(0.1);
  spec.mutable_systems(3)->mutable_with()->mutable_axes()->add_encoding("rope");
  return spec;
}

TEST(BetweenTest, WhatEachOfTwoSystemsHasOneValueOfGoesWithThem) {
  const auto along = [](const std::string& between, const std::vector<std::string>& only = {}) {
    const absl::StatusOr<Between> parsed = Between::Parse(between);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() ? parsed->Along(Systems(), only) : std::vector<std::string_view>();
  };
  EXPECT_THAT(along("system=nope,rope"), ::testing::ElementsAre("encoding"));
  EXPECT_THAT(along("system=nope,heads"), ::testing::ElementsAre("learning_rate"));
  EXPECT_THAT(along("system=rope,heads"), ::testing::ElementsAre("encoding", "learning_rate"));
  EXPECT_THAT(along("system=nope,both"), ::testing::IsEmpty()) << "one of two encodings is a partner's";
  EXPECT_THAT(along("system=nope,both", {"encoding=rope"}), ::testing::IsEmpty()) << "the first has none of it";
  EXPECT_THAT(along("system=rope,both", {"encoding=none", "seed=0"}), ::testing::IsEmpty());
  EXPECT_THAT(along("encoding=none,rope"), ::testing::IsEmpty()) << "systems may differ in anything, and no two are named";
}

TEST(BetweenTest, WhatElseSystemsOfPartnersDifferInIsKnown) {
  using Fields = std::set<std::string>;
  v1::SweepSpec spec = Systems();
  spec.mutable_systems(1)->mutable_with()->mutable_evaluation()->add_lengths(500);
  EXPECT_EQ(Between::Parse("system=nope,rope")->OtherFields(spec), Fields{"evaluation.lengths"});
  EXPECT_EQ(Between::Parse("system=nope,heads")->OtherFields(spec), Fields{}) << "the learning rate goes along";
  EXPECT_EQ(Between::Parse("encoding=none,rope")->OtherFields(spec), Fields{}) << "partners are of one system";

  // Of a grid nothing else; one of its systems is tested at other lengths.
  v1::SweepSpec grid = GridOf({{1, 8}, {2, 8}, {1, 32}, {2, 32}}).spec();
  const auto of_layers = [](const v1::SweepSpec& systems) {
    absl::StatusOr<Between> between = Between::Parse("model.layers=1,2");
    EXPECT_TRUE(between.ok() && between->ReadSystems(SystemSettings(systems)).ok());
    return between.ok() ? between->OtherFields(systems) : Fields{"none"};
  };
  EXPECT_EQ(of_layers(grid), Fields{});
  grid.mutable_systems(3)->mutable_with()->mutable_evaluation()->add_lengths(500);
  EXPECT_EQ(of_layers(grid), Fields{"evaluation.lengths"});
}

TEST(BetweenTest, WhatIsNoAxisWithTwoValuesIsRefused) {
  for (const char* text : {"", "encoding=", "encoding=rope", "encoding=rope,rope", "encoding=a,b,c", "layers=1,2", "random", "learning_rate=0.001,1e-3"}) {
    const absl::StatusOr<Between> parsed = Between::Parse(text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("is no axis with two values")) << text;
  }
}

TEST(BetweenTest, WhatIsNearlyAnAxisIsNamed) {
  for (const auto& [text, meant] : {std::pair("model.layer=1,2", "model.layers"), {"layers=1,2", "model.layers"}, {"encodings=rope,alibi", "encoding"}, {"random", "randomized"}}) {
    EXPECT_THAT(std::string(Between::Parse(text).status().message()), HasSubstr(std::string("did you mean '") + meant + "'?")) << text;
  }
  for (const char* text : {"", "encoding=rope", "zzzzzz=1,2"}) EXPECT_THAT(std::string(Between::Parse(text).status().message()), ::testing::Not(HasSubstr("did you mean"))) << text;
}

TEST(BetweenTest, ValuesThatTheSweepLacksAreRefused) {
  v1::SweepSpec spec;
  for (const char* encoding : {"rope", "alibi"}) spec.mutable_axes()->add_encoding(encoding);
  const AxisValues axes = SweepValues(spec, {}).axes();
  EXPECT_TRUE(Between::Parse("encoding=rope,alibi")->Check(axes).ok());
  EXPECT_TRUE(Between::Parse("encoding=rope,none")->Check(AxisValues()).ok()) << "nobody knows";
  EXPECT_THAT(std::string(Between::Parse("encoding=rope,alibbi")->Check(axes).message()), HasSubstr("unknown value 'alibbi'"));
  EXPECT_THAT(std::string(Between::Parse("randomized")->Check(axes).message()), HasSubstr("encodings with plain positions alone"));
  spec.mutable_axes()->add_encoding("rope:randomized");
  EXPECT_TRUE(Between::Parse("randomized")->Check(SweepValues(spec, {}).axes()).ok());
  EXPECT_THAT(std::string(Between::Parse("randomized")->Check(SweepValues(spec, {"encoding=rope:randomized"}).axes()).message()),
              HasSubstr("encodings with randomized positions alone"));
}

}  // namespace
}  // namespace longreach::client
