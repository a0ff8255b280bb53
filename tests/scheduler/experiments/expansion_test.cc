#include "scheduler/experiments/expansion.h"

#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "proto/catalog/catalog.h"
#include "proto/types/canonical.h"

namespace longreach::experiments {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

v1::SweepSpec Sweep() {
  v1::SweepSpec sweep;
  sweep.set_name("test");
  sweep.set_experiment("algorithmic");
  for (const char* task : {"even_pairs", "bucket_sort"}) sweep.mutable_axes()->add_task(task);
  for (const char* encoding : {"rope", "rope:randomized"}) sweep.mutable_axes()->add_encoding(encoding);
  for (const double rate : {1e-4, 3e-4, 5e-4}) sweep.mutable_axes()->add_learning_rate(rate);
  for (const uint32_t seed : {0u, 1u, 2u}) sweep.mutable_axes()->add_seed(seed);
  return sweep;
}

TEST(RegistryTest, EachKindHasAMainMetric) {
  for (const std::string& name : KindNames()) EXPECT_NE(catalog::FindMetric(FindKind(name)->MainMetric()), nullptr) << name;
}

std::string ExpansionRefusal(const v1::SweepSpec& sweep) {
  const absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
  EXPECT_EQ(expansion.status().code(), absl::StatusCode::kInvalidArgument) << expansion.status();
  return std::string(expansion.status().message());
}

TEST(ExpansionTest, OrdersByTaskEncodingLearningRateSeed) {
  Expansion expansion = *Expansion::Of(Sweep());
  ASSERT_EQ(expansion.size(), 36);

  EXPECT_EQ(expansion.At(0).spec.seed(), 0u);
  EXPECT_EQ(expansion.At(1).spec.seed(), 1u);
  EXPECT_EQ(expansion.At(3).spec.learning_rate(), 3e-4);
  EXPECT_TRUE(expansion.At(9).spec.randomized());
  EXPECT_EQ(expansion.At(17).spec.task(), "even_pairs");
  EXPECT_EQ(expansion.At(18).spec.task(), "bucket_sort");
}

TEST(ExpansionTest, EachJobHasItsOwnIdAndNineShareAPackKey) {
  Expansion expansion = *Expansion::Of(Sweep());
  std::set<JobId> ids;
  std::map<std::string, int> packs;
  for (int64_t i = 0; i < expansion.size(); ++i) {
    const ExpandedJob job = expansion.At(i);
    EXPECT_EQ(job.id, JobIdOf(job.canonical));
    ids.insert(job.id);
    ++packs[job.pack_key];
  }
  EXPECT_EQ(ids.size(), 36u);
  ASSERT_EQ(packs.size(), 4u);
  for (const auto& [key, jobs] : packs) EXPECT_EQ(jobs, 9);
}

TEST(ExpansionTest, AJobReadsBackCompleteFromItsCanonicalText) {
  v1::SweepSpec sweep = Sweep();
  sweep.mutable_training()->set_steps(7);
  Expansion expansion = *Expansion::Of(sweep);
  for (int64_t i = 0; i < expansion.size(); ++i) {
    const ExpandedJob job = expansion.At(i);
    const absl::StatusOr<v1::JobSpec> back = ReadJob(job.canonical);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(MessageDifferencer::Equals(*back, job.spec)) << back->DebugString() << job.spec.DebugString();
  }
}

TEST(ExpansionTest, ASweepReadsBackFromItsCanonicalText) {
  Expansion expansion = *Expansion::Of(Sweep());
  const absl::StatusOr<v1::SweepSpec> back = ReadSweep(expansion.canonical());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*back, Sweep())) << back->DebugString();
  EXPECT_EQ(Expansion::Of(*back)->id(), expansion.id());
}

TEST(ExpansionTest, TheTextMadeFromSharedPartsIsTheCanonicalOne) {
  v1::SweepSpec sweep = Sweep();
  sweep.mutable_axes()->add_encoding("log_kerple:randomized");  // With a path on each side of learning_rate and seed.
  sweep.mutable_model()->set_kerple_shared(true);
  sweep.mutable_training()->set_steps(7);
  sweep.mutable_positions()->set_max_position(4096);
  Expansion expansion = *Expansion::Of(sweep);
  for (int64_t i = 0; i < expansion.size(); i += 5) {
    const ExpandedJob job = expansion.At(i);
    EXPECT_EQ(job.canonical, CanonicalText(job.spec, expansion.kind().Defaults()));
    EXPECT_EQ(job.pack_key, PackKeyOf(job.canonical));
  }
}

// Every store that there is has jobs under such ids: they must never change.
TEST(ExpansionTest, TheIdentityOfADefaultJobNeverChanges) {
  const ExpandedJob job = Expansion::Of(Sweep())->At(0);
  EXPECT_EQ(job.canonical, "longreach-job/1\nencoding=rope\nexperiment=algorithmic\nlearning_rate=0.0001\ntask=even_pairs\n");
  EXPECT_EQ(job.id.value, "3a6d399896d70d5854c31c633ec202bd548049e1821c2d6a5d6e8167dde45897");
}

TEST(ExpansionTest, RefusesABillionJobsBeforeMakingOne) {
  v1::SweepSpec sweep = Sweep();
  for (int seed = 3; seed < 1'000'000; ++seed) sweep.mutable_axes()->add_seed(seed);
  sweep.mutable_axes()->clear_learning_rate();
  for (int i = 1; i <= 1000; ++i) sweep.mutable_axes()->add_learning_rate(i * 1e-6);

  const absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);

  EXPECT_EQ(expansion.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(expansion.status().message()),
              HasSubstr("2 tasks x 2 encodings x 1000 learning rates x 1000000 seeds = 4000000000 jobs; at most 10000000"));
}

TEST(ExpansionTest, RefusesNamesThatCommandsCannotTake) {
  const auto refused = [](const std::string& name) {
    v1::SweepSpec sweep = Sweep();
    sweep.set_name(name);
    return ExpansionRefusal(sweep);
  };
  EXPECT_THAT(refused(""), HasSubstr("needs a name"));
  EXPECT_THAT(refused("last"), HasSubstr("'last'"));
  EXPECT_THAT(refused("a b"), HasSubstr("other characters"));
  EXPECT_THAT(refused("../x"), HasSubstr("other characters"));
  EXPECT_THAT(refused("-x"), HasSubstr("must begin"));
  EXPECT_THAT(refused(std::string(65, 'a')), HasSubstr("'aaaaaaaaaaaaaaaa...' has 65 characters; at most 64"));
  // A character of several bytes is one, and is not cut in two.
  std::string han;
  for (int i = 0; i < 40; ++i) han += "\u6f22";
  EXPECT_EQ(refused(han), "name: '" + han + "' has other characters than letters, digits, '-', '_' and '.'");
}

TEST(ExpansionTest, WhereNothingIsTrainedALearningRateIsAskedForWithWhatToWrite) {
  v1::SweepSpec sweep = Sweep();
  sweep.mutable_axes()->clear_learning_rate();
  EXPECT_EQ(ExpansionRefusal(sweep), "axes.learning_rate: no value; give at least one, as 'learning_rate: VALUE' below 'axes:' in the file or as --set learning_rate=VALUE");
  sweep.mutable_training()->set_steps(0);
  EXPECT_THAT(ExpansionRefusal(sweep), HasSubstr("axes.learning_rate: no value; nothing is trained (training.steps: 0), but a job has one"));
  EXPECT_THAT(ExpansionRefusal(sweep), HasSubstr("\n  set any, the same in all such sweeps, as in --set learning_rate=1e-4"));
}

TEST(ExpansionTest, RefusesEmptyAxesAndDuplicates) {
  const auto refused = [](auto change) {
    v1::SweepSpec sweep = Sweep();
    change(*sweep.mutable_axes());
    return ExpansionRefusal(sweep);
  };
  EXPECT_THAT(refused([](v1::Axes& axes) { axes.clear_seed(); }), HasSubstr("axes.seed: no value"));
  EXPECT_THAT(refused([](v1::Axes& axes) { axes.clear_task(); }), HasSubstr("axes.task: no value"));
  EXPECT_EQ(refused([](v1::Axes& axes) { axes.add_seed(1); }), "axes.seed: '1' is there twice");
  EXPECT_EQ(refused([](v1::Axes& axes) { axes.add_encoding("rope"); }), "axes.encoding: 'rope' is there twice");
  EXPECT_EQ(refused([](v1::Axes& axes) { axes.add_learning_rate(1e-4); }), "axes.learning_rate: '0.0001' is there twice");
  EXPECT_EQ(refused([](v1::Axes& axes) { axes.add_learning_rate(-1e-4); }), "axes.learning_rate: -0.0001 is not a finite number above 0");
  EXPECT_EQ(refused([](v1::Axes& axes) { axes.add_learning_rate(1e-60); }), "axes.learning_rate: 1e-60 is not a finite number above 0 in float32");
  EXPECT_EQ(refused([](v1::Axes& axes) { axes.add_learning_rate(1e39); }), "axes.learning_rate: 1e+39 is not a finite number above 0 in float32");
  EXPECT_THAT(refused([](v1::Axes& axes) { axes.add_learning_rate(std::numeric_limits<double>::quiet_NaN()); }), HasSubstr("nan is not"));
  EXPECT_THAT(refused([](v1::Axes& axes) { axes.add_learning_rate(std::numeric_limits<double>::infinity()); }), HasSubstr("inf is not"));
}

TEST(ExpansionTest, RefusesUnknownKindsAndFieldsOfTheFuture) {
  v1::SweepSpec sweep = Sweep();
  sweep.set_experiment("algoritmic");
  EXPECT_EQ(ExpansionRefusal(sweep), "experiment: unknown experiment kind 'algoritmic'\n  did you mean 'algorithmic'? known: algorithmic, images, language, llama, noop, sequences");
  sweep.clear_experiment();
  EXPECT_EQ(ExpansionRefusal(sweep), "experiment: is missing\n  set 'experiment' to the kind that the sweep is of; there are: algorithmic, images, language, llama, noop, sequences");

  sweep = Sweep();
  sweep.mutable_model()->GetReflection()->MutableUnknownFields(sweep.mutable_model())->AddVarint(77, 1);
  EXPECT_THAT(ExpansionRefusal(sweep), HasSubstr("field number 77"));
}

v1::SweepSpec SweepWithWeights() {
  v1::SweepSpec sweep = Sweep();
  sweep.mutable_training()->set_steps(0);
  sweep.mutable_axes()->mutable_seed()->Truncate(1);  // All weights come from one.
  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  input->mutable_from()->mutable_axes()->add_seed(5);
  input->mutable_from()->mutable_training()->set_steps(100);
  return sweep;
}

TEST(ExpansionTest, ASweepWithInputsHasABound) {
  v1::SweepSpec sweep = SweepWithWeights();
  sweep.mutable_axes()->clear_seed();
  for (uint32_t seed = 0; seed < 100'001; ++seed) sweep.mutable_axes()->add_seed(seed);
  const absl::Status refused = Expansion::Of(sweep).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("jobs that need others; at most 100000"));
  sweep.clear_inputs();
  sweep.mutable_training()->set_steps(1);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
}

TEST(ExpansionTest, AnInputComesFromTheJobWithTheSameAxesUnlessSaid) {
  Expansion expansion = *Expansion::Of(SweepWithWeights());
  const ExpandedJob job = expansion.At(3);  // even_pairs, rope:randomized, 1e-4, seed 0.

  ASSERT_EQ(job.prerequisites.size(), 1u);
  const ExpandedJob& maker = job.prerequisites[0];
  EXPECT_EQ(maker.spec.seed(), 5u);
  EXPECT_EQ(maker.spec.task(), "even_pairs");
  EXPECT_TRUE(maker.spec.randomized());
  EXPECT_EQ(maker.spec.training().steps(), 100);
  EXPECT_EQ(maker.spec.evaluation().examples(), 500);
  ASSERT_EQ(job.spec.inputs_size(), 1);
  EXPECT_EQ(job.spec.inputs(0).job(), maker.id.value);
  EXPECT_THAT(job.canonical, HasSubstr("inputs.weights.job=" + maker.id.value));

  // Another maker is another job, but the same pack.
  v1::SweepSpec other = SweepWithWeights();
  other.mutable_inputs(0)->mutable_from()->mutable_axes()->set_seed(0, 6);
  EXPECT_NE(Expansion::Of(other)->At(3).id, job.id);
  EXPECT_EQ(Expansion::Of(other)->At(3).pack_key, job.pack_key);
}

// All that a seed draws is initial weights: of one job's weights each would be the same job again, and a spread of them one of nothing.
TEST(ExpansionTest, SeedsThatAreOneJobOverAndOverAreRefused) {
  v1::SweepSpec sweep = SweepWithWeights();
  sweep.mutable_axes()->add_seed(1);
  for (const int steps : {0, 10}) {
    sweep.mutable_training()->set_steps(steps);
    EXPECT_THAT(ExpansionRefusal(sweep), HasSubstr("axes.seed: 2 seeds, which draw initial weights, and those of all come from seed 5 (inputs.weights.from): the jobs would be one and the same"));
  }
  sweep.mutable_inputs(0)->mutable_from()->mutable_axes()->clear_seed();
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << "each has its own";

  sweep.mutable_inputs(0)->mutable_from()->mutable_axes()->add_learning_rate(1e-4);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << "rates of a training that goes on";
  sweep.mutable_training()->set_steps(0);
  EXPECT_THAT(ExpansionRefusal(sweep), HasSubstr("axes.learning_rate: 3 rates, and nothing is trained (training.steps: 0) and the weights of all come from rate 0.0001 (inputs.weights.from)"));
}

TEST(ExpansionTest, RefusesInputsThatCannotBe) {
  const auto refused = [](auto change) {
    v1::SweepSpec sweep = SweepWithWeights();
    sweep.mutable_training()->set_steps(10);
    change(*sweep.mutable_inputs(0));
    return ExpansionRefusal(sweep);
  };
  EXPECT_THAT(refused([](v1::Input& input) { input.set_name("weigths"); }), HasSubstr("did you mean 'weights'?"));
  EXPECT_THAT(refused([](v1::Input& input) { input.set_name(""); }), HasSubstr("is not a word"));
  EXPECT_THAT(refused([](v1::Input& input) { input.set_metric("accuracy"); }), HasSubstr("exactly one of"));
  EXPECT_THAT(refused([](v1::Input& input) { input.clear_artifact(); }), HasSubstr("exactly one of"));
  EXPECT_THAT(refused([](v1::Input& input) { input.set_artifact("figure"); }), HasSubstr("'figure' is not what the input 'weights' takes"));
  EXPECT_THAT(refused([](v1::Input& input) { input.mutable_from()->mutable_axes()->add_seed(6); }),
              HasSubstr("inputs.weights.from.axes.seed: 2 values"));
  EXPECT_THAT(refused([](v1::Input& input) { input.mutable_from()->mutable_axes()->add_task("parity"); }),
              HasSubstr("inputs.weights.from.axes.task: the kind 'algorithmic' has no task 'parity'"));
  EXPECT_THAT(refused([](v1::Input& input) { input.mutable_from()->mutable_training()->set_batch_size(0); }),
              HasSubstr("inputs.weights.from.training.batch_size: 0 is below 1"));
  EXPECT_THAT(refused([](v1::Input& input) { input.mutable_from()->mutable_model()->set_layers(3); }),
              HasSubstr("model.layers is 3 there and 5"));
  EXPECT_THAT(refused([](v1::Input& input) { input.mutable_from()->mutable_axes()->add_task("bucket_sort"); }),
              HasSubstr("vocabulary"));

  v1::SweepSpec twice = SweepWithWeights();
  *twice.add_inputs() = twice.inputs(0);
  EXPECT_THAT(ExpansionRefusal(twice), HasSubstr("twice"));

  v1::SweepSpec deep = SweepWithWeights();
  v1::Input* input = deep.mutable_inputs(0);
  for (int i = 0; i < 12; ++i) {
    v1::Input* next = input->mutable_from()->add_inputs();
    next->set_name("weights");
    next->set_artifact("weights");
    input = next;
  }
  EXPECT_THAT(ExpansionRefusal(deep), HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace longreach::experiments
