// Mixtures of data sets in sweeps of the kind "llama": which are one job, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Parts = std::vector<std::pair<std::string, double>>;

v1::SweepSpec MixtureSweep(const Parts& mixture = {}) {
  v1::SweepSpec sweep;
  sweep.set_name("mixed");
  sweep.set_experiment("llama");
  sweep.set_data("pg19");
  sweep.mutable_axes()->add_task("bytes");
  sweep.mutable_axes()->add_encoding("none");
  sweep.mutable_axes()->add_learning_rate(4e-4);
  sweep.mutable_axes()->add_seed(0);
  for (const auto& [name, weight] : mixture) {
    sweep.mutable_training()->add_mixture(name);
    sweep.mutable_training()->add_mixture_weights(weight);
  }
  return sweep;
}

TEST(LlamaMixtureTest, TheOrderOfNamesIsNoMatter) {
  const v1::SweepSpec one = MixtureSweep({{"slimpajama", 0.693584}, {"starcoder", 0.306416}});
  const v1::SweepSpec other = MixtureSweep({{"starcoder", 0.306416}, {"slimpajama", 0.693584}});
  EXPECT_EQ(IdOf(one), IdOf(other));
  const v1::JobSpec job = JobOf(other);
  EXPECT_THAT(job.training().mixture(), ElementsAre("slimpajama", "starcoder"));
  EXPECT_THAT(job.training().mixture_weights(), ElementsAre(0.693584, 0.306416));
  EXPECT_EQ(job.data(), "pg19");

  // What is drawn otherwise is another job.
  EXPECT_NE(IdOf(one), IdOf(MixtureSweep()));
  EXPECT_NE(IdOf(one), IdOf(MixtureSweep({{"slimpajama", 0.306416}, {"starcoder", 0.693584}})));
  EXPECT_NE(IdOf(one), IdOf(MixtureSweep({{"slimpajama", 1}})));
}

TEST(LlamaMixtureTest, AJobReadsBackAsItIs) {
  absl::StatusOr<Expansion> expansion = Expansion::Of(MixtureSweep({{"b", 0.5}, {"a", 3}}));
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  const ExpandedJob job = expansion->At(0);
  const absl::StatusOr<v1::JobSpec> read = ReadJob(job.canonical);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->training().mixture(), ElementsAre("a", "b"));
  EXPECT_THAT(read->training().mixture_weights(), ElementsAre(3, 0.5));
}

TEST(LlamaMixtureTest, WhereNothingIsTrainedThereIsNone) {
  const auto tested = [](const Parts& mixture) {
    v1::SweepSpec sweep = MixtureSweep(mixture);
    sweep.mutable_training()->set_steps(0);
    v1::Input& weights = *sweep.add_inputs();
    weights.set_name("weights");
    weights.set_artifact("weights");
    // Made without a mixture, whatever the sweep has.
    weights.mutable_from()->mutable_training()->set_steps(5);
    weights.mutable_from()->mutable_training()->set_warmup_steps(1);
    return IdOf(sweep);
  };
  EXPECT_EQ(tested({{"a", 1}, {"b", 2}}), tested({}));
}

TEST(LlamaMixtureTest, RefusesWhatCannotBeDrawnFrom) {
  EXPECT_TRUE(Expansion::Of(MixtureSweep({{"a", 1}})).ok());
  EXPECT_TRUE(Expansion::Of(MixtureSweep({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}, {"g", 1}, {"h", 1e9}})).ok());

  EXPECT_THAT(Refused(MixtureSweep({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}, {"g", 1}, {"h", 1}, {"i", 1}})),
              HasSubstr("training.mixture: 9 data sets; at most 8"));
  EXPECT_THAT(Refused(MixtureSweep({{"a b", 1}})), HasSubstr("training.mixture: 'a b' cannot be a data set's name"));
  EXPECT_THAT(Refused(MixtureSweep({{"+a", 1}})), HasSubstr("training.mixture: '+a' cannot be a data set's name"));
  EXPECT_THAT(Refused(MixtureSweep({{"", 1}})), HasSubstr("training.mixture: '' names no data set"));
  EXPECT_THAT(Refused(MixtureSweep({{"a", 1}, {"b", 1}, {"a", 1}})), HasSubstr("training.mixture: 'a' is there twice"));
  EXPECT_THAT(Refused(MixtureSweep({{"a", 1}, {"b", 0}})), HasSubstr("training.mixture_weights: 0 is not a finite number above 0\n  set another, or take 'b' out"));
  EXPECT_THAT(Refused(MixtureSweep({{"a", -0.5}})), HasSubstr("training.mixture_weights: -0.5 is not"));
  EXPECT_THAT(Refused(MixtureSweep({{"a", std::numeric_limits<double>::infinity()}})), HasSubstr("training.mixture_weights: inf is not"));
  EXPECT_THAT(Refused(MixtureSweep({{"a", 1}, {"b", 1e-10}})), HasSubstr("nothing is drawn from 'b'"));

  v1::SweepSpec uneven = MixtureSweep({{"a", 1}, {"b", 1}});
  uneven.mutable_training()->mutable_mixture_weights()->RemoveLast();
  EXPECT_THAT(Refused(uneven), HasSubstr("training.mixture_weights: 1 weights, and training.mixture names 2 data sets"));
  uneven.mutable_training()->clear_mixture();
  EXPECT_THAT(Refused(uneven), HasSubstr("training.mixture_weights: 1 weights, and training.mixture names 0 data sets"));
}

TEST(LlamaMixtureTest, IsASettingOfTheKindLlamaAlone) {
  v1::SweepSpec language = MixtureSweep({{"a", 1}});
  language.set_experiment("language");
  language.mutable_axes()->set_task(0, "enwik8");
  language.mutable_axes()->set_encoding(0, "rope");
  EXPECT_THAT(Refused(language), HasSubstr("training.mixture: is a setting of the kind 'llama'"));
}

}  // namespace
}  // namespace longreach::experiments
