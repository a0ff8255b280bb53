// Passkey prompts of landmark attention in sweeps of the kind "llama": what they change of a job, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/registry.h"
#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::HasSubstr;

TEST(LandmarkPasskeysTest, PromptsWhoseDepthsAreDrawnHaveNoneOfTheirOwn) {
  v1::SweepSpec sweep = LlamaSweep();
  const std::string without = IdOf(sweep);
  sweep.mutable_evaluation()->set_passkey_prompts("landmark");
  EXPECT_EQ(IdOf(sweep), without);
  EXPECT_FALSE(JobOf(sweep).evaluation().has_passkey_prompts());

  sweep.mutable_evaluation()->clear_passkey_prompts();
  sweep.mutable_evaluation()->add_passkey_lengths(1024);
  const std::string nope = IdOf(sweep);
  EXPECT_EQ(JobOf(sweep).evaluation().passkey_prompts(), "nope");
  EXPECT_THAT(Expansion::Of(sweep)->At(0).canonical, ::testing::Not(HasSubstr("passkey_prompts")));
  sweep.mutable_evaluation()->set_passkey_prompts("nope");
  EXPECT_EQ(IdOf(sweep), nope);

  sweep.mutable_evaluation()->set_passkey_prompts("landmark");
  EXPECT_NE(IdOf(sweep), nope);
  ExpandedJob landmark = Expansion::Of(sweep)->At(0);
  EXPECT_FALSE(landmark.spec.evaluation().has_passkey_depths());
  EXPECT_EQ(landmark.spec.evaluation().passkey_tests(), 10);
  EXPECT_EQ(ReadJob(landmark.canonical)->SerializeAsString(), landmark.spec.SerializeAsString());
  // Ten prompts, and not as many at each of ten depths.
  const double flops = FindKind("llama")->CostOf(landmark.spec).flops - FindKind("llama")->CostOf(JobOf(LlamaSweep())).flops;
  EXPECT_GT(flops, 10 * 1024 * 2 * 7.2e7);
  EXPECT_LT(flops, 10 * 1024 * 2 * 9e7);
}

TEST(LandmarkPasskeysTest, RefusesWhatIsNotTheirs) {
  v1::SweepSpec sweep = LlamaSweep();
  sweep.mutable_evaluation()->set_passkey_prompts("landmark");
  sweep.mutable_evaluation()->add_passkey_lengths(257);  // The least.
  EXPECT_EQ(JobOf(sweep).evaluation().passkey_lengths(0), 257);
  const auto refused = [&](const std::function<void(v1::Evaluation&)>& change) {
    v1::SweepSpec other = sweep;
    change(*other.mutable_evaluation());
    return Refused(other);
  };
  EXPECT_THAT(refused([](auto& e) { e.set_passkey_depths(10); }),
              HasSubstr("evaluation.passkey_depths: is given, and prompts of the kind 'landmark' draw how deep each key lies"));
  EXPECT_THAT(refused([](auto& e) { e.set_passkey_prompts("landmarks"); }), HasSubstr("did you mean 'landmark'?"));
  EXPECT_THAT(refused([](auto& e) { e.add_passkey_lengths(256); }), HasSubstr("evaluation.passkey_lengths: 256 bytes or tokens have no room"));
  EXPECT_THAT(refused([](auto& e) { e.set_passkey_tests(0); }), HasSubstr("evaluation.passkey_tests: 0 is below 1"));
  EXPECT_THAT(refused([](auto& e) {
                e.clear_passkey_lengths();
                for (int length = 1000; length < 2000; ++length) e.add_passkey_lengths(length);
              }),
              HasSubstr("evaluation.passkey_lengths: 1000 lengths and the mean over them are more than 1000 values"));
  v1::SweepSpec language = LlamaSweep();
  language.set_experiment("language");
  language.mutable_axes()->set_task(0, "enwik8");
  language.mutable_evaluation()->set_passkey_prompts("landmark");
  EXPECT_THAT(Refused(language), HasSubstr("evaluation.passkey_prompts: is a setting of the kind 'llama'"));
}

}  // namespace
}  // namespace longreach::experiments
