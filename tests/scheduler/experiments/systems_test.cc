// Sweeps with systems: what they expand to, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "scheduler/experiments/expansion.h"
#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::HasSubstr;

// Pretraining, and two systems that begin with its weights.
v1::SweepSpec Systems() {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_axes()->clear_encoding();
  sweep.mutable_training()->set_warmup_steps(7);
  v1::System& plain = *sweep.add_systems();
  plain.set_name("plain");
  plain.mutable_with()->mutable_axes()->add_encoding("none");
  v1::System& heads = *sweep.add_systems();
  heads.set_name("heads");
  heads.mutable_with()->mutable_axes()->add_encoding("none");
  heads.mutable_with()->mutable_axes()->add_learning_rate(0.1);
  heads.mutable_with()->mutable_training()->set_trainable("head_scales");
  heads.mutable_with()->mutable_training()->set_weight_decay(0);
  heads.mutable_with()->mutable_training()->set_steps(10);
  *heads.mutable_with()->add_inputs() = Weights();
  *heads.mutable_with()->add_inputs() = Scale();
  v1::System& yarn = *sweep.add_systems();
  yarn.set_name("a-yarn");
  yarn.mutable_with()->mutable_axes()->add_encoding("rope");
  yarn.mutable_with()->mutable_positions()->set_rope_scaling("yarn");
  yarn.mutable_with()->mutable_positions()->set_rope_factor(2);
  yarn.mutable_with()->mutable_positions()->set_original_length(2048);
  yarn.mutable_with()->mutable_training()->set_steps(0);
  *yarn.mutable_with()->add_inputs() = Weights();
  return sweep;
}

TEST(SystemsTest, EachSystemHasItsOwnSettingsAndInputsHaveTheSweeps) {
  Expansion expansion = *Expansion::Of(Systems());
  ASSERT_EQ(expansion.size(), 3);
  std::map<std::string, ExpandedJob> jobs;
  int64_t at = 0;
  for (const SystemRange& range : SystemRanges(Systems())) {
    for (; at < range.end; ++at) jobs.emplace(range.name, expansion.At(at));
  }
  EXPECT_EQ(jobs.at("plain").spec.training().steps(), 50'000);
  EXPECT_EQ(jobs.at("heads").spec.training().trainable(), "head_scales");
  EXPECT_EQ(jobs.at("heads").spec.training().warmup_steps(), 7);  // Field by field.
  EXPECT_EQ(jobs.at("heads").spec.learning_rate(), 0.1);

  // What the inputs come from is pretrained once: it is the first system, with the sweep's learning rate and settings.
  const ExpandedJob& heads = jobs.at("heads");
  ASSERT_EQ(heads.prerequisites.size(), 2u);  // attention_scale, weights.
  EXPECT_EQ(heads.prerequisites[1].id, jobs.at("plain").id);
  EXPECT_EQ(heads.prerequisites[0].spec.learning_rate(), 4e-4);
  EXPECT_EQ(heads.prerequisites[0].prerequisites.at(0).id, jobs.at("plain").id);
  const ExpandedJob& pretrained = jobs.at("a-yarn").prerequisites.at(0);
  EXPECT_EQ(pretrained.spec.encoding(), "rope");
  EXPECT_EQ(pretrained.spec.positions().rope_scaling(), "none");
  EXPECT_EQ(pretrained.spec.training().steps(), 50'000);
}

TEST(SystemsTest, TheirOrderMakesNoOtherSweepAndTheTextKeepsThem) {
  v1::SweepSpec turned = Systems();
  turned.mutable_systems()->SwapElements(0, 2);
  Expansion one = *Expansion::Of(Systems()), other = *Expansion::Of(turned);
  EXPECT_EQ(one.id(), other.id());
  for (int64_t i = 0; i < one.size(); ++i) EXPECT_EQ(one.At(i).id, other.At(i).id);

  const absl::StatusOr<v1::SweepSpec> read = ReadSweep(one.canonical());
  ASSERT_TRUE(read.ok()) << read.status();
  Expansion again = *Expansion::Of([&] { v1::SweepSpec spec = *read; spec.set_name("nope"); return spec; }());
  EXPECT_EQ(again.id(), one.id());
  for (int64_t i = 0; i < one.size(); ++i) EXPECT_EQ(again.At(i).id, one.At(i).id);
}

using Values = std::vector<std::string>;

// Of one setting, by system in the order of their names, and within it by task and encoding as words.
Values ValuesOf(const v1::SweepSpec& sweep, const std::string& path) {
  Values values;
  for (const SettingsByJob& of_system : SettingsOfSystems(sweep, Values{path})) {
    for (const auto& [job, settings] : of_system) values.push_back(settings.at(path));
  }
  return values;
}

TEST(SystemsTest, SettingsAreThoseThatTheJobsHave) {
  // a-yarn, heads, plain.
  EXPECT_EQ(ValuesOf(Systems(), "training.weight_decay"), (Values{"", "0", "0.1"})) << "the first trains nothing";
  EXPECT_EQ(ValuesOf(Systems(), "positions.rope_factor"), (Values{"2", "", ""}));
  EXPECT_EQ(ValuesOf(Systems(), "training.warmup_steps"), (Values{"", "7", "7"}));
  EXPECT_TRUE(SettingsOfSystems(Systems(), Values{}).empty());
  // As the store has it: a name is not in its text.
  v1::SweepSpec stored = Systems();
  stored.clear_name();
  EXPECT_EQ(ValuesOf(stored, "training.weight_decay"), (Values{"", "0", "0.1"}));
}

TEST(SystemsTest, SettingsAreThoseThatAJobsOwnEncodingAndTaskHave) {
  v1::SweepSpec words;
  words.set_experiment("language");
  words.mutable_axes()->add_task("enwik8");
  for (const char* encoding : {"rope", "rope:randomized"}) words.mutable_axes()->add_encoding(encoding);
  for (const double rate : {1e-4, 1e-3}) words.mutable_axes()->add_learning_rate(rate);
  for (const uint32_t seed : {0u, 1u}) words.mutable_axes()->add_seed(seed);
  EXPECT_EQ(ValuesOf(words, "positions.max_position"), (Values{"", "2048"})) << "RoPE draws none";
  words.mutable_training()->add_lengths(2500);
  EXPECT_EQ(ValuesOf(words, "positions.max_position"), (Values{"", "4096"}));
  EXPECT_EQ(ValuesOf(words, "data"), (Values{"enwik8", "enwik8"})) << "that of the task's name";
  EXPECT_EQ(ValuesOf(words, "model.layers"), (Values{"8", "8"}));
  words.mutable_axes()->mutable_encoding()->RemoveLast();
  EXPECT_EQ(ValuesOf(words, "positions.max_position"), (Values{""})) << "no job draws positions";
}

TEST(SystemsTest, OfASweepThatIsRefusedTodaySettingsAreWhatItSays) {
  v1::SweepSpec sweep = Systems();
  sweep.mutable_systems(0)->mutable_with()->mutable_model()->set_kv_heads(5);  // "plain", which does not divide its heads.
  EXPECT_EQ(ValuesOf(sweep, "model.kv_heads"), (Values{"1", "1", "5"}));
  EXPECT_EQ(ValuesOf(sweep, "training.weight_decay"), (Values{"", "0", "0.1"})) << "the others are as ever";
}

TEST(SystemsTest, RefusesSystemsThatAreNone) {
  const auto refused = [](const std::function<void(v1::SweepSpec&)>& change) {
    v1::SweepSpec sweep = Systems();
    change(sweep);
    return Refused(sweep);
  };
  EXPECT_THAT(refused([](auto& s) { s.mutable_systems(1)->set_name("plain"); }), HasSubstr("systems.plain: this system is there twice"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_systems(1)->set_name("two words"); }), HasSubstr("'two words' is not a word"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_systems(0)->mutable_with()->set_experiment("language"); }),
              HasSubstr("systems.plain.with.experiment: belongs to the sweep"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_systems(0)->mutable_with()->mutable_model()->set_kv_heads(5); }),
              HasSubstr("systems.plain: model.kv_heads: 5"));
  EXPECT_THAT(refused([](auto& s) {
                s.mutable_systems(1)->mutable_with()->CopyFrom(s.systems(0).with());
              }),
              HasSubstr("has a job that the system 'heads' has too"));
}

TEST(SystemsTest, OfSeveralLearningRatesASystemWithItsOwnSaysWhichTrainedItsWeights) {
  v1::SweepSpec sweep = Systems();
  sweep.mutable_axes()->add_learning_rate(8e-4);
  const std::string which = ".axes.learning_rate: is to be said, as the system has a learning rate of its own and the sweep has several: which of them trains this input?\n"
                            "  under the input: from: {axes: {learning_rate: 0.0004}}; or give the sweep one, and the others to systems";
  EXPECT_EQ(Refused(sweep), "systems.heads.with.inputs.weights.from" + which);

  v1::SweepSpec& heads = *sweep.mutable_systems(1)->mutable_with();
  heads.mutable_inputs(0)->mutable_from()->mutable_axes()->add_learning_rate(8e-4);
  // The search trains nothing; what it begins with was trained.
  EXPECT_EQ(Refused(sweep), "systems.heads.with.inputs.attention_scale.from.inputs.weights.from" + which);

  heads.mutable_inputs(1)->mutable_from()->mutable_inputs(0)->mutable_from()->mutable_axes()->add_learning_rate(8e-4);
  ASSERT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  Expansion expansion = *Expansion::Of(sweep);
  int64_t tuned = 0;
  for (int64_t i = 0; i < expansion.size(); ++i) {
    const ExpandedJob job = expansion.At(i);
    if (job.spec.learning_rate() != 0.1) continue;
    ++tuned;
    EXPECT_EQ(job.prerequisites.at(1).spec.learning_rate(), 8e-4);
  }
  EXPECT_EQ(tuned, 1);

  // Those that are tested, or tuned at one of the sweep's rates, begin with what was trained at it.
  sweep = Systems();
  sweep.mutable_axes()->add_learning_rate(0.1);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
}

TEST(SystemsTest, OfASettingThatMeansNothingToAnEncodingTheJobThatTwoSystemsHaveIsNamed) {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.set_experiment("algorithmic");
  sweep.clear_data();
  sweep.mutable_axes()->set_task(0, "even_pairs");
  sweep.mutable_axes()->set_encoding(0, "alibi:randomized");
  for (const int positions : {1024, 2048}) {
    v1::System& system = *sweep.add_systems();
    system.set_name("max_position-" + std::to_string(positions));
    system.mutable_with()->mutable_positions()->set_max_position(positions);
  }
  ASSERT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();

  sweep.mutable_axes()->add_encoding("alibi");

  EXPECT_EQ(Refused(sweep),
            "systems.max_position-2048: has a job that the system 'max_position-1024' has too, whatever they differ in: even_pairs alibi, learning rate 0.0004, seed 0\n"
            "  take one of the two out, let them differ in a setting that this job has, or leave 'alibi' to a sweep of its own");
}

TEST(SystemsTest, WhatTheSweepIsRefusedForWithoutItsSystemsIsSaidOfTheSweep) {
  v1::SweepSpec sweep = LlamaSweep();
  for (const int layers : {1, 2}) {
    v1::System& system = *sweep.add_systems();
    system.set_name("layers-" + std::to_string(layers));
    system.mutable_with()->mutable_model()->set_layers(layers);
  }
  ASSERT_TRUE(Expansion::Of(sweep).ok());

  v1::SweepSpec wrong = sweep;
  wrong.set_experiment("lama");
  EXPECT_THAT(Refused(wrong), ::testing::StartsWith("experiment: unknown experiment kind 'lama'"));
  wrong = sweep;
  wrong.mutable_training()->set_steps(-1);
  EXPECT_THAT(Refused(wrong), ::testing::StartsWith("training.steps: -1"));
  wrong.mutable_systems(0)->mutable_with()->mutable_training()->set_steps(-2);
  EXPECT_THAT(Refused(wrong), ::testing::StartsWith("systems.layers-1: training.steps: -2")) << "what a system sets is its own";
}

}  // namespace
}  // namespace longreach::experiments
