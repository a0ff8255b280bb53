// The kind "llama": scales of attention that depend on the position of a query.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::HasSubstr;

// A published model that is only tested.
v1::SweepSpec Tested() {
  v1::SweepSpec sweep;
  sweep.set_name("positions");
  sweep.set_experiment("llama");
  sweep.set_data("books");
  sweep.mutable_axes()->add_task("tokens");
  sweep.mutable_axes()->add_encoding("none");
  sweep.mutable_axes()->add_learning_rate(4e-4);
  sweep.mutable_axes()->add_seed(0);
  sweep.mutable_model()->set_folder("tinyllama-nope");
  sweep.mutable_training()->set_steps(0);
  return sweep;
}

TEST(ScaleByPositionTest, AJobHasItWhereItBegins) {
  v1::SweepSpec sweep = Tested();
  const std::string without = IdOf(sweep);
  EXPECT_FALSE(JobOf(sweep).model().has_attention_scale_from());
  // Said or not, it is the same job.
  sweep.mutable_model()->set_attention_scale_from(0);
  sweep.mutable_model()->set_attention_scale_growth(0);
  EXPECT_EQ(IdOf(sweep), without);

  sweep.mutable_model()->set_attention_scale_from(2048);
  const v1::JobSpec piecewise = JobOf(sweep);
  EXPECT_EQ(piecewise.model().attention_scale_from(), 2048);
  EXPECT_FALSE(piecewise.model().has_attention_scale_growth());
  const std::string one_step = IdOf(sweep);
  EXPECT_NE(one_step, without);
  // A scale may fall with the position, too.
  sweep.mutable_model()->set_attention_scale_growth(-0.25);
  EXPECT_EQ(JobOf(sweep).model().attention_scale_growth(), -0.25);
  EXPECT_NE(IdOf(sweep), one_step);
  // A job comes back from its text as it was.
  const ExpandedJob expanded = Expansion::Of(sweep)->At(0);
  EXPECT_EQ(ReadJob(expanded.canonical)->SerializeAsString(), expanded.spec.SerializeAsString());
}

TEST(ScaleByPositionTest, RefusesWhatHasNoMeaning) {
  const auto refused = [](const std::function<void(v1::SweepSpec&)>& change) {
    v1::SweepSpec sweep = Tested();
    change(sweep);
    return Refused(sweep);
  };
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_attention_scale_from(-1); }), HasSubstr("model.attention_scale_from: -1 is below 0"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_attention_scale_growth(0.3); }),
              HasSubstr("model.attention_scale_growth: 0.3 is a factor of ln(position / attention_scale_from)\n  set model.attention_scale_from"));
  EXPECT_THAT(refused([](auto& s) {
                s.mutable_model()->set_attention_scale_from(2048);
                s.mutable_model()->set_attention_scale_growth(std::numeric_limits<double>::infinity());
              }),
              HasSubstr("model.attention_scale_growth: inf is not a number from -1000000000 to 1000000000"));
  EXPECT_THAT(refused([](auto& s) {
                s.mutable_model()->set_attention_scale_from(2048);
                s.mutable_training()->set_steps(200);
                s.mutable_training()->set_warmup_steps(20);
              }),
              HasSubstr("model.attention_scale_from: 2048 is for tests, and training.steps is 200\n  set training.steps to 0"));
  EXPECT_THAT(refused([](auto& s) {
                s.set_experiment("language");
                s.mutable_axes()->set_task(0, "enwik8");
                s.clear_model();
                s.mutable_model()->set_attention_scale_from(256);
              }),
              HasSubstr("model.attention_scale_from: is a setting of the kind 'llama', not of 'language'"));
}

}  // namespace
}  // namespace longreach::experiments
