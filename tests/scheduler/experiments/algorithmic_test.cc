#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/catalog/catalog.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {
namespace {

using ::testing::HasSubstr;

v1::SweepSpec AlgorithmicSweep() {
  v1::SweepSpec sweep;
  sweep.set_name("test");
  sweep.set_experiment("algorithmic");
  sweep.mutable_axes()->add_task("even_pairs");
  sweep.mutable_axes()->add_encoding("rope");
  sweep.mutable_axes()->add_learning_rate(3e-4);
  sweep.mutable_axes()->add_seed(0);
  return sweep;
}

v1::SweepSpec WithEncoding(const std::string& encoding) {
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_axes()->set_encoding(0, encoding);
  return sweep;
}

std::string Refusal(const v1::SweepSpec& sweep, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
  EXPECT_EQ(expansion.status().code(), code) << expansion.status();
  return std::string(expansion.status().message());
}

TEST(AlgorithmicTest, NamesFieldValueAndSuggestionOfATypo) {
  EXPECT_EQ(Refusal(WithEncoding("roep")),
            "axes.encoding: unknown encoding 'roep'\n  did you mean 'rope'? 'longreach list encodings' shows all of them");
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_axes()->set_task(0, "even_pair");
  EXPECT_EQ(Refusal(sweep), "axes.task: the kind 'algorithmic' has no task 'even_pair'\n  did you mean 'even_pairs'? 'longreach list tasks' shows all of them");
  EXPECT_EQ(Refusal(WithEncoding("t5-bias")), "axes.encoding: unknown encoding 't5-bias'\n  did you mean 't5'? 'longreach list encodings' shows all of them") << "as papers have it";
  sweep.mutable_axes()->set_task(0, "square_root");
  EXPECT_EQ(Refusal(sweep), "axes.task: the kind 'algorithmic' has no task 'square_root'\n  did you mean 'compute_sqrt'? 'longreach list tasks' shows all of them");
}

TEST(AlgorithmicTest, RefusesRandomizedWhereItIsNotAdmitted) {
  EXPECT_THAT(Refusal(WithEncoding("shape:randomized")), HasSubstr("'shape:randomized': shape admits no randomized positions"));
  EXPECT_THAT(Refusal(WithEncoding("none:randomized")), HasSubstr("those that do: alibi, fire, learned, log_kerple"));
  EXPECT_THAT(Refusal(WithEncoding("rope:shuffled")), HasSubstr("only ':randomized' may follow"));
}

TEST(AlgorithmicTest, RefusesNumbersThatMakeNoSense) {
  const auto refused = [](auto change) {
    v1::SweepSpec sweep = AlgorithmicSweep();
    change(sweep);
    return Refusal(sweep);
  };
  EXPECT_EQ(refused([](auto& s) { s.mutable_training()->set_batch_size(0); }), "training.batch_size: 0 is below 1");
  EXPECT_EQ(refused([](auto& s) { s.mutable_training()->set_steps(-1); }), "training.steps: -1 is below 0");
  EXPECT_EQ(refused([](auto& s) { s.mutable_training()->add_lengths(0); }), "training.lengths: 0 is below 1");
  EXPECT_THAT(refused([](auto& s) { s.mutable_training()->set_clip_norm(0); }),
              HasSubstr("training.clip_norm: 0 is not a finite number above 0 in float32\n  to clip nothing, set a norm that no gradient has, such as 1e30"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_dropout(1); }), HasSubstr("model.dropout: 1 is not in [0, 1)"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_dropout(std::numeric_limits<double>::quiet_NaN()); }), HasSubstr("nan is not in"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_heads(7); }), HasSubstr("model.heads: 7 does not divide model.embedding_dim, 64"));
  EXPECT_EQ(refused([](auto& s) { s.mutable_model()->set_heads(0); }), "model.heads: 0 is below 1");
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_heads(64); }), HasSubstr("rope turns pairs"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_sandwich_dim(7); }), HasSubstr("odd"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_t5_buckets(33); }), HasSubstr("model.t5_buckets: 33 is odd"));
  EXPECT_EQ(refused([](auto& s) { s.mutable_model()->set_t5_buckets(2); }), "model.t5_buckets: 2 is below 4");
  EXPECT_THAT(refused([](auto& s) { s.mutable_model()->set_t5_max_distance(16); }),
              HasSubstr("model.t5_max_distance: 16 is not above 16, half of model.t5_buckets"));
  EXPECT_EQ(refused([](auto& s) { s.mutable_model()->set_fire_width(0); }), "model.fire_width: 0 is below 1");
  EXPECT_EQ(refused([](auto& s) { s.mutable_model()->set_fire_threshold(0); }), "model.fire_threshold: 0 is below 1");
  EXPECT_EQ(refused([](auto& s) { s.mutable_evaluation()->set_examples(0); }), "evaluation.examples: 0 is below 1");
  EXPECT_THAT(refused([](auto& s) {
                for (int length = 1; length <= 1001; ++length) s.mutable_evaluation()->add_lengths(length);
              }),
              HasSubstr("evaluation.lengths: 1001 lengths; at most 1000 in one job\n  a range has fewer with a step: 1..1001:2"));
  EXPECT_THAT(refused([](auto& s) {
                s.mutable_training()->add_lengths(5);
                s.mutable_training()->add_lengths(5);
              }),
              HasSubstr("training.lengths: 5 is there twice"));
  // As the trainer, which has no room for longer ones.
  EXPECT_EQ(refused([](auto& s) { s.mutable_training()->add_lengths(2049); }), "training.lengths: 2049 is above 2048");
  EXPECT_EQ(refused([](auto& s) { s.mutable_evaluation()->add_lengths(3000); }), "evaluation.lengths: 3000 is above 2048");
  EXPECT_EQ(refused([](auto& s) { s.mutable_model()->set_mlp_dim(65537); }), "model.mlp_dim: 65537 is above 65536");
  EXPECT_THAT(refused([](auto& s) { s.mutable_positions()->set_randomized_by("time"); }), HasSubstr("neither 'distance' nor 'position'"));
  EXPECT_THAT(refused([](auto& s) { s.mutable_positions()->set_shift_at_test("fixed"); }), HasSubstr("shift_max, which is 0"));
  EXPECT_THAT(refused([](auto& s) { s.set_data("enwik8"); }), HasSubstr("data: 'enwik8'"));
}

TEST(AlgorithmicTest, RefusesATapeThatThePositionsCannotHold) {
  v1::SweepSpec sweep = WithEncoding("rope:randomized");
  sweep.mutable_axes()->set_task(0, "duplicate_string");
  sweep.mutable_positions()->set_max_position(1499);
  EXPECT_EQ(Refusal(sweep),
            "positions.max_position: duplicate_string at length 500 has a tape of 1500 tokens, and rope:randomized draws that many distinct "
            "positions below 1499\n  set positions.max_position to at least 1500, or shorten evaluation.lengths and training.lengths");
  sweep.mutable_positions()->set_max_position(1500);
  EXPECT_TRUE(Expansion::Of(sweep).ok());

  // Consecutive rope draws nothing.
  sweep.mutable_axes()->set_encoding(0, "rope");
  sweep.mutable_positions()->set_max_position(10);
  EXPECT_TRUE(Expansion::Of(sweep).ok());

  sweep.mutable_axes()->set_encoding(0, "learned");
  sweep.mutable_model()->set_learned_rows(1000);
  EXPECT_THAT(Refusal(sweep), HasSubstr("model.learned_rows: duplicate_string at length 500 has a tape of 1500 tokens, and the table has 1000 rows\n"
                                        "  set model.learned_rows to at least 1500")) << "what has room for the longest has room for all";

  v1::SweepSpec shape = WithEncoding("shape");
  shape.mutable_positions()->set_shift_max(1600);
  EXPECT_TRUE(Expansion::Of(shape).ok()) << "of a long tape shifts are drawn from fewer";
  shape.mutable_positions()->set_shift_at_test("fixed");
  EXPECT_THAT(Refusal(shape), HasSubstr("even_pairs at length 500 has a tape of 501 tokens, which tests shift by 1600, and the encoding shape has 2048 positions\n"
                                        "  set positions.max_position to at least 2101"));
  shape.mutable_positions()->set_shift_at_test("zero");
  shape.mutable_positions()->set_max_position(500);
  EXPECT_THAT(Refusal(shape), HasSubstr("even_pairs at length 500 has a tape of 501 tokens, and the encoding shape has 500 positions"));
}

TEST(AlgorithmicTest, TheReleasedTableIsOnlyForRandomizedRelative) {
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_positions()->set_relative_as_released(true);
  EXPECT_THAT(Refusal(sweep), HasSubstr("no encoding is relative:randomized"));
  sweep.mutable_axes()->add_encoding("relative:randomized");
  EXPECT_TRUE(Expansion::Of(sweep).ok());
  sweep.mutable_positions()->set_randomized_by("position");
  EXPECT_THAT(Refusal(sweep), HasSubstr("set positions.randomized_by to 'distance'"));
}

TEST(AlgorithmicTest, NoStepsNeedWeights) {
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_training()->set_steps(0);
  EXPECT_THAT(Refusal(sweep), HasSubstr("0 steps train nothing"));

  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
}

TEST(AlgorithmicTest, AJobIsCompleteAndHoldsNothingThatItDoesNotUse) {
  const v1::JobSpec rope = Expansion::Of(WithEncoding("rope"))->At(0).spec;
  EXPECT_EQ(rope.training().steps(), 2'000'000);
  EXPECT_EQ(rope.training().batch_size(), 128);
  EXPECT_EQ(rope.training().lengths_size(), 40);
  EXPECT_EQ(rope.evaluation().lengths_size(), 460);
  EXPECT_EQ(rope.evaluation().lengths(0), 41);
  EXPECT_EQ(rope.evaluation().examples(), 500);
  EXPECT_EQ(rope.model().layers(), 5);
  EXPECT_TRUE(rope.revisions().has_task());
  EXPECT_FALSE(rope.model().has_sandwich_dim());
  EXPECT_FALSE(rope.model().has_t5_buckets());
  EXPECT_FALSE(rope.model().has_t5_max_distance());
  EXPECT_FALSE(rope.model().has_fire_width());
  EXPECT_FALSE(rope.model().has_fire_threshold());
  EXPECT_FALSE(rope.model().has_fire_shared());
  EXPECT_FALSE(rope.positions().has_max_position());

  const v1::JobSpec kerple = Expansion::Of(WithEncoding("log_kerple:randomized"))->At(0).spec;
  EXPECT_TRUE(kerple.randomized());
  EXPECT_EQ(kerple.encoding(), "log_kerple");
  EXPECT_EQ(kerple.positions().max_position(), 2048);
  EXPECT_EQ(kerple.positions().randomized_by(), "distance");
  EXPECT_TRUE(kerple.model().has_kerple_shared());

  const v1::JobSpec t5 = Expansion::Of(WithEncoding("t5"))->At(0).spec;
  EXPECT_EQ(t5.model().t5_buckets(), 32);
  EXPECT_EQ(t5.model().t5_max_distance(), 128);
  EXPECT_FALSE(t5.model().has_kerple_shared());

  const v1::JobSpec fire = Expansion::Of(WithEncoding("fire"))->At(0).spec;
  EXPECT_EQ(fire.model().fire_width(), 32);
  EXPECT_EQ(fire.model().fire_threshold(), 16);
  EXPECT_TRUE(fire.model().has_fire_shared());
  EXPECT_FALSE(fire.model().has_t5_buckets());
}

TEST(AlgorithmicTest, ADecoderIsAnotherJobAndAnEncoderTheOneItWas) {
  v1::SweepSpec sweep = WithEncoding("log_kerple");
  const JobId encoder = Expansion::Of(sweep)->At(0).id;
  sweep.mutable_model()->set_causal(false);
  EXPECT_EQ(Expansion::Of(sweep)->At(0).id, encoder);
  sweep.mutable_model()->set_causal(true);
  Expansion decoders = *Expansion::Of(sweep);
  EXPECT_NE(decoders.At(0).id, encoder);
  EXPECT_TRUE(decoders.At(0).spec.model().causal());
  // even_pairs reads two letters and writes two: two more rows of the embedding.
  EXPECT_DOUBLE_EQ(decoders.kind().CostOf(decoders.At(0).spec).checkpoint_bytes, 12.0 * (248'962 + 80 + 2 * 64));
  EXPECT_EQ(decoders.kind().MeasurementsOf(decoders.At(0).spec), 3 * 461);

  sweep.mutable_model()->set_break_symmetry(true);
  EXPECT_THAT(Refusal(sweep), HasSubstr("model.break_symmetry: true: with model.causal the model looks back only"));
  v1::SweepSpec released = WithEncoding("relative:randomized");
  released.mutable_model()->set_causal(true);
  released.mutable_positions()->set_relative_as_released(true);
  EXPECT_THAT(Refusal(released), HasSubstr("positions.relative_as_released: true: with model.causal"));
}

TEST(AlgorithmicTest, WeightsOfAnEncoderDoNotFitIntoADecoder) {
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_model()->set_causal(true);
  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  *input->mutable_from()->mutable_model() = v1::Model();
  input->mutable_from()->mutable_model()->set_causal(false);
  EXPECT_THAT(Refusal(sweep), HasSubstr("inputs.weights.from: model.causal is false there and true here"));
}

TEST(AlgorithmicTest, PreNormBlocksAreAnotherJobAndPostNormOnesTheOneItWas) {
  v1::SweepSpec sweep = WithEncoding("none");
  const JobId usual = Expansion::Of(sweep)->At(0).id;
  sweep.mutable_model()->set_norm("post");
  EXPECT_EQ(Expansion::Of(sweep)->At(0).id, usual);
  sweep.mutable_model()->set_norm("pre");
  Expansion pre = *Expansion::Of(sweep);
  EXPECT_NE(pre.At(0).id, usual);
  EXPECT_EQ(pre.At(0).spec.model().norm(), "pre");
  // One more norm of 64 scales and offsets.
  EXPECT_DOUBLE_EQ(pre.kind().CostOf(pre.At(0).spec).checkpoint_bytes, 12.0 * (248'962 + 2 * 64));

  sweep.mutable_model()->set_norm("Pre");
  EXPECT_EQ(Refusal(sweep), "model.norm: 'Pre' is neither 'post' nor 'pre'");
}

TEST(AlgorithmicTest, AttentionByTheNumberOfKeysIsAnotherJobAndNoneTheOneItWas) {
  v1::SweepSpec sweep = WithEncoding("none");
  const JobId usual = Expansion::Of(sweep)->At(0).id;
  sweep.mutable_model()->set_length_scaling("none");
  sweep.mutable_model()->set_length_scaling_from(40);
  EXPECT_EQ(Expansion::Of(sweep)->At(0).id, usual);
  sweep.mutable_model()->set_length_scaling("log");
  const JobId log = Expansion::Of(sweep)->At(0).id;
  EXPECT_NE(log, usual);
  sweep.mutable_model()->set_length_scaling("log_beyond");
  EXPECT_NE(Expansion::Of(sweep)->At(0).id, log);

  sweep.mutable_model()->set_length_scaling("logn");
  EXPECT_EQ(Refusal(sweep), "model.length_scaling: unknown word 'logn'\n  did you mean 'log'? known: log, log_beyond, none");
  sweep.mutable_model()->set_length_scaling("log");
  sweep.mutable_model()->set_length_scaling_from(1);
  EXPECT_EQ(Refusal(sweep), "model.length_scaling_from: 1 has the logarithm 0\n  set at least 2");
  sweep.mutable_model()->set_length_scaling_from(0);
  sweep.mutable_axes()->add_encoding("relative:randomized");
  EXPECT_THAT(Refusal(sweep), HasSubstr("model.length_scaling: 'log' multiplies products of queries and keys, and relative:randomized has terms beside them"));
}

TEST(AlgorithmicTest, ValuesAtEachOutputAreCountedAndLimited) {
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_axes()->set_task(0, "reverse_string");
  Expansion plain = *Expansion::Of(sweep);
  const double before = plain.kind().MeasurementsOf(plain.At(0).spec);
  for (const int length : {60, 41}) sweep.mutable_evaluation()->add_output_lengths(length);
  Expansion expansion = *Expansion::Of(sweep);
  EXPECT_EQ(expansion.kind().MeasurementsOf(expansion.At(0).spec), before + 60 + 41 + 60);
  EXPECT_NE(expansion.At(0).id, plain.At(0).id);
  // Their order is none.
  std::ranges::reverse(*sweep.mutable_evaluation()->mutable_output_lengths());
  EXPECT_EQ(Expansion::Of(sweep)->At(0).id, expansion.At(0).id);

  sweep.mutable_evaluation()->add_output_lengths(40);
  EXPECT_THAT(Refusal(sweep), HasSubstr("evaluation.output_lengths: 40 is not among evaluation.lengths"));
  sweep.mutable_evaluation()->set_output_lengths(2, 450);
  EXPECT_THAT(Refusal(sweep), HasSubstr("evaluation.output_lengths: reverse_string has 1001 values at outputs of these lengths and over them, more than 1000"));
  sweep.mutable_axes()->set_task(0, "even_pairs");  // One output.
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
}

// Weights fit: it is a way to test them, too.
TEST(AlgorithmicTest, AttentionByTheNumberOfKeysOfATestAloneSaysFromWhere) {
  v1::SweepSpec sweep = WithEncoding("none");
  sweep.mutable_model()->set_length_scaling("log_beyond");
  sweep.mutable_training()->set_steps(0);
  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  input->mutable_from()->mutable_model();
  EXPECT_THAT(Refusal(sweep), HasSubstr("model.length_scaling_from: is not given, and there is no training to take it from"));
  sweep.mutable_model()->set_length_scaling_from(80);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
}

TEST(AlgorithmicTest, WeightsOfPostNormBlocksDoNotFitIntoPreNormOnes) {
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_model()->set_norm("pre");
  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  input->mutable_from()->mutable_model()->set_norm("post");
  EXPECT_THAT(Refusal(sweep), HasSubstr("inputs.weights.from: model.norm is 'post' there and 'pre' here"));
}

// A model that the input says something of is its own: it has nothing of the sweep's.
TEST(AlgorithmicTest, WeightsOfFireAreOfTheThresholdThatTheirLIsAMultipleOf) {
  v1::SweepSpec sweep = WithEncoding("fire");
  sweep.mutable_model()->set_fire_threshold(5);
  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  input->mutable_from()->mutable_model()->set_dropout(0);
  EXPECT_THAT(Refusal(sweep), HasSubstr("inputs.weights.from: model.fire_threshold is 16 there and 5 here, so its parameters do not fit"));
  input->mutable_from()->mutable_model()->set_fire_threshold(5);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  // Nothing to another encoding.
  sweep.mutable_axes()->set_encoding(0, "rope");
  input->mutable_from()->mutable_model()->set_fire_threshold(16);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
}

TEST(AlgorithmicTest, WeightsOfT5AreOfTheDistancesThatTheirBucketsHave) {
  v1::SweepSpec sweep = WithEncoding("t5");
  sweep.mutable_model()->set_t5_max_distance(32);
  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  input->mutable_from()->mutable_model()->set_t5_max_distance(64);
  EXPECT_THAT(Refusal(sweep), HasSubstr("inputs.weights.from: model.t5_max_distance is 64 there and 32 here, so its parameters do not fit"));
  // Nothing to another encoding.
  sweep.mutable_axes()->set_encoding(0, "rope");
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
}

// Of one layer they are as many, so that their number says nothing.
TEST(AlgorithmicTest, WeightsOfOneSetForAllLayersDoNotFitIntoSetsOfEachLayer) {
  v1::SweepSpec sweep = WithEncoding("fire");
  sweep.mutable_model()->set_layers(1);
  v1::Input* input = sweep.add_inputs();
  input->set_name("weights");
  input->set_artifact("weights");
  v1::Model& theirs = *input->mutable_from()->mutable_model();
  theirs.set_layers(1);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  theirs.set_kerple_shared(true);  // Nothing to FIRE.
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  theirs.set_fire_shared(true);
  EXPECT_THAT(Refusal(sweep), HasSubstr("inputs.weights.from: model.fire_shared is true there and false here, so its parameters do not fit"));

  sweep.mutable_axes()->set_encoding(0, "log_kerple");
  EXPECT_THAT(Refusal(sweep), HasSubstr("inputs.weights.from: model.kerple_shared is true there and false here"));
  sweep.mutable_model()->set_kerple_shared(true);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
}

TEST(AlgorithmicTest, SettingsThatAJobDoesNotUseMakeNoOtherJob) {
  const JobId before = Expansion::Of(AlgorithmicSweep())->At(0).id;
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_model()->set_sandwich_dim(64);
  sweep.mutable_model()->set_t5_buckets(64);
  sweep.mutable_model()->set_t5_max_distance(64);
  sweep.mutable_model()->set_fire_width(64);
  sweep.mutable_model()->set_fire_threshold(64);
  sweep.mutable_model()->set_fire_shared(true);
  sweep.mutable_model()->set_kerple_shared(true);
  sweep.mutable_positions()->set_max_position(4096);
  sweep.mutable_positions()->set_randomized_by("position");
  EXPECT_EQ(Expansion::Of(sweep)->At(0).id, before);

  sweep.mutable_axes()->set_encoding(0, "sandwich");
  v1::SweepSpec plain = WithEncoding("sandwich");
  EXPECT_NE(Expansion::Of(sweep)->At(0).id, Expansion::Of(plain)->At(0).id);
}

TEST(AlgorithmicTest, SayingADefaultOrSortingLengthsMakesNoOtherJobOrSweep) {
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_training()->set_steps(2'000'000);
  for (int length = 40; length >= 1; --length) sweep.mutable_training()->add_lengths(length);
  Expansion said = *Expansion::Of(sweep);
  Expansion unsaid = *Expansion::Of(AlgorithmicSweep());
  EXPECT_EQ(said.id(), unsaid.id());
  EXPECT_EQ(said.At(0).id, unsaid.At(0).id);
}

// Cost by the formula of chomsky.md section 9, with its own figures: 4.4 GFLOP an update for tasks with one output at
// lengths 1..40, about 0.9e16 for a unit, 248 962 parameters for even_pairs.
TEST(AlgorithmicTest, CostsAreThoseOfTheReference) {
  Expansion expansion = *Expansion::Of(WithEncoding("none"));
  const Cost cost = expansion.kind().CostOf(expansion.At(0).spec);
  EXPECT_NEAR(cost.flops, 0.9e16, 0.05e16);
  EXPECT_DOUBLE_EQ(cost.checkpoint_bytes, 12.0 * 248'962);

  v1::SweepSpec one = AlgorithmicSweep();
  one.mutable_training()->set_steps(1);
  one.mutable_training()->set_batch_size(2);
  one.mutable_training()->add_lengths(3);
  one.mutable_evaluation()->add_lengths(4);
  one.mutable_evaluation()->set_examples(7);
  const auto forward = [](double t) { return t * (2 * 64 * 3 + 491'520 + 128 * 2) + 1280 * t * t; };
  Expansion small = *Expansion::Of(one);
  EXPECT_DOUBLE_EQ(small.kind().CostOf(small.At(0).spec).flops, 3 * 2 * forward(4) + 7 * forward(5));

  const auto parameters = [](const std::string& encoding) {
    Expansion of = *Expansion::Of(WithEncoding(encoding));
    return of.kind().CostOf(of.At(0).spec).checkpoint_bytes / 12;
  };
  EXPECT_DOUBLE_EQ(parameters("relative"), 248'962 + 21'120);
  EXPECT_DOUBLE_EQ(parameters("log_kerple"), 248'962 + 80);
  EXPECT_DOUBLE_EQ(parameters("learned"), 248'962 + 64 * 2048);
  EXPECT_DOUBLE_EQ(parameters("t5"), 248'962 + 32 * 8);
  EXPECT_DOUBLE_EQ(parameters("fire"), 248'962 + 5 * (2 + 2 * 32 + 32 * 8));
}

TEST(AlgorithmicTest, EveryTaskAndEncodingOfTheCatalogExpands) {
  v1::SweepSpec sweep = AlgorithmicSweep();
  sweep.mutable_axes()->clear_task();
  sweep.mutable_axes()->clear_encoding();
  int encodings = 0;
  for (const catalog::Task& task : catalog::Tasks()) sweep.mutable_axes()->add_task(std::string(task.name));
  for (const catalog::Encoding& encoding : catalog::Encodings()) {
    sweep.mutable_axes()->add_encoding(std::string(encoding.name));
    ++encodings;
    if (!(encoding.positions & catalog::kRandomized)) continue;
    sweep.mutable_axes()->add_encoding(std::string(encoding.name) + ":randomized");
    ++encodings;
  }
  const absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
  ASSERT_TRUE(expansion.ok()) << expansion.status();
  EXPECT_EQ(expansion->size(), static_cast<int64_t>(catalog::Tasks().size()) * encodings);
}

// Of an encoding that is trained and counted without parameters, weights of another one would be taken for its own; of one that looks at
// distances alone, jobs that differ in how these are drawn would be one job.
TEST(AlgorithmicTest, WhatTheCatalogSaysOfAnEncodingIsInItsJobs) {
  for (const catalog::Encoding& encoding : catalog::Encodings()) {
    v1::SweepSpec sweep = AlgorithmicSweep();
    sweep.mutable_axes()->clear_encoding();
    const bool randomized = (encoding.positions & catalog::kRandomized) != 0;
    sweep.mutable_axes()->add_encoding(std::string(encoding.name) + (randomized ? ":randomized" : ""));
    sweep.mutable_positions()->set_randomized_by("position");
    absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
    ASSERT_TRUE(expansion.ok()) << expansion.status();
    const v1::JobSpec job = expansion->At(0).spec;
    EXPECT_EQ(EncodingParameters(job) > 0, encoding.Has(catalog::kTrained)) << encoding.name;
    EXPECT_EQ(job.positions().has_randomized_by(), randomized && encoding.Has(catalog::kOfDistance)) << encoding.name;
  }
}

}  // namespace
}  // namespace longreach::experiments
