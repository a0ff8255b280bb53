#include "proto/types/canonical.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "proto/base/sha256.h"

namespace longreach {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::JobSpec Defaults() {
  v1::JobSpec defaults;
  defaults.mutable_model()->set_layers(5);
  defaults.mutable_training()->set_steps(2'000'000);
  for (int length = 1; length <= 40; ++length) defaults.mutable_training()->add_lengths(length);
  defaults.mutable_positions()->set_randomized_by("distance");
  return defaults;
}

v1::JobSpec Example() {
  v1::JobSpec spec = Defaults();
  spec.set_experiment("algorithmic");
  spec.set_task("even_pairs");
  spec.set_encoding("rope");
  spec.set_randomized(true);
  spec.set_learning_rate(0.0003);
  spec.set_seed(2);
  return spec;
}

void SetLengths(v1::JobSpec& spec, std::initializer_list<int> lengths) {
  spec.mutable_training()->clear_lengths();
  for (const int length : lengths) spec.mutable_training()->add_lengths(length);
}

TEST(CanonicalTest, LeavesDefaultsOutAndSortsByPath) {
  v1::JobSpec spec = Example();
  spec.mutable_training()->set_steps(100);
  spec.mutable_model()->set_dropout(0.1);

  EXPECT_EQ(CanonicalText(spec, Defaults()),
            "longreach-job/1\n"
            "encoding=rope\n"
            "experiment=algorithmic\n"
            "learning_rate=0.0003\n"
            "model.dropout=0.1\n"
            "randomized=true\n"
            "seed=2\n"
            "task=even_pairs\n"
            "training.steps=100\n");
}

TEST(CanonicalTest, AFieldThatIsAbsentIsTheSameAsItsDefault) {
  v1::JobSpec sparse = Example();
  sparse.clear_model();
  sparse.clear_training();
  sparse.clear_positions();

  EXPECT_EQ(CanonicalText(sparse, Defaults()), CanonicalText(Example(), Defaults()));
}

TEST(CanonicalTest, ZeroThatIsNotTheDefaultIsWritten) {
  v1::JobSpec spec = Example();
  spec.mutable_training()->set_steps(0);

  EXPECT_THAT(CanonicalText(spec, Defaults()), HasSubstr("training.steps=0\n"));
}

TEST(CanonicalTest, MinusZeroIsZero) {
  v1::JobSpec spec = Example();
  spec.mutable_model()->set_dropout(-0.0);

  EXPECT_THAT(CanonicalText(spec, Defaults()), HasSubstr("model.dropout=0\n"));
}

TEST(CanonicalTest, WritesThreeOrMoreConsecutiveIntegersAsARange) {
  v1::JobSpec spec = Example();
  SetLengths(spec, {1, 2, 5, 6, 7, 9, 20, 21, 22, 23});
  EXPECT_THAT(CanonicalText(spec, Defaults()), HasSubstr("training.lengths=1,2,5..7,9,20..23\n"));

  SetLengths(spec, {7, 6, 5, 5});
  EXPECT_THAT(CanonicalText(spec, Defaults()), HasSubstr("training.lengths=7,6,5,5\n"));
}

TEST(CanonicalTest, NamesTheElementsOfRepeatedMessages) {
  v1::JobSpec spec = Example();
  v1::JobInput* input = spec.add_inputs();
  input->set_name("weights");
  input->set_job(std::string(64, 'a'));
  input->set_artifact("weights");
  input = spec.add_inputs();
  input->set_name("scale");
  input->set_metric("best_scale");

  const std::string text = CanonicalText(spec, Defaults());

  EXPECT_THAT(text, HasSubstr("inputs.scale.metric=best_scale\ninputs.weights.artifact=weights\ninputs.weights.job=aaaa"));
}

// What the pinned text and hash of this test say was promised to every store there is: if this test fails, the change
// would make every finished job run again. Revise the catalog's revisions instead.
TEST(CanonicalTest, TheIdentityOfAKnownJobNeverChanges) {
  v1::JobSpec spec = Example();
  SetLengths(spec, {1, 2, 3, 10});
  spec.mutable_model()->set_dropout(1e-5);
  spec.mutable_evaluation()->set_examples(16);

  const std::string text = CanonicalText(spec, Defaults());

  EXPECT_EQ(text,
            "longreach-job/1\nencoding=rope\nevaluation.examples=16\nexperiment=algorithmic\nlearning_rate=0.0003\n"
            "model.dropout=1e-05\nrandomized=true\nseed=2\ntask=even_pairs\ntraining.lengths=1..3,10\n");
  EXPECT_EQ(JobIdOf(text).value, "4aa34117362b44fd3fdffbdf5837de8e72346ed08b8bcdaf87a129799f077cd7");
}

TEST(CanonicalTest, ReadsBackWhatItWrote) {
  v1::JobSpec spec = Example();
  SetLengths(spec, {1, 2, 3, 10});
  spec.set_data("odd=name,\\with\nall\\n kinds");
  v1::JobInput* input = spec.add_inputs();
  input->set_name("a.b=c");
  input->set_job("x");
  spec.add_inputs()->set_name("nothing_else");
  spec.mutable_training()->set_data_seed(4294967295u);
  const v1::JobSpec none;  // Nothing is left out then.

  const absl::StatusOr<v1::JobSpec> back = ParseCanonicalJob(CanonicalText(spec, none));

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*back, spec)) << back->DebugString();
}

TEST(CanonicalTest, ASweepReadsBackWithTheSpecificationOfItsInputs) {
  v1::SweepSpec spec;
  spec.set_name("s");
  spec.mutable_axes()->add_task("even_pairs");
  spec.mutable_axes()->add_task("a,b");
  spec.mutable_axes()->add_learning_rate(1e-4);
  spec.mutable_axes()->add_seed(0);
  v1::Input* input = spec.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  input->mutable_from()->mutable_training()->set_steps(10);

  const std::string text = CanonicalText(spec, v1::SweepSpec());
  const absl::StatusOr<v1::SweepSpec> back = ParseCanonicalSweep(text);

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*back, spec)) << text << back->DebugString();
}

std::string Refusal(std::string_view body) {
  const absl::StatusOr<v1::JobSpec> spec = ParseCanonicalJob("longreach-job/1\n" + std::string(body));
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << body;
  return std::string(spec.status().message());
}

TEST(CanonicalTest, ReadsBackMoreThanAMillionSeeds) {
  constexpr int kSeeds = 1'000'001;
  v1::SweepSpec spec;
  spec.set_name("large");
  for (uint32_t seed = 0; seed < kSeeds; ++seed) spec.mutable_axes()->add_seed(seed);

  const absl::StatusOr<v1::SweepSpec> read = ParseCanonicalSweep(CanonicalText(spec, {}));

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->axes().seed_size(), kSeeds);
}

TEST(CanonicalTest, RefusesListsWhoseRangesTogetherAreTooLong) {
  EXPECT_THAT(Refusal("training.lengths=1..2,1..9999999\n"), HasSubstr("more than 10000000 integers"));
}

TEST(CanonicalTest, ARangeIsTheIntegersInItAsTheFieldHasThem) {
  const auto axes = [](const std::string& line) {
    const absl::StatusOr<v1::SweepSpec> read = ParseCanonicalSweep("longreach-sweep/1\n" + line);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->axes() : v1::Axes();
  };
  EXPECT_THAT(axes("axes.seed=9,2..4,4294967294..4294967295\n").seed(), ElementsAre(9u, 2u, 3u, 4u, 4294967294u, 4294967295u));
  EXPECT_THAT(axes("axes.learning_rate=1..3\n").learning_rate(), ElementsAre(1.0, 2.0, 3.0));
  const absl::StatusOr<v1::SweepSpec> lengths = ParseCanonicalSweep("longreach-sweep/1\ntraining.lengths=-1..1,2147483647..2147483647\n");
  ASSERT_TRUE(lengths.ok()) << lengths.status();
  EXPECT_THAT(lengths->training().lengths(), ElementsAre(-1, 0, 1, 2147483647));

  EXPECT_THAT(Refusal("training.lengths=2147483646..2147483649\n"), HasSubstr("training.lengths: 2147483648 is out of range"));
  for (const auto& [range, first] : {std::pair("-2..1", "-2"), std::pair("4294967294..4294967297", "4294967296")}) {
    const absl::Status refused = ParseCanonicalSweep(std::string("longreach-sweep/1\naxes.seed=") + range + "\n").status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr(std::string("axes.seed: ") + first + " is out of range"));
  }
}

TEST(CanonicalTest, RefusesWhatItWouldNotHaveWritten) {
  EXPECT_THAT(Refusal("encodng=rope\n"), HasSubstr("unknown field 'encodng'"));
  EXPECT_THAT(Refusal("encodng=rope\n"), HasSubstr("did you mean 'encoding'?"));
  EXPECT_THAT(Refusal("training.stesp=1\n"), HasSubstr("did you mean 'steps'?"));
  EXPECT_THAT(Refusal("training=1\n"), HasSubstr("takes no value"));
  EXPECT_THAT(Refusal("task.name=1\n"), HasSubstr("has no fields"));
  EXPECT_THAT(Refusal("training.steps=1.5\n"), HasSubstr("'1.5' is not an integer"));
  EXPECT_THAT(Refusal("training.steps=2147483648\n"), HasSubstr("not an integer"));
  EXPECT_THAT(Refusal("seed=-1\n"), HasSubstr("not an integer"));
  EXPECT_THAT(Refusal("randomized=yes\n"), HasSubstr("not true or false"));
  EXPECT_THAT(Refusal("learning_rate=fast\n"), HasSubstr("not a number"));
  EXPECT_THAT(Refusal("training.lengths=5..2\n"), HasSubstr("not a range"));
  EXPECT_THAT(Refusal("training.lengths=1..999999999999\n"), HasSubstr("not a range"));
  EXPECT_THAT(Refusal("training.lengths=-9223372036854775808..9223372036854775807\n"), HasSubstr("not a range"));
  EXPECT_THAT(Refusal("task=a\nencoding=b\n"), HasSubstr("does not come after"));
  EXPECT_THAT(Refusal("task=a\ntask=b\n"), HasSubstr("does not come after"));
  EXPECT_THAT(Refusal("task\n"), HasSubstr("path=value"));
  EXPECT_THAT(Refusal("task=a"), HasSubstr("cut off"));
  EXPECT_EQ(ParseCanonicalJob("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseCanonicalJob("longreach-job/2\n").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseCanonicalJob("longreach-sweep/1\n").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PackKeyTest, IgnoresLearningRateSeedAndTheJobsOfInputsButNothingElse) {
  v1::JobSpec spec = Example();
  v1::JobInput* input = spec.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  input->set_job(std::string(64, 'a'));
  const auto key = [](const v1::JobSpec& of) { return PackKeyOf(CanonicalText(of, Defaults())); };
  const std::string before = key(spec);

  v1::JobSpec other = spec;
  other.set_learning_rate(1);
  other.set_seed(9);
  other.mutable_inputs(0)->set_job(std::string(64, 'b'));
  EXPECT_EQ(key(other), before);

  v1::JobSpec data_seed = spec;
  data_seed.mutable_training()->set_data_seed(1);
  EXPECT_NE(key(data_seed), before);
  v1::JobSpec task = spec;
  task.set_task("bucket_sort");
  EXPECT_NE(key(task), before);
  v1::JobSpec artifact = spec;
  artifact.mutable_inputs(0)->set_artifact("checkpoint");
  EXPECT_NE(key(artifact), before);
}

TEST(UnknownFieldsTest, AreRefusedAtAnyDepth) {
  v1::SweepSpec spec;
  EXPECT_TRUE(RefuseUnknownFields(spec).ok());
  v1::Model* model = spec.add_inputs()->mutable_from()->mutable_model();
  model->GetReflection()->MutableUnknownFields(model)->AddVarint(99, 1);

  const absl::Status refused = RefuseUnknownFields(spec);

  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Model holds field number 99"));
}

}  // namespace
}  // namespace longreach
