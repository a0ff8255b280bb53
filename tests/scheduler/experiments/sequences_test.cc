// The kind "sequences": what a job of users' own pairs has, what is refused of it, and what it costs.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/experiments/expansion.h"
#include "scheduler/experiments/registry.h"
#include "tests/scheduler/experiments/expanded.h"

namespace longreach::experiments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::SweepSpec SequencesSweep(const std::string& encoding = "rope") {
  v1::SweepSpec sweep;
  sweep.set_name("addition");
  sweep.set_experiment("sequences");
  sweep.set_data("my-addition");
  sweep.mutable_axes()->add_task("pairs");
  sweep.mutable_axes()->add_encoding(encoding);
  sweep.mutable_axes()->add_learning_rate(3e-4);
  sweep.mutable_axes()->add_seed(0);
  for (const int length : {8, 4}) sweep.mutable_training()->add_lengths(length);
  for (const int length : {16, 12}) sweep.mutable_evaluation()->add_lengths(length);
  return sweep;
}

v1::Input& AddWeights(v1::SweepSpec& sweep) {
  v1::Input& input = *sweep.add_inputs();
  input.set_name("weights");
  input.set_artifact("weights");
  return input;
}

using Change = std::function<void(v1::SweepSpec&)>;

std::string RefusedWith(const Change& change, const std::string& encoding = "rope") {
  v1::SweepSpec sweep = SequencesSweep(encoding);
  change(sweep);
  return Refused(sweep);
}

TEST(SequencesTest, AJobHasTheModelOfAlgorithmicTasksAndTheDatasOwnTests) {
  const v1::JobSpec job = JobOf(SequencesSweep());
  EXPECT_EQ(job.data(), "my-addition");
  EXPECT_EQ(job.model().layers(), 5);
  EXPECT_EQ(job.model().embedding_dim(), 64);
  EXPECT_FALSE(job.model().causal());
  EXPECT_EQ(job.model().norm(), "post");
  EXPECT_EQ(job.training().steps(), 2'000'000);
  EXPECT_EQ(job.training().batch_size(), 128);
  EXPECT_THAT(job.training().lengths(), ElementsAre(4, 8));
  EXPECT_THAT(job.evaluation().lengths(), ElementsAre(12, 16));
  EXPECT_EQ(job.evaluation().examples(), 0);
  EXPECT_FALSE(job.training().has_final_rate()) << "of a constant rate";
  EXPECT_EQ(job.revisions().task(), 1);
  EXPECT_EQ(Expansion::Of(SequencesSweep())->At(0).canonical,
            "longreach-job/1\ndata=my-addition\nencoding=rope\nevaluation.lengths=12,16\nexperiment=sequences\nlearning_rate=0.0003\ntask=pairs\n"
            "training.lengths=4,8\n");

  v1::SweepSpec unnamed = SequencesSweep();
  unnamed.clear_data();
  EXPECT_EQ(JobOf(unnamed).data(), "pairs");
}

TEST(SequencesTest, LengthsHaveNoDefault) {
  EXPECT_EQ(RefusedWith([](v1::SweepSpec& s) { s.mutable_training()->clear_lengths(); }),
            "training.lengths: is to be set: the input lengths of the data's training pairs\n"
            "  'longreach data list -o json' on a worker's machine says which there are");
  EXPECT_EQ(RefusedWith([](v1::SweepSpec& s) { s.mutable_evaluation()->clear_lengths(); }),
            "evaluation.lengths: is to be set: the input lengths of the data's test pairs\n"
            "  'longreach data list -o json' on a worker's machine says which there are");
  // A job that trains nothing needs none of its own, but what makes its weights does.
  v1::SweepSpec tests = SequencesSweep();
  *tests.mutable_training() = v1::Training();
  tests.mutable_training()->set_steps(0);
  v1::Input& input = AddWeights(tests);
  EXPECT_THAT(Refused(tests), StartsWith("inputs.weights.from.training.lengths: is to be set"));
  input.mutable_from()->mutable_training()->add_lengths(4);
  EXPECT_TRUE(Expansion::Of(tests).ok()) << Expansion::Of(tests).status();
  EXPECT_TRUE(JobOf(tests).training().lengths().empty());
  // Systems may say them.
  v1::SweepSpec systems = SequencesSweep();
  systems.mutable_training()->clear_lengths();
  v1::System& system = *systems.add_systems();
  system.set_name("short");
  system.mutable_with()->mutable_training()->add_lengths(3);
  EXPECT_TRUE(Expansion::Of(systems).ok()) << Expansion::Of(systems).status();
}

TEST(SequencesTest, RefusesWhatItCannotCompute) {
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) { s.mutable_axes()->set_task(0, "even_pairs"); }),
              HasSubstr("axes.task: the kind 'sequences' has no task 'even_pairs'\n  it is one of 'experiment: algorithmic'; known: pairs"));
  EXPECT_EQ(RefusedWith([](v1::SweepSpec& s) { s.mutable_training()->add_lengths(65'537); }), "training.lengths: 65537 is above 65536");
  EXPECT_EQ(RefusedWith([](v1::SweepSpec& s) { s.mutable_evaluation()->add_lengths(65'537); }), "evaluation.lengths: 65537 is above 65536");
  EXPECT_EQ(RefusedWith([](v1::SweepSpec& s) { s.mutable_model()->set_norm("Pre"); }), "model.norm: 'Pre' is neither 'post' nor 'pre'");
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) { s.set_data("../mine"); }), HasSubstr("data: '../mine' cannot be a data set's name"));
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) { s.mutable_model()->set_classes(10); }), HasSubstr("model.classes: is a setting of the kind 'images', not of 'sequences'"));
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) { s.mutable_training()->set_final_rate(0.5); }), HasSubstr("without training.schedule it is constant"));
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) { s.mutable_training()->set_schedule("step"); }), HasSubstr("training.schedule: 'step' is none of"));
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) { s.mutable_positions()->set_relative_as_released(true); }, "relative:randomized"),
              HasSubstr("positions.relative_as_released: true: that table was released with the kind 'algorithmic' alone"));
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) { s.mutable_model()->set_causal(true), s.mutable_model()->set_break_symmetry(true); }, "log_kerple"),
              HasSubstr("model.break_symmetry: true: with model.causal the model looks back only"));
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) { s.mutable_training()->set_steps(0); }), HasSubstr("0 steps train nothing"));
}

// Outputs are at least one symbol; how many they are the worker knows.
TEST(SequencesTest, ATapeIsRefusedWhereEvenTheShortestOutputDoesNotFit) {
  v1::SweepSpec sweep = SequencesSweep("rope:randomized");
  sweep.mutable_positions()->set_max_position(17);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  sweep.mutable_positions()->set_max_position(16);
  EXPECT_THAT(Refused(sweep), HasSubstr("positions.max_position: pairs at length 16 has a tape of 17 tokens"));
  sweep.clear_positions();
  EXPECT_EQ(JobOf(sweep).positions().max_position(), 2048);
  sweep.mutable_evaluation()->add_lengths(2048);
  EXPECT_EQ(JobOf(sweep).positions().max_position(), 4096) << "as with other data";
}

TEST(SequencesTest, OtherSettingsAreOtherJobsAndOtherPacks) {
  const std::vector<Change> changes = {
      [](v1::SweepSpec& s) { s.mutable_model()->set_causal(true); },
      [](v1::SweepSpec& s) { s.mutable_model()->set_norm("pre"); },
      [](v1::SweepSpec& s) { s.mutable_training()->set_schedule("linear"); },
      [](v1::SweepSpec& s) { s.mutable_training()->set_warmup_steps(10); },
      [](v1::SweepSpec& s) { s.set_data("other"); },
      [](v1::SweepSpec& s) { s.mutable_positions()->set_data_rows(100); },
      [](v1::SweepSpec& s) { s.mutable_positions()->set_data_rows(100), s.mutable_positions()->set_data_shift(20); },
  };
  const ExpandedJob before = Expansion::Of(SequencesSweep())->At(0);
  for (const Change& change : changes) {
    v1::SweepSpec sweep = SequencesSweep();
    change(sweep);
    absl::StatusOr<Expansion> expansion = Expansion::Of(sweep);
    ASSERT_TRUE(expansion.ok()) << expansion.status();
    const ExpandedJob job = expansion->At(0);
    EXPECT_NE(job.id, before.id);
    EXPECT_NE(job.pack_key, before.pack_key);
  }
}

TEST(SequencesTest, WeightsAreOfTheSameMake) {
  v1::SweepSpec sweep = SequencesSweep();
  sweep.mutable_model()->set_causal(true);
  v1::Input& input = AddWeights(sweep);
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << Expansion::Of(sweep).status();
  input.mutable_from()->set_data("other");
  EXPECT_TRUE(Expansion::Of(sweep).ok()) << "whether symbols are the same is known where the data is";
  input.mutable_from()->mutable_model()->set_causal(false);
  EXPECT_THAT(Refused(sweep), HasSubstr("inputs.weights.from: model.causal is false there and true here"));
  input.mutable_from()->mutable_model()->set_causal(true);
  input.mutable_from()->mutable_model()->set_norm("pre");
  EXPECT_THAT(Refused(sweep), HasSubstr("inputs.weights.from: model.norm is 'pre' there and 'post' here"));
  input.mutable_from()->mutable_model()->set_norm("post");
  input.mutable_from()->mutable_model()->set_layers(2);
  EXPECT_THAT(Refused(sweep), HasSubstr("model.layers is 2 there and 5 here"));
}

// Whether there are rows for all positions is known where the data is.
TEST(SequencesTest, PositionsOfTheDataAreReadWhereThereAreRowsForThem) {
  v1::SweepSpec sweep = SequencesSweep();
  EXPECT_EQ(JobOf(sweep).positions().data_rows(), 0);
  EXPECT_FALSE(JobOf(sweep).positions().has_data_shift());
  sweep.mutable_positions()->set_data_shift(20);
  EXPECT_FALSE(JobOf(sweep).positions().has_data_shift()) << "it may stand there for other systems";
  EXPECT_EQ(Expansion::Of(sweep)->At(0).id, Expansion::Of(SequencesSweep())->At(0).id);
  sweep.mutable_positions()->set_data_rows(21);
  EXPECT_EQ(JobOf(sweep).positions().data_rows(), 21);
  EXPECT_EQ(JobOf(sweep).positions().data_shift(), 20);
  const auto bytes = [](const v1::SweepSpec& asked) { return FindKind("sequences")->CostOf(JobOf(asked)).checkpoint_bytes; };
  EXPECT_DOUBLE_EQ(bytes(sweep) - bytes(SequencesSweep()), 12.0 * 21 * 64);

  sweep.mutable_positions()->set_data_rows(20);
  EXPECT_EQ(Refused(sweep), "positions.data_shift: 20 moves positions out of the 20 rows of positions.data_rows\n  set fewer, or more rows");
  EXPECT_EQ(RefusedWith([](v1::SweepSpec& s) { s.mutable_positions()->set_data_rows(-1); }), "positions.data_rows: -1 is below 0");
  EXPECT_EQ(RefusedWith([](v1::SweepSpec& s) { s.mutable_positions()->set_data_shift(-1); }), "positions.data_shift: -1 is below 0");
  EXPECT_THAT(RefusedWith([](v1::SweepSpec& s) {
                s.mutable_positions()->set_data_rows(8);
                AddWeights(s).mutable_from()->mutable_positions()->set_data_rows(9);
              }), HasSubstr("inputs.weights.from: positions.data_rows is 9 there and 8 here, so its parameters do not fit"));
  v1::SweepSpec algorithmic = SequencesSweep();
  algorithmic.set_experiment("algorithmic");
  algorithmic.clear_data();
  algorithmic.mutable_axes()->set_task(0, "even_pairs");
  algorithmic.mutable_positions()->set_data_rows(8);
  EXPECT_THAT(Refused(algorithmic), HasSubstr("positions.data_rows: is a setting of the kind 'sequences', not of 'algorithmic'"));
}

// Of tapes of twice the length and 32 symbols of each kind, which is no more than a guess.
TEST(SequencesTest, CostsAreEstimatedByTheLengths) {
  v1::SweepSpec sweep = SequencesSweep("fire");
  sweep.mutable_training()->set_steps(1);
  sweep.mutable_training()->set_batch_size(2);
  sweep.mutable_training()->clear_lengths();
  sweep.mutable_training()->add_lengths(3);
  sweep.mutable_evaluation()->clear_lengths();
  sweep.mutable_evaluation()->add_lengths(5);
  const auto cost_of = [](const v1::SweepSpec& asked) { return FindKind("sequences")->CostOf(JobOf(asked)); };
  const auto forward = [](double t) { return t * (2 * 64 * 33 + 491'520 + 2 * 64 * 32) + 1280 * t * t; };
  EXPECT_DOUBLE_EQ(cost_of(sweep).flops, 3 * 2 * forward(6) + 500 * forward(10));
  for (const int examples : {7, 5000}) {
    sweep.mutable_evaluation()->set_examples(examples);
    EXPECT_DOUBLE_EQ(cost_of(sweep).flops, 3 * 2 * forward(6) + examples * forward(10)) << "as many as are asked for";
  }
  // Blocks have 248,640 parameters; beside them are 33 rows, the output layer and FIRE's.
  EXPECT_DOUBLE_EQ(cost_of(sweep).checkpoint_bytes, 12.0 * (248'640 + 33 * 64 + 65 * 32 + 5 * (2 + 2 * 32 + 32 * 8)));
  EXPECT_EQ(cost_of(sweep).pair_tables.trained, 6);
  EXPECT_EQ(cost_of(sweep).pair_tables.tested, 10);
  EXPECT_EQ(cost_of(sweep).pair_tables.tables, 40);
  EXPECT_DOUBLE_EQ(cost_of(sweep).pair_bytes, 2 * 4.0 * 36 * 32 * 5);
  EXPECT_EQ(cost_of(SequencesSweep()).pair_tables.tables, 0);

  sweep.mutable_axes()->set_encoding(0, "none");
  sweep.mutable_model()->set_causal(true);
  EXPECT_DOUBLE_EQ(cost_of(sweep).checkpoint_bytes, 12.0 * (248'640 + 65 * 64 + 65 * 32)) << "a decoder reads outputs and a begin";
}

TEST(SequencesTest, ThreeMetricsAreMeasuredAtEachLengthAndOverAll) {
  v1::SweepSpec sweep = SequencesSweep();
  const Kind& kind = *FindKind("sequences");
  EXPECT_EQ(kind.MeasurementsOf(JobOf(sweep)), 3 * 3);
  sweep.mutable_training()->set_steps(100);
  sweep.mutable_evaluation()->set_curve_every(50);
  EXPECT_EQ(kind.MeasurementsOf(JobOf(sweep)), 3 * (3 + 2 * 3));
}

}  // namespace
}  // namespace longreach::experiments
