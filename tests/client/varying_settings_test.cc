// What the systems of a sweep differ in, as titles and rows of values name it.
#include "client/commands/varying_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/commands/title_words.h"
#include "proto/types/axis_choice.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// layers x batch_size.
v1::SweepSpec GridSweep() {
  v1::SweepSpec spec;
  spec.mutable_axes()->add_seed(0);
  spec.mutable_axes()->add_seed(1);
  spec.mutable_model()->set_heads(4);
  for (const int layers : {1, 2}) {
    for (const int batch : {8, 16}) {
      v1::System& system = *spec.add_systems();
      system.set_name("layers-" + std::to_string(layers) + "_batch_size-" + std::to_string(batch));
      system.mutable_with()->mutable_model()->set_layers(layers);
      system.mutable_with()->mutable_training()->set_batch_size(batch);
    }
  }
  return spec;
}

TEST(VaryingSettingsTest, AreThoseOfWhichThereAreSeveralValues) {
  EXPECT_THAT(VaryingSettings(SystemSettings(GridSweep())), ElementsAre("model.layers", "training.batch_size"));
  EXPECT_THAT(VaryingSettings(SystemSettings(GridSweep()), {"model.layers=2"}), ElementsAre("training.batch_size"));
  EXPECT_THAT(VaryingSettings(SystemSettings(GridSweep()), {"model.layers=2.0", "seed=0"}), ElementsAre("training.batch_size")) << "2.0 is 2";
  EXPECT_THAT(VaryingSettings(SystemSettings(GridSweep()), {"system=layers-1_batch_size-8"}), IsEmpty());
  EXPECT_THAT(VaryingSettings(SystemSettings(v1::SweepSpec())), IsEmpty());
}

// As the scheduler answers, for jobs of one task and encoding: each system's are in the row of their value.
v1::Table OfSystems(const std::vector<std::string>& systems, const std::vector<std::string>& values) {
  v1::Table table;
  table.add_columns()->set_key("rope");
  for (size_t i = 0; i < systems.size(); ++i) {
    table.add_rows()->set_key(systems[i] + ",even_pairs," + values[i]);
    table.add_cells()->set_jobs(1);
  }
  return table;
}

TEST(VaryingSettingsTest, ASystemHasItsOwnValueElseTheSweeps) {
  const SystemSettings settings(GridSweep());
  const v1::System& last = settings.spec().systems(3);
  EXPECT_EQ(settings.Of(last, "model.layers"), "2");
  EXPECT_EQ(settings.Of(last, "model.heads"), "4");
  EXPECT_EQ(settings.Of(last, "model.dropout"), "");
  AxisChoice asked("model.dropout");
  ASSERT_TRUE(asked.Add("0.1").ok());
  EXPECT_TRUE(settings.MayBe(last, asked)) << "the default, for all that is known here";
}

TEST(VaryingSettingsTest, WhatASystemLeavesUnsaidIsWhatItsJobsHave) {
  // The first says a default of the kind, the second nothing.
  v1::SweepSpec spec;
  for (const char* name : {"a", "b"}) spec.add_systems()->set_name(name);
  spec.mutable_systems(0)->mutable_with()->mutable_model()->set_layers(5);
  for (v1::System& system : *spec.mutable_systems()) system.mutable_with()->mutable_training()->set_batch_size(system.name() == "a" ? 4 : 8);
  const Aggregation by_layers{.aggregate = "mean", .shown = {"model.layers", "task"}, .only = {}};
  SystemSettings settings(spec);
  EXPECT_EQ(AggregatedOver(settings, by_layers), "") << "5 and nothing";
  settings.Learn("model.layers", OfSystems({"a", "b"}, {"5", "5"}));
  EXPECT_THAT(VaryingSettings(settings), ElementsAre("training.batch_size"));
  EXPECT_EQ(settings.Of(settings.spec().systems(1), "model.layers"), "5");
  EXPECT_EQ(AggregatedOver(settings, by_layers), "mean over training.batch_size");
  EXPECT_THAT(VaryingSettings(settings, {"model.layers=6"}), IsEmpty()) << "now it is known that none has it";
  settings.Learn("data", OfSystems({"a", "b"}, {"", "wiki"}));
  EXPECT_THAT(VaryingSettings(settings), ElementsAre("data", "training.batch_size"));
  EXPECT_THAT(VaryingSettings(settings, {"data="}), IsEmpty()) << "one system is left";
}

TEST(VaryingSettingsTest, AJobHasNoSettingThatItsEncodingDoesNotUse) {
  v1::SweepSpec spec;
  spec.add_systems()->set_name("a");
  SystemSettings settings(spec);
  v1::Table table;
  for (const char* encoding : {"none", "none:randomized"}) table.add_columns()->set_key(encoding);
  for (const char* row : {"a,even_pairs,", "a,even_pairs,2048"}) table.add_rows()->set_key(row);
  for (const int jobs : {1, 0, 0, 1}) table.add_cells()->set_jobs(jobs);
  settings.Learn("positions.max_position", table);
  const auto of = [&settings](const std::string& system, const std::string& task, const std::string& encoding) {
    v1::Job job;
    if (!system.empty()) job.add_systems(system);
    job.set_task(task);
    job.set_encoding(encoding);
    return settings.OfJob(job, "positions.max_position");
  };
  EXPECT_EQ(of("a", "even_pairs", "none:randomized"), "2048");
  EXPECT_EQ(of("a", "even_pairs", "none"), "");
  EXPECT_EQ(of("a", "parity_check", "none:randomized"), "") << "no such job was there";
  EXPECT_EQ(of("", "even_pairs", "none:randomized"), "");
  EXPECT_EQ(settings.Of(settings.spec().systems(0), "positions.max_position"), "2048") << "what the system is about";
}

TEST(VaryingSettingsTest, WhatAValueAggregatesOver) {
  const auto over = [](const std::vector<std::string>& shown, const std::vector<std::string>& only = {}) {
    return AggregatedOver(SystemSettings(GridSweep()), {.aggregate = "mean", .shown = shown, .only = only});
  };
  EXPECT_EQ(over({"system", "task"}), "mean over seeds");
  EXPECT_EQ(over({"encoding", "task"}), "mean over seeds and systems");
  EXPECT_EQ(over({"model.layers", "task"}), "mean over seeds and training.batch_size");
  EXPECT_EQ(over({"model.layers", "training.batch_size"}), "mean over seeds");
  EXPECT_EQ(over({"model.heads", "seed"}), "mean over model.layers and training.batch_size");
  EXPECT_EQ(over({"model.heads", "task"}), "mean over seeds, model.layers and training.batch_size");
  EXPECT_EQ(over({"model.heads", "seed"}, {"training.batch_size=8"}), "mean over model.layers");
  EXPECT_EQ(over({"encoding", "seed"}, {"training.batch_size=8", "model.layers=1"}), "");
}

TEST(VaryingSettingsTest, WhatMakesUnlikeJobsOfThoseThatAValueIsOver) {
  v1::SweepSpec spec = GridSweep();
  for (const double rate : {1e-4, 1e-3}) spec.mutable_axes()->add_learning_rate(rate);
  const auto unlike = [&spec](const std::vector<std::string>& shown, const std::vector<std::string>& best_of = {}) {
    return UnlikeOver(SystemSettings(spec), {.aggregate = "mean", .shown = shown, .only = {}, .best_of = best_of});
  };
  EXPECT_EQ(unlike({"system", "task"}), "") << "seeds and learning rates are trials of one";
  EXPECT_EQ(unlike({"encoding", "task"}), "systems");
  EXPECT_EQ(unlike({"model.layers", "task"}), "training.batch_size");
  EXPECT_EQ(unlike({"encoding", "task"}, {"system"}), "");
  spec.mutable_axes()->add_encoding("alibi");
  spec.mutable_axes()->add_encoding("sin_cos");
  EXPECT_EQ(unlike({"system", "task"}), "encodings");
  EXPECT_EQ(unlike({"task"}), "encodings and systems");
}

TEST(VaryingSettingsTest, WhatAValueIsTheBestOf) {
  v1::SweepSpec spec = GridSweep();
  const auto over = [&spec](const std::vector<std::string>& shown, const std::vector<std::string>& best_of, const std::vector<std::string>& only = {}) {
    return AggregatedOver(SystemSettings(spec), {.aggregate = "mean", .shown = shown, .only = only, .best_of = best_of});
  };
  EXPECT_EQ(over({"system", "task"}, {"learning_rate"}), "mean over seeds") << "there is one rate, or a default";
  for (const double rate : {1e-4, 1e-3}) spec.mutable_axes()->add_learning_rate(rate);
  EXPECT_EQ(over({"system", "task"}, {}), "mean over seeds and learning rates");
  EXPECT_EQ(over({"system", "task"}, {"learning_rate"}), "mean over seeds at the best learning rate");
  EXPECT_EQ(over({"system", "task"}, {"learning_rate"}, {"seed=1"}), "at the best learning rate");
  EXPECT_EQ(over({"system", "task"}, {"learning_rate"}, {"learning_rate=0.001"}), "mean over seeds");
  EXPECT_EQ(over({"encoding", "task"}, {"system", "learning_rate"}), "mean over seeds at the best system and learning rate");
  EXPECT_EQ(over({"encoding", "learning_rate"}, {"model.layers"}), "mean over seeds and training.batch_size at the best model.layers");
  EXPECT_EQ(over({"encoding", "learning_rate"}, {"model.layers", "training.batch_size", "seed"}), "at the best model.layers, training.batch_size and seed");
}

TEST(VaryingSettingsTest, SystemsThatDifferInMoreThanAGridAreCalledSo) {
  v1::SweepSpec spec = GridSweep();
  v1::System& other = *spec.add_systems();
  other = spec.systems(0);
  other.set_name("longer");
  other.mutable_with()->mutable_training()->add_lengths(7);  // A list is no setting of one value.
  EXPECT_EQ(AggregatedOver(SystemSettings(spec), {.aggregate = "max", .shown = {"model.layers", "training.batch_size"}, .only = {}}), "maximum over seeds and systems");
}

TEST(VaryingSettingsTest, SystemsThatAlsoHaveEncodingsOrInputsOfTheirOwnAreCalledSo) {
  const auto over = [](const v1::SweepSpec& spec, const std::vector<std::string>& shown, const std::vector<std::string>& only = {}) {
    return AggregatedOver(SystemSettings(spec), {.aggregate = "mean", .shown = shown, .only = only});
  };
  v1::SweepSpec spec = GridSweep();
  spec.mutable_axes()->clear_seed();
  spec.mutable_systems(1)->mutable_with()->add_inputs()->set_name("weights");
  EXPECT_EQ(over(spec, {"model.layers", "task"}), "mean over systems");
  EXPECT_EQ(over(spec, {"model.layers", "task"}, {"model.layers=2"}), "mean over training.batch_size") << "of these neither has inputs";

  spec = GridSweep();
  for (v1::System& system : *spec.mutable_systems()) {
    system.mutable_with()->mutable_axes()->add_encoding(system.with().training().batch_size() == 8 ? "rope" : "none");
  }
  EXPECT_EQ(over(spec, {"model.layers", "seed"}), "mean over encodings and systems");
  EXPECT_EQ(over(spec, {"model.layers", "encoding"}), "mean over seeds") << "each cell is of one system";
  EXPECT_EQ(over(spec, {"training.batch_size", "encoding"}), "mean over seeds and model.layers");
}

TEST(VaryingSettingsTest, AnAxisIsCountedInTheSystemsThatAreLeft) {
  v1::SweepSpec spec = GridSweep();
  for (int i = 0; i < 4; ++i) {
    v1::Axes& axes = *spec.mutable_systems(i)->mutable_with()->mutable_axes();
    axes.add_learning_rate(1e-3);
    if (i == 3) axes.add_learning_rate(1e-4);
    axes.add_seed(0);
  }
  const auto over = [&spec](const std::vector<std::string>& only) {
    return AggregatedOver(SystemSettings(spec), {.aggregate = "max", .shown = {"system", "task"}, .only = only});
  };
  EXPECT_EQ(over({}), "maximum over learning rates") << "of the last; each system has one seed, whatever the sweep says";
  EXPECT_EQ(over({"model.layers=1"}), "");
  EXPECT_EQ(over({"system=layers-2_batch_size-16", "learning_rate=1e-3,0.0001"}), "maximum over learning rates");
  EXPECT_EQ(over({"learning_rate=1e-3"}), "");
}

TEST(VaryingSettingsTest, AGridHasEachCombinationAndNothingElse) {
  v1::SweepSpec spec = GridSweep();
  EXPECT_TRUE(IsGridOfSettings(SystemSettings(spec), {}));
  v1::SweepSpec part = spec;
  part.mutable_systems()->RemoveLast();
  EXPECT_FALSE(IsGridOfSettings(SystemSettings(part), {}));
  EXPECT_TRUE(IsGridOfSettings(SystemSettings(part), {"model.layers=1"}));
  spec.mutable_systems(0)->mutable_with()->mutable_axes()->add_encoding("rope");
  EXPECT_FALSE(IsGridOfSettings(SystemSettings(spec), {})) << "one has an encoding of its own";
}

}  // namespace
}  // namespace longreach::client
