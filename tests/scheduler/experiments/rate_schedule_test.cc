// The learning rate's way through a training: whose setting it is, what is refused of it, and which job it makes.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/experiments/expansion.h"
#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using ChangeTraining = std::function<void(v1::Training&)>;

// Two jobs of an encoder, which differ in their learning rates.
v1::SweepSpec EncoderWith(const ChangeTraining& change) {
  v1::SweepSpec sweep;
  sweep.set_name("test");
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("even_pairs");
  sweep.mutable_axes()->add_encoding("rope");
  sweep.mutable_axes()->add_learning_rate(3e-4);
  sweep.mutable_axes()->add_learning_rate(1e-4);
  sweep.mutable_axes()->add_seed(0);
  sweep.mutable_training()->set_steps(100);
  change(*sweep.mutable_training());
  return sweep;
}
v1::SweepSpec DecoderWith(const ChangeTraining& change) {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_training()->set_warmup_steps(20);
  change(*sweep.mutable_training());
  return sweep;
}

ExpandedJob FirstOf(const v1::SweepSpec& sweep) {
  absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
  EXPECT_TRUE(expansion.ok()) << expansion.status();
  return expansion.ok() ? expansion->At(0) : ExpandedJob{};
}

TEST(RateScheduleTest, AConstantRateIsTheJobThatItWas) {
  const ExpandedJob before = FirstOf(EncoderWith([](v1::Training&) {}));
  EXPECT_EQ(before.canonical, "longreach-job/1\nencoding=rope\nexperiment=algorithmic\nlearning_rate=0.0003\ntask=even_pairs\ntraining.steps=100\n");
  EXPECT_EQ(before.spec.training().warmup_steps(), 0);
  EXPECT_EQ(before.spec.training().schedule(), "constant");
  EXPECT_FALSE(before.spec.training().has_final_rate());

  EXPECT_EQ(FirstOf(EncoderWith([](v1::Training& training) {
              training.set_warmup_steps(0);
              training.set_schedule("constant");
              training.set_final_rate(0.5);  // Of nothing that falls.
            })).id,
            before.id);
}

TEST(RateScheduleTest, AnotherScheduleIsAnotherJobAndAnotherPack) {
  const std::vector<ChangeTraining> changes = {
      [](v1::Training&) {},
      [](v1::Training& training) { training.set_warmup_steps(10); },
      [](v1::Training& training) { training.set_schedule("cosine"); },
      [](v1::Training& training) { training.set_schedule("linear"); },
      [](v1::Training& training) { training.set_schedule("linear"), training.set_final_rate(0); },
      [](v1::Training& training) { training.set_schedule("linear"), training.set_steps(101); },
  };
  std::set<std::string> ids, packs;
  for (const ChangeTraining& change : changes) {
    absl::StatusOr<Expansion> expansion = Expansion::Of(EncoderWith(change));
    ASSERT_TRUE(expansion.ok()) << expansion.status();
    const ExpandedJob one = expansion->At(0), other = expansion->At(1);
    EXPECT_EQ(one.pack_key, other.pack_key) << "rates of their own, on the same way";
    ids.insert({one.id.value, other.id.value});
    packs.insert(one.pack_key);
  }
  EXPECT_EQ(ids.size(), 2 * changes.size());
  EXPECT_EQ(packs.size(), changes.size());
}

TEST(RateScheduleTest, WhatIsNotTrainedHasNone) {
  v1::SweepSpec sweep = EncoderWith([](v1::Training& training) {
    training.set_steps(0);
    training.set_warmup_steps(10);
    training.set_schedule("cosine");
  });
  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  EXPECT_THAT(FirstOf(sweep).canonical, AllOf(Not(HasSubstr("warmup")), Not(HasSubstr("schedule")), Not(HasSubstr("final_rate"))));
}

TEST(RateScheduleTest, RefusesWhatDoesNotFit) {
  const auto refused = [](const ChangeTraining& change) { return Refused(EncoderWith(change)); };
  EXPECT_THAT(refused([](auto& t) { t.set_warmup_steps(100); }), HasSubstr("training.warmup_steps: 100 do not fit into training.steps, 100\n  set fewer of them"));
  EXPECT_THAT(refused([](auto& t) { t.set_warmup_steps(-1); }), HasSubstr("training.warmup_steps: -1 is below 0"));
  EXPECT_THAT(refused([](auto& t) { t.set_schedule("cosinus"); }), HasSubstr("training.schedule: 'cosinus' is none of 'constant', 'cosine' and 'linear'"));
  EXPECT_THAT(refused([](auto& t) { t.set_schedule("linear"), t.set_final_rate(1.5); }), HasSubstr("training.final_rate: 1.5 is not in [0, 1]"));
  EXPECT_THAT(refused([](auto& t) { t.set_final_rate(0.25); }),
              HasSubstr("training.final_rate: 0.25 is what the learning rate falls to, and without training.schedule it is constant\n"
                        "  set training.schedule to cosine or linear"));
  // Whose is it not.
  v1::SweepSpec language = EncoderWith([](v1::Training& training) { training.set_warmup_steps(10); });
  language.set_experiment("language");
  language.mutable_axes()->set_task(0, "enwik8");
  EXPECT_THAT(Refused(language), HasSubstr("training.warmup_steps: is a setting of the kinds 'algorithmic', 'llama' and 'sequences', not of 'language'\n  leave it out"));
}

TEST(RateScheduleTest, ALlamaDecodersIsACosineUntilItIsToldOtherwise) {
  const ExpandedJob before = FirstOf(DecoderWith([](v1::Training&) {}));
  EXPECT_THAT(before.canonical, Not(HasSubstr("schedule")));
  EXPECT_EQ(before.spec.training().schedule(), "cosine");
  EXPECT_EQ(FirstOf(DecoderWith([](auto& t) { t.set_schedule("cosine"); })).id, before.id);
  EXPECT_THAT(FirstOf(DecoderWith([](auto& t) { t.set_schedule("linear"); })).canonical, HasSubstr("training.schedule=linear\n"));
  EXPECT_EQ(FirstOf(DecoderWith([](auto& t) { t.set_final_rate(0.5); })).spec.training().final_rate(), 0.5);
  EXPECT_FALSE(FirstOf(DecoderWith([](auto& t) { t.set_schedule("constant"); })).spec.training().has_final_rate());
  EXPECT_THAT(Refused(DecoderWith([](auto& t) { t.set_final_rate(-0.5); })), HasSubstr("training.final_rate: -0.5 is not in [0, 1]"));
  EXPECT_THAT(Refused(DecoderWith([](auto& t) { t.set_schedule("step"); })), HasSubstr("training.schedule: 'step' is none of"));
}

}  // namespace
}  // namespace longreach::experiments
