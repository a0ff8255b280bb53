// Tests while a job is trained: which of them there may be, which job they make, and what they cost.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/experiments/expansion.h"
#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ChangeTests = std::function<void(v1::SweepSpec&, v1::Evaluation&)>;

// 1,000 updates, tests at three lengths.
v1::SweepSpec TestedBy(const ChangeTests& change) {
  v1::SweepSpec sweep;
  sweep.set_name("test");
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("even_pairs");
  sweep.mutable_axes()->add_encoding("rope");
  sweep.mutable_axes()->add_learning_rate(3e-4);
  sweep.mutable_axes()->add_seed(0);
  sweep.mutable_training()->set_steps(1000);
  for (const int length : {50, 100, 200}) sweep.mutable_evaluation()->add_lengths(length);
  change(sweep, *sweep.mutable_evaluation());
  return sweep;
}

Cost CostIn(const v1::SweepSpec& sweep) { return FindKind(sweep.experiment())->CostOf(JobOf(sweep)); }
double ValuesIn(const v1::SweepSpec& sweep) { return FindKind(sweep.experiment())->MeasurementsOf(JobOf(sweep)); }

TEST(ScoreCurveSettingsTest, WithoutThemItIsTheJobThatItWas) {
  const std::string before = IdOf(TestedBy([](auto&, auto&) {}));
  EXPECT_EQ(IdOf(TestedBy([](auto&, auto& tests) { tests.set_curve_every(0); })), before);
  EXPECT_NE(IdOf(TestedBy([](auto&, auto& tests) { tests.set_curve_every(100); })), before);
}

TEST(ScoreCurveSettingsTest, AllLengthsAreTheSameAsNoneAndTheirOrderSaysNothing) {
  const auto of_lengths = [](const std::vector<int>& lengths) {
    return TestedBy([&](auto&, auto& tests) {
      tests.set_curve_every(100);
      for (const int length : lengths) tests.add_curve_lengths(length);
    });
  };
  EXPECT_EQ(IdOf(of_lengths({200, 50, 100})), IdOf(of_lengths({})));
  EXPECT_EQ(IdOf(of_lengths({200, 50})), IdOf(of_lengths({50, 200})));
  EXPECT_NE(IdOf(of_lengths({50, 200})), IdOf(of_lengths({})));
  EXPECT_THAT(JobOf(of_lengths({200, 50})).evaluation().curve_lengths(), ElementsAre(50, 200));
}

// One that only tests another's weights has no updates to be tested between.
TEST(ScoreCurveSettingsTest, AJobThatTrainsNothingHasNone) {
  const v1::JobSpec job = JobOf(TestedBy([](auto& sweep, auto& tests) {
    sweep.mutable_training()->set_steps(0);
    tests.set_curve_every(100);
    tests.add_curve_lengths(50);
    v1::Input& input = *sweep.add_inputs();
    input.set_name("weights");
    input.set_artifact("weights");
    input.mutable_from()->mutable_training()->set_steps(1000);
  }));
  EXPECT_FALSE(job.evaluation().has_curve_every());
  EXPECT_THAT(job.evaluation().curve_lengths(), IsEmpty());
}

TEST(ScoreCurveSettingsTest, WhatDoesNotFitIsRefused) {
  const auto refused = [](const ChangeTests& change) { return Refused(TestedBy(change)); };
  EXPECT_THAT(refused([](auto&, auto& tests) { tests.set_curve_every(-1); }), HasSubstr("evaluation.curve_every: -1 is below 0"));
  EXPECT_THAT(refused([](auto&, auto& tests) { tests.set_curve_every(1001); }),
              HasSubstr("evaluation.curve_every: 1001 updates are more than training.steps, 1000: nothing would be tested before the end\n  set fewer, or leave it out"));
  EXPECT_THAT(refused([](auto&, auto& tests) { tests.set_curve_every(100), tests.add_curve_lengths(51); }),
              HasSubstr("evaluation.curve_lengths: 51 is not among evaluation.lengths\n  add it there"));
  EXPECT_THAT(refused([](auto&, auto& tests) { tests.set_curve_every(100), tests.add_curve_lengths(50), tests.add_curve_lengths(50); }),
              HasSubstr("evaluation.curve_lengths: 50 is there twice"));
  EXPECT_THAT(refused([](auto&, auto& tests) { tests.add_curve_lengths(50); }),
              HasSubstr("evaluation.curve_lengths: are tested while a job is trained only with evaluation.curve_every\n  set it to the updates between two tests"));
  // 1,000 values of a metric are as many as are kept: 250 points of three lengths and their mean.
  EXPECT_THAT(refused([](auto&, auto& tests) { tests.set_curve_every(3); }),
              HasSubstr("evaluation.curve_every: 334 points of 3 lengths and their mean are more than 1000 values of a metric\n"
                        "  set evaluation.curve_every to at least 4, or name fewer of evaluation.lengths in evaluation.curve_lengths"));
  EXPECT_EQ(JobOf(TestedBy([](auto&, auto& tests) { tests.set_curve_every(4); })).evaluation().curve_every(), 4);
  EXPECT_THAT(refused([](auto&, auto& tests) {
                for (int length = 201; length < 1198; ++length) tests.add_lengths(length);
                tests.set_curve_every(1000);
              }),
              HasSubstr("evaluation.curve_every: 1 points of 1000 lengths and their mean are more than 1000 values of a metric\n"
                        "  name fewer of evaluation.lengths in evaluation.curve_lengths"));
}

// Points after 300, 600, 900 and 1,000 updates, of which the last costs nothing: it is what is measured at the end.
TEST(ScoreCurveSettingsTest, ItsTestsCostWhatTestsOfTheirLengthsCost) {
  const v1::SweepSpec without = TestedBy([](auto&, auto&) {});
  const v1::SweepSpec with = TestedBy([](auto&, auto& tests) {
    tests.set_curve_every(300);
    tests.add_curve_lengths(100);
    tests.add_curve_lengths(200);
  });
  const v1::SweepSpec one = TestedBy([](auto&, auto& tests) {
    tests.clear_lengths();
    tests.add_lengths(50);
  });
  // Tests at 50, 100 and 200 are those at 50 and those at 100 and 200, beside one training.
  const double of_two = CostIn(without).flops - CostIn(one).flops;
  EXPECT_GT(of_two, 0);
  EXPECT_NEAR(CostIn(with).flops, CostIn(without).flops + 3 * of_two, 1e-9 * CostIn(with).flops);
  EXPECT_EQ(ValuesIn(without), 2 * (1 + 3));
  EXPECT_EQ(ValuesIn(with), 2 * (1 + 3 + 4 * (1 + 2)));
}

TEST(ScoreCurveSettingsTest, OtherKindsHaveThemToo) {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_training()->set_steps(4000);
  sweep.mutable_evaluation()->add_lengths(256);
  const double without = CostIn(sweep).flops, values = ValuesIn(sweep);
  sweep.mutable_evaluation()->set_curve_every(2000);
  EXPECT_GT(CostIn(sweep).flops, without);
  EXPECT_EQ(ValuesIn(sweep), values + 4 * 2 * 2);

  v1::SweepSpec noop = TestedBy([](auto&, auto& tests) { tests.set_curve_every(100); });
  noop.set_experiment("noop");
  noop.clear_training();
  EXPECT_THAT(Refused(noop), HasSubstr("evaluation: a no-op job computes nothing and has no settings"));
}

}  // namespace
}  // namespace longreach::experiments
