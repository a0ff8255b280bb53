// The kinds "language" and "images": what Tables 1 to 3 expand to, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "proto/catalog/catalog.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/registry.h"
#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::SweepSpec Language(const std::vector<std::string>& encodings = {"rope"}) {
  v1::SweepSpec sweep;
  sweep.set_name("words");
  sweep.set_experiment("language");
  sweep.mutable_axes()->add_task("enwik8");
  for (const std::string& encoding : encodings) sweep.mutable_axes()->add_encoding(encoding);
  sweep.mutable_axes()->add_learning_rate(1e-4);
  sweep.mutable_axes()->add_seed(0);
  return sweep;
}

v1::SweepSpec Images() {
  v1::SweepSpec sweep = Language();
  sweep.set_experiment("images");
  sweep.mutable_axes()->set_task(0, "imagenet");
  sweep.mutable_axes()->set_learning_rate(0, 1e-5);
  return sweep;
}

TEST(DataKindsTest, AJobHasThePapersSettings) {
  const v1::JobSpec words = JobOf(Language());
  EXPECT_EQ(words.data(), "enwik8");
  EXPECT_EQ(words.model().layers(), 8);
  EXPECT_EQ(words.model().embedding_dim(), 256);
  EXPECT_EQ(words.training().steps(), 1'000'000);
  EXPECT_EQ(words.training().batch_size(), 64);
  EXPECT_EQ(words.training().lengths(0), 256);
  EXPECT_EQ(words.evaluation().lengths(1), 1024);
  EXPECT_FALSE(words.model().has_decoder_layers());

  const v1::JobSpec images = JobOf(Images());
  EXPECT_EQ(images.data(), "imagenet");
  EXPECT_EQ(images.training().batch_size(), 32);
  EXPECT_EQ(images.training().lengths(0), 506);
  EXPECT_EQ(images.model().classes(), 1000);
  EXPECT_TRUE(images.model().count_delimiters());
}

TEST(DataKindsTest, AttentionByTheNumberOfKeysIsOfText) {
  v1::SweepSpec words = Language();
  EXPECT_EQ(JobOf(words).model().length_scaling(), "none");
  EXPECT_FALSE(JobOf(words).model().has_length_scaling_from());
  words.mutable_model()->set_length_scaling("log");
  EXPECT_EQ(JobOf(words).model().length_scaling_from(), 0) << "that of the training";
  EXPECT_NE(Expansion::Of(words)->At(0).id, Expansion::Of(Language())->At(0).id);
  words.mutable_model()->set_length_scaling("long");
  EXPECT_THAT(Refused(words), HasSubstr("model.length_scaling: unknown word 'long'"));
  words = Language({"rope", "relative"});
  words.mutable_model()->set_length_scaling("log");
  EXPECT_THAT(Refused(words), HasSubstr("model.length_scaling: 'log' multiplies products of queries and keys, and relative has terms beside them"));
  v1::SweepSpec images = Images();
  images.mutable_model()->set_length_scaling("log");
  EXPECT_THAT(Refused(images), HasSubstr("model.length_scaling: is a setting of the kinds 'algorithmic', 'language' and 'sequences', not of 'images'"));
}

TEST(DataKindsTest, FiresThresholdIsAQuarterOfWhatIsTrained) {
  v1::SweepSpec words = Language({"fire"}), images = Images();
  images.mutable_axes()->set_encoding(0, "fire");
  EXPECT_EQ(JobOf(words).model().fire_threshold(), 64);
  EXPECT_EQ(JobOf(images).model().fire_threshold(), 128);
  // Another one is another job, as the algorithmic tasks' own.
  words.mutable_model()->set_fire_threshold(16);
  EXPECT_NE(Expansion::Of(words)->At(0).id, Expansion::Of(Language({"fire"}))->At(0).id);
}

TEST(DataKindsTest, OtherDataUnderTheSameTaskIsAnotherJob) {
  v1::SweepSpec other = Language();
  other.set_data("headers");
  EXPECT_EQ(JobOf(other).data(), "headers");
  EXPECT_NE(Expansion::Of(other)->At(0).id, Expansion::Of(Language())->At(0).id);
  // Saying what is meant anyway is not.
  other.set_data("enwik8");
  EXPECT_EQ(Expansion::Of(other)->At(0).id, Expansion::Of(Language())->At(0).id);
}

TEST(DataKindsTest, PositionsReachFurtherWhereATapeIsLonger) {
  v1::SweepSpec sweep = Images();
  sweep.mutable_axes()->set_encoding(0, "rope:randomized");
  EXPECT_EQ(JobOf(sweep).positions().max_position(), 2048);
  // 45 rows of 45 pixels with a delimiter each: 2070 tokens.
  sweep.mutable_model()->set_count_delimiters(false);
  EXPECT_EQ(JobOf(sweep).positions().max_position(), 4096);
  sweep.mutable_axes()->set_encoding(0, "learned");
  EXPECT_EQ(JobOf(sweep).model().learned_rows(), 4096);
  // What is asked for is not overruled.
  sweep.mutable_axes()->set_encoding(0, "rope:randomized");
  sweep.mutable_positions()->set_max_position(2048);
  EXPECT_THAT(Refused(sweep), HasSubstr("a tape of 2070 tokens"));
}

TEST(DataKindsTest, FineTuningBeginsWithTheJobOfTable1) {
  v1::SweepSpec sweep = Language({"rope", "rope:randomized", "alibi"});
  for (const uint32_t seed : {1u, 2u}) sweep.mutable_axes()->add_seed(seed);
  v1::Input& input = *sweep.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  input.mutable_from()->mutable_axes()->add_encoding("rope");
  v1::SweepSpec table_1 = Language({"rope"});
  for (const uint32_t seed : {1u, 2u}) table_1.mutable_axes()->add_seed(seed);
  for (const std::string data : {"", "headers"}) {
    sweep.set_data(data);
    table_1.set_data(data);
    if (!data.empty()) {
      // Whatever is set for the one is set for the other.
      for (v1::SweepSpec* both : {&sweep, &table_1}) {
        both->mutable_training()->set_steps(7);
        both->mutable_model()->set_layers(3);
        both->mutable_evaluation()->set_examples(5);
      }
    }
    Expansion tuned = *Expansion::Of(sweep);
    Expansion pretrained = *Expansion::Of(table_1);
    ASSERT_EQ(tuned.size(), 9);
    std::set<std::string> makers, theirs;
    for (int64_t i = 0; i < 9; ++i) {
      const ExpandedJob job = tuned.At(i);
      ASSERT_EQ(job.prerequisites.size(), 1u);
      EXPECT_EQ(job.prerequisites[0].spec.seed(), job.spec.seed());
      makers.insert(job.prerequisites[0].id.value);
      EXPECT_NE(job.id, job.prerequisites[0].id);
    }
    for (int64_t i = 0; i < 3; ++i) theirs.insert(pretrained.At(i).id.value);
    EXPECT_EQ(makers, theirs);
  }
}

TEST(DataKindsTest, AJobThatOnlyEvaluatesLendsNoTraining) {
  v1::SweepSpec sweep = Language();
  sweep.mutable_training()->set_steps(0);
  v1::Input& input = *sweep.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  const ExpandedJob job = Expansion::Of(sweep)->At(0);
  EXPECT_EQ(job.prerequisites.at(0).spec.training().steps(), 1'000'000);
  input.mutable_from()->mutable_training()->set_steps(9);
  EXPECT_EQ(Expansion::Of(sweep)->At(0).prerequisites.at(0).spec.training().steps(), 9);
}

TEST(DataKindsTest, ParametersOfAnotherEncodingDoNotFit) {
  v1::SweepSpec sweep = Language({"relative"});
  v1::Input& input = *sweep.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  input.mutable_from()->mutable_axes()->add_encoding("rope");
  EXPECT_THAT(Refused(sweep), HasSubstr("the number of the encoding's parameters"));
}

// A row for each grey level is not two rows for all of them: the trainer would say so by a tensor's name.
TEST(DataKindsTest, PixelsOfWeightsBecomeVectorsAsTheJobs) {
  v1::SweepSpec sweep = Images();
  sweep.mutable_model()->set_pixel_embedding("linear");
  v1::Input& input = *sweep.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  input.mutable_from()->mutable_model()->set_pixel_embedding("lookup");
  EXPECT_THAT(Refused(sweep), HasSubstr("inputs.weights.from: model.pixel_embedding is 'lookup' there and 'linear' here, so its parameters do not fit"));
}

TEST(DataKindsTest, AttentionIsKeptOfTestLengthsAndWithinBounds) {
  v1::SweepSpec sweep = Language();
  for (const int length : {256, 1024}) sweep.mutable_evaluation()->add_lengths(length);
  sweep.mutable_evaluation()->add_attention_lengths(1024);
  sweep.mutable_evaluation()->add_attention_lengths(256);
  EXPECT_EQ(JobOf(sweep).evaluation().attention_lengths(0), 256);
  // Only where it is asked for it makes another job.
  EXPECT_NE(Expansion::Of(sweep)->At(0).id, Expansion::Of(Language())->At(0).id);
  sweep.mutable_evaluation()->set_attention_lengths(0, 1000);
  EXPECT_THAT(Refused(sweep), HasSubstr("evaluation.attention_lengths: 1000 is not among evaluation.lengths"));
  sweep.mutable_evaluation()->set_attention_lengths(0, 256);
  EXPECT_THAT(Refused(sweep), HasSubstr("evaluation.attention_lengths: 256 is there twice"));
  // 8 layers of 2896 x 2896 are the last that fit.
  v1::SweepSpec long_one = Language();
  long_one.mutable_evaluation()->add_lengths(2896);
  long_one.mutable_evaluation()->add_attention_lengths(2896);
  EXPECT_TRUE(Expansion::Of(long_one).ok()) << Expansion::Of(long_one).status();
  long_one.mutable_evaluation()->set_lengths(0, 2897);
  long_one.mutable_evaluation()->set_attention_lengths(0, 2897);
  EXPECT_THAT(Refused(long_one), HasSubstr("at length 2897 has a tape of 2897 tokens"));
}

TEST(DataKindsTest, RefusesWhatItCannotCompute) {
  v1::SweepSpec task = Language();
  task.mutable_axes()->set_task(0, "imagenet");
  EXPECT_THAT(Refused(task), HasSubstr("axes.task: the kind 'language' has no task 'imagenet'\n  it is one of 'experiment: images'; known: enwik8"));
  v1::SweepSpec switched = Language();
  switched.mutable_model()->set_classes(10);
  EXPECT_THAT(Refused(switched), HasSubstr("model.classes: is a setting of the kind 'images'"));
  v1::SweepSpec sides = Language({"alibi"});
  sides.mutable_model()->set_break_symmetry(true);
  EXPECT_THAT(Refused(sides), HasSubstr("looks back only"));
  v1::SweepSpec prime = Images();
  prime.mutable_evaluation()->add_lengths(1);
  EXPECT_THAT(Refused(prime), HasSubstr("no pixel is left"));
  v1::SweepSpec pixels = Images();
  pixels.mutable_model()->set_pixel_embedding("convolution");
  EXPECT_THAT(Refused(pixels), HasSubstr("neither 'lookup' nor 'linear'"));
  v1::SweepSpec algorithmic = Language();
  algorithmic.set_experiment("algorithmic");
  EXPECT_THAT(Refused(algorithmic), HasSubstr("the kind 'algorithmic' has no task 'enwik8'\n  it is one of 'experiment: language'; "));
}

// By hand: a block has 4 d^2 + 2 d m numbers in its matrices, m + d biases and 4 d of its norms, here 788,736; with a table of 257
// rows, a head of 256 columns and its biases, and 8 blocks that is 6,441,472 numbers.
TEST(DataKindsTest, CostsAreThoseOfTheirShapes) {
  Expansion words = *Expansion::Of(Language());
  const Cost cost = words.kind().CostOf(words.At(0).spec);
  EXPECT_DOUBLE_EQ(cost.checkpoint_bytes, 12.0 * (8 * 788'736 + 256 * 257 + 257 * 256));
  EXPECT_DOUBLE_EQ(cost.memory_bytes, 16.0 * (8 * 788'736 + 256 * 257 + 257 * 256));
  // A forward pass of 256 bytes: 8 (256 (8 d^2 + 4 d m) + 4 d 256^2 / 2) + 256 2 d 513; an update is 64 of them, thrice.
  const double forward = 8.0 * (256 * (8 * 65'536 + 4 * 256 * 1024) + 2 * 256 * 65'536) + 256 * 2 * 256 * 513.0;
  v1::SweepSpec one = Language();
  one.mutable_training()->set_steps(1);
  one.mutable_evaluation()->add_lengths(256);
  one.mutable_evaluation()->set_examples(10);
  Expansion small = *Expansion::Of(one);
  EXPECT_DOUBLE_EQ(small.kind().CostOf(small.At(0).spec).flops, (3 * 64 + 10) * forward);
}

TEST(DataKindsTest, FireCostsTheMemoryOfItsPairsAtTheLongestThatIsTrained) {
  const auto bytes = [](const v1::SweepSpec& sweep) { return FindKind(sweep.experiment())->CostOf(JobOf(sweep)).pair_bytes; };
  v1::SweepSpec sweep = Language({"fire"});
  for (const int length : {64, 2048}) sweep.mutable_training()->add_lengths(length);
  sweep.mutable_evaluation()->add_lengths(4096);  // Of a test only some queries are there at a time.
  // 8 layers keep 32 features of each pair, before and after ReLU: half a gigabyte each time.
  EXPECT_DOUBLE_EQ(bytes(sweep), 8 * 2 * 0.5 * 1024 * 1024 * 1024);
  sweep.mutable_model()->set_fire_width(16);
  EXPECT_DOUBLE_EQ(bytes(sweep), 8 * 0.5 * 1024 * 1024 * 1024);
  EXPECT_EQ(bytes(Language({"t5"})), 0);
  v1::Input& input = *sweep.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  sweep.mutable_training()->set_steps(0);
  EXPECT_EQ(bytes(sweep), 0) << "nothing is trained";
}

}  // namespace
}  // namespace longreach::experiments
