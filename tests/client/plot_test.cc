// `longreach plot` beside a scheduler that answers as the test says: what it asks for, what it writes, what it refuses. The
// program that draws is a stand-in here; the real one is in tests/e2e/test_plot.py.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "proto/catalog/decoders.h"
#include "tests/client/plot_fixture.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(PlotTest, AsksForLengthsOfEachEncodingUnlessToldOtherwise) {
  const Outcome outcome = Run("a.vl.json");

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(scheduler_.table_request.table().rows(), "encoding");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "length");
  EXPECT_EQ(scheduler_.table_request.table().metric(), "");  // The sweep's own.
  EXPECT_EQ(scheduler_.table_request.table().aggregate(), "mean");
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  EXPECT_EQ(spec["data"]["values"][0]["y"], 87.5);
  EXPECT_EQ(spec["title"]["text"], "table-b1: accuracy");
  EXPECT_THAT(outcome.out, HasSubstr("1 point in 1 panel"));
}

TEST_F(PlotTest, LinesHaveTheOrderOfTheTableThatTheSweepWasSubmittedWith) {
  v1::TableSpec& kept = *scheduler_.sweep.mutable_table();
  kept.set_rows("task");
  kept.set_columns("encoding");
  for (const char* encoding : {"rope", "alibi"}) kept.add_column_order(encoding);

  EXPECT_EQ(Run("a.vl.json").code, kDone);

  EXPECT_EQ(scheduler_.table_request.table().rows(), "encoding");
  EXPECT_THAT(scheduler_.table_request.table().row_order(), ElementsAre("rope", "alibi"));

  kept.set_columns("seed,encoding");
  EXPECT_EQ(Run("b.vl.json").code, kDone);
  EXPECT_THAT(scheduler_.table_request.table().row_order(), ElementsAre("rope", "alibi")) << "one of several axes";
  kept.clear_rows();
  kept.clear_columns();
  EXPECT_EQ(Run("c.vl.json").code, kDone);
  EXPECT_THAT(scheduler_.table_request.table().row_order(), ElementsAre("rope", "alibi")) << "its usual columns";
}

TEST_F(PlotTest, ThatUnlikeJobsAreInAValueIsSaid) {
  v1::SweepSpec& sweep = *scheduler_.sweep.mutable_spec();
  for (const char* encoding : {"rope", "alibi"}) sweep.mutable_axes()->add_encoding(encoding);
  const auto notes = [this](const std::string& file, const std::vector<std::string>& more) {
    EXPECT_EQ(Run(file, more).code, kDone);
    return nlohmann::json::parse(Written(file))["title"]["subtitle"].dump();
  };
  EXPECT_THAT(notes("encodings.vl.json", {}), Not(HasSubstr("unlike"))) << "each has a line";
  for (const int layers : {1, 2}) {
    v1::System& system = *sweep.add_systems();
    system.set_name("layers-" + std::to_string(layers));
    system.mutable_with()->mutable_model()->set_layers(layers);
  }
  EXPECT_THAT(notes("systems.vl.json", {}), HasSubstr("each value is over unlike jobs, of several encodings: --panels or --only tells them apart"));
  EXPECT_THAT(notes("lines.vl.json", {"--lines", "encoding"}), HasSubstr("unlike jobs, of several systems: "));
  EXPECT_THAT(notes("one.vl.json", {"--only", "encoding=rope"}), Not(HasSubstr("unlike")));
}

TEST_F(PlotTest, LearningRatesThatWereTrainedHaveTheTicks) {
  scheduler_.table.mutable_columns(0)->set_key("0.0003");

  const Outcome outcome = Run("rates.vl.json", {"--x", "learning_rate"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(Written("rates.vl.json"))["layer"][0]["encoding"]["x"]["axis"]["values"], (std::vector{0.0003}));
}

TEST_F(PlotTest, LossesOfTrainingAreDrawnByStepWhicheverOfTheTwoIsNamed) {
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"--x", "step"}, {"--metric", "training_loss"}}) {
    scheduler_.table_request.Clear();
    const Outcome outcome = Run(asked[0] + ".vl.json", asked);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    EXPECT_EQ(scheduler_.table_request.table().metric(), "training_loss");
    EXPECT_EQ(scheduler_.table_request.table().columns(), "step");
    EXPECT_EQ(scheduler_.table_request.table().step_bins(), 100);
    EXPECT_EQ(scheduler_.table_request.table().rows(), "encoding");
    EXPECT_THAT(Written(asked[0] + ".vl.json"), Not(HasSubstr("over all test lengths")));
  }
  const Outcome refused = Run("b.vl.json", {"--x", "step", "--length", "40"});
  EXPECT_EQ(refused.code, kUsage);
  EXPECT_THAT(refused.err, HasSubstr("--length 40: losses of training have no test length"));
}

TEST_F(PlotTest, ScoresByStepAreOfJobsThatWereTestedWhileTheyWereTrained) {
  ASSERT_EQ(Run("scores.vl.json", {"--x", "step", "--metric", "accuracy"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().metric(), "accuracy");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "step");
  EXPECT_THAT(Written("scores.vl.json"), ::testing::AllOf(HasSubstr("over the lengths of curves"), Not(HasSubstr("losses averaged"))));
  ASSERT_EQ(Run("one.vl.json", {"--x", "learning_rate", "--metric", "accuracy", "--slice", "step=200"}).code, kDone);
  EXPECT_THAT(Written("one.vl.json"), HasSubstr("over the lengths of curves; step=200"));
  ASSERT_EQ(Run("at.vl.json", {"--x", "step", "--metric", "accuracy", "--length", "100"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().length(), 100);
  EXPECT_THAT(Written("at.vl.json"), HasSubstr("at length 100"));
  ASSERT_EQ(Run("lengths.vl.json", {"--x", "length", "--metric", "accuracy", "--only", "step=200"}).code, kDone);
  EXPECT_THAT(Written("lengths.vl.json"), HasSubstr("at each length of curves")) << "the others were not tested then";
  ASSERT_EQ(Run("end.vl.json", {"--x", "length", "--metric", "accuracy"}).code, kDone);
  EXPECT_THAT(Written("end.vl.json"), Not(HasSubstr("at each"))) << "the axis is called so";
}

// A line that no job trains up to would be false.
TEST_F(PlotTest, TheLengthOfTrainingIsThatOfTheSystemsThatAreShown) {
  v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
  spec.mutable_training()->add_lengths(3);
  for (const char* name : {"plain", "long", "tuned"}) spec.add_systems()->set_name(name);
  spec.mutable_systems(1)->mutable_with()->mutable_training()->add_lengths(15);
  spec.mutable_systems(2)->mutable_with()->add_inputs()->mutable_from()->mutable_training()->add_lengths(64);
  int files = 0;
  const auto line = [&](const std::vector<std::string>& more) {
    const std::string file = std::to_string(files++) + ".vl.json";
    const Outcome outcome = Run(file, more);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    const nlohmann::json trained = nlohmann::json::parse(Written(file))["layer"].back()["encoding"]["x"];
    return trained.contains("datum") ? trained["datum"].dump() : "none";
  };
  EXPECT_EQ(line({}), "none") << "they do not agree";
  EXPECT_THAT(line({"--only", "system=plain"}), HasSubstr("3"));
  EXPECT_THAT(line({"--only", "system=long"}), HasSubstr("15"));
  EXPECT_THAT(line({"--only", "system=tuned"}), HasSubstr("64")) << "of what made its weights";
  EXPECT_EQ(line({"--only", "system=plain,long"}), "none");

  // What nobody says the jobs have.
  spec.mutable_training()->clear_lengths();
  scheduler_.jobs.add_jobs()->set_id(std::string(64, 'a'));
  scheduler_.job_spec.mutable_training()->add_lengths(256);
  EXPECT_THAT(line({"--only", "system=plain"}), HasSubstr("256"));
  EXPECT_THAT(line({"--only", "system=tuned"}), HasSubstr("256")) << "which is longer than what made its weights";
  spec.mutable_systems(2)->mutable_with()->mutable_training()->set_steps(0);
  EXPECT_THAT(line({"--only", "system=tuned"}), HasSubstr("64")) << "it trains nothing";
}

TEST_F(PlotTest, AccuracyOfOneTaskHasALineAtChance) {
  v1::SweepSpec& spec = *scheduler_.sweep.mutable_spec();
  spec.mutable_axes()->add_task("stack_manipulation");
  int files = 0;
  const auto chance = [&](const std::vector<std::string>& more) -> std::optional<double> {
    const std::string file = std::to_string(files++) + ".vl.json";
    const Outcome outcome = Run(file, more);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    const nlohmann::json drawn = nlohmann::json::parse(Written(file));
    for (const nlohmann::json& layer : drawn["layer"]) {
      if (layer["encoding"].contains("y") && layer["encoding"]["y"].contains("datum")) return layer["encoding"]["y"]["datum"].get<double>();
    }
    return std::nullopt;
  };
  EXPECT_EQ(chance({"--only", "task=even_pairs"}), 50);
  EXPECT_EQ(chance({"--only", "task=stack_manipulation", "--only", "length=40", "--log"}), 100.0 / 3) << "its tokens are 0, 1 and the end";
  EXPECT_EQ(chance({"--panels", "none", "--lines", "task"}), std::nullopt) << "each task has its own";
  EXPECT_EQ(chance({"--only", "task=even_pairs", "--y", "seed"}), std::nullopt) << "a heat map has no lines";
  scheduler_.table.set_metric("loss");
  EXPECT_EQ(chance({"--only", "task=even_pairs", "--metric", "loss"}), std::nullopt);
  // What is imported says nothing of how often each answer is right.
  scheduler_.table.set_metric("accuracy");
  spec.mutable_axes()->clear_task();
  spec.mutable_axes()->add_task("imagenet");
  EXPECT_EQ(chance({}), std::nullopt);
}

TEST_F(PlotTest, SystemsAreLinesAndTasksArePanels) {
  scheduler_.sweep.mutable_spec()->mutable_axes()->add_task("bucket_sort");
  scheduler_.sweep.mutable_spec()->add_systems()->set_name("yarn");

  const Outcome outcome = Run("a.vl.json", {"--only", "task=even_pairs,bucket_sort", "--only", "seed=1"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(scheduler_.table_request.table().rows(), "system");
  // The last question was for one panel.
  EXPECT_THAT(scheduler_.table_request.table().only(), ElementsAre("seed=1", "task=even_pairs"));
  // The scheduler here has one task to show.
  EXPECT_EQ(nlohmann::json::parse(Written("a.vl.json"))["title"]["text"], "table-b1: accuracy, even_pairs");
}

TEST_F(PlotTest, WhereASettingIsAnAxisSystemsAreNone) {
  for (const int layers : {1, 2}) {
    for (const int batch : {8, 16}) {
      v1::System& system = *scheduler_.sweep.mutable_spec()->add_systems();
      system.set_name(std::to_string(layers) + "-" + std::to_string(batch));
      system.mutable_with()->mutable_model()->set_layers(layers);
      system.mutable_with()->mutable_training()->set_batch_size(batch);
    }
  }
  EXPECT_EQ(Run("a.vl.json", {"--x", "model.layers"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "training.batch_size") << "what else the systems differ in";
  EXPECT_EQ(scheduler_.table_request.table().columns(), "model.layers");
  EXPECT_EQ(Run("b.vl.json", {"--x", "model.layers", "--only", "training.batch_size=8"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "encoding");
  EXPECT_EQ(Run("c.vl.json", {"--x", "model.layers", "--y", "training.batch_size"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "training.batch_size");
  EXPECT_THAT(scheduler_.table_request.table().only(), ::testing::IsEmpty()) << "one panel";
  scheduler_.sweep.mutable_spec()->mutable_axes()->add_encoding("rope");
  scheduler_.sweep.mutable_spec()->mutable_axes()->add_encoding("none");
  EXPECT_EQ(Run("d.vl.json", {"--x", "model.layers"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "encoding");
}

TEST_F(PlotTest, WhereSystemsAreNoGridEachHasALine) {
  for (const int layers : {1, 2, 2}) {
    v1::System& system = *scheduler_.sweep.mutable_spec()->add_systems();
    system.set_name("s" + std::to_string(scheduler_.sweep.spec().systems_size()));
    system.mutable_with()->mutable_model()->set_layers(layers);
    system.mutable_with()->mutable_training()->set_batch_size(system.name() == "s3" ? 16 : 8);
  }
  EXPECT_EQ(Run("a.vl.json", {"--x", "model.layers"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "system");
  EXPECT_EQ(Run("b.vl.json", {"--x", "model.layers", "--only", "system=s1,s2"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "encoding") << "these two are one";
  EXPECT_EQ(Run("c.vl.json", {"--x", "model.layers", "--only", "system=s2,s3"}).code, kDone);
  EXPECT_EQ(scheduler_.table_request.table().rows(), "training.batch_size");
}

TEST_F(PlotTest, APanelOfWhatIsNotSetHasThoseJobsAlone) {
  v1::TableAxisEntry& none = *scheduler_.table.mutable_rows(0);
  none.clear_key();
  none.set_label("data not set");
  EXPECT_EQ(Run("a.vl.json", {"--panels", "data", "--only", "seed=0"}).code, kDone);
  EXPECT_THAT(scheduler_.table_request.table().only(), ElementsAre("seed=0", "data="));
  EXPECT_THAT(Written("a.vl.json"), HasSubstr("data not set"));
  // A sweep without systems has one, of no name.
  EXPECT_EQ(Run("b.vl.json", {"--panels", "system"}).code, kDone);
  EXPECT_THAT(scheduler_.table_request.table().only(), ::testing::IsEmpty());
}

TEST_F(PlotTest, ASettingThatNoJobHasIsNoAxis) {
  scheduler_.table.mutable_columns(0)->clear_key();
  scheduler_.table.mutable_columns(0)->set_label("rope_factor not set");
  const Outcome outcome = Run("a.vl.json", {"--x", "positions.rope_factor"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("nothing to draw: no job of sweep 'table-b1' has the setting positions.rope_factor"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("there yet")));
}

// Layers 0 and 1 by three heads, whatever is asked for.
void SetHeads(v1::Table& table) {
  table.clear_rows();
  table.clear_columns();
  table.clear_cells();
  table.clear_unit();
  for (const char* layer : {"0", "1"}) table.add_rows()->set_key(layer);
  for (const char* head : {"0", "1", "2"}) table.add_columns()->set_key(head);
  for (const double value : {1.0, 1.5, 2.0, 3.0, 2.5, 1.0}) table.add_cells()->set_measured(value);
}

TEST_F(PlotTest, AMetricToTheRightIsAPointForEachValueOfAnAxis) {
  SetHeads(scheduler_.table);

  const Outcome outcome = Run("a.vl.json", {"--metric", "attention_entropy", "--length", "1024", "--x", "head_scale", "--points", "head", "--lines", "layer"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  // The last question was for x, over all lengths.
  EXPECT_EQ(scheduler_.table_request.table().metric(), "head_scale");
  EXPECT_EQ(scheduler_.table_request.table().rows(), "layer");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "head");
  EXPECT_EQ(scheduler_.table_request.table().length(), 0);
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  EXPECT_EQ(spec["data"]["values"].size(), 6);
  EXPECT_EQ(spec["layer"][0]["encoding"]["x"]["title"], "scale of an attention head");
  EXPECT_THAT(outcome.out, HasSubstr("6 points in 1 panel\n  0: 3 points, correlation 1.000, slope 1\n"));
}

TEST_F(PlotTest, AnAxisUpwardsMakesAHeatMapOfEachSystem) {
  scheduler_.sweep.mutable_spec()->add_systems()->set_name("yarn");
  SetHeads(scheduler_.table);

  const Outcome outcome = Run("a.vl.json", {"--metric", "passkey_accuracy", "--y", "depth"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(scheduler_.table_request.table().rows(), "depth");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "length");
  // The scheduler here has rows 0 and 1 as systems too.
  EXPECT_THAT(scheduler_.table_request.table().only(), ElementsAre("system=1"));
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  EXPECT_EQ(spec["spec"]["layer"][0]["mark"], "rect");
  EXPECT_EQ(spec["data"]["values"].size(), 12);
}

TEST_F(PlotTest, WhichLinesAndPanelsThereAreIsNotSaidAgain) {
  AddTypedNote(scheduler_.table, v1::TableNote::KIND_ONLY, "encoding", "some encodings");
  AddTypedNote(scheduler_.table, v1::TableNote::KIND_ONLY, "task", "some tasks");
  AddTypedNote(scheduler_.table, v1::TableNote::KIND_ONLY, "seed", "some seeds");
  AddTypedNote(scheduler_.table, v1::TableNote::KIND_MIXED, "", "cells over systems");
  scheduler_.table.add_notes("only encoding rope, as a reader may be told of something else");

  EXPECT_EQ(Run("a.vl.json", {"--panels", "task"}).code, kDone);

  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  const std::string notes = spec["title"]["subtitle"].dump();
  EXPECT_THAT(notes, Not(HasSubstr("some encodings")));
  EXPECT_THAT(notes, Not(HasSubstr("some tasks")));
  EXPECT_THAT(notes, HasSubstr("some seeds"));
  EXPECT_THAT(notes, Not(HasSubstr("cells over systems"))) << "the title says it";
  EXPECT_THAT(notes, HasSubstr("something else")) << "a note's kind decides, not how it begins";
}

TEST_F(PlotTest, ThatDecodersDoNotCompareIsSaidOfTheFigureAndOtherNotesOfTheirPanels) {
  scheduler_.table.add_rows()->set_key("parity_check");  // A panel each.
  scheduler_.table.add_cells()->set_measured(50);
  const std::string why = catalog::WhyDecodersDoNotCompare(scheduler_.table.metric());
  scheduler_.table.add_notes(why);
  scheduler_.table.add_notes("1 job failed");

  EXPECT_EQ(Run("a.vl.json", {"--panels", "task"}).code, kDone);

  const std::string notes = nlohmann::json::parse(Written("a.vl.json"))["title"]["subtitle"].dump();
  EXPECT_THAT(notes, HasSubstr("\"" + why + "\""));
  EXPECT_THAT(notes, HasSubstr("2 panels, each: 1 job failed"));
}

TEST_F(PlotTest, AHeatMapOfWhatHasNoSlicesIsNotDrawn) {
  // As the scheduler answers where depths were drawn.
  scheduler_.sweep.mutable_spec()->add_systems()->set_name("landmark");
  scheduler_.table.clear_columns();
  scheduler_.table.clear_cells();
  AddTypedNote(scheduler_.table, v1::TableNote::KIND_NO_VALUE, "", "nothing by depth; there are values without slices");
  scheduler_.table.add_notes("no job has a value, as a reader may be told of something else");

  const Outcome outcome = Run("a.vl.json", {"--metric", "passkey_accuracy", "--y", "depth"});

  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("nothing to draw"));
  EXPECT_THAT(outcome.err, HasSubstr("nothing by depth; there are values without slices\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("something else"))) << "a note's kind decides, not how it begins";
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.vl.json"));
}

TEST_F(PlotTest, TheGrowthOfTheBestScaleIsDrawnBySeedUnlessToldOtherwise) {
  scheduler_.table.mutable_columns(0)->set_key("0");
  for (const char* metric : {"scale_growth", "scale_growth_r2"}) {
    EXPECT_EQ(Run(std::string(metric) + ".vl.json", {"--metric", metric}).code, kDone);
    EXPECT_EQ(scheduler_.table_request.table().columns(), "seed");
  }
  AddTypedNote(scheduler_.table, v1::TableNote::KIND_NO_VALUE, "", "no job has a value of scale_growth at a length");
  scheduler_.table.mutable_cells(0)->clear_measured();
  EXPECT_THAT(Run("a.vl.json", {"--metric", "scale_growth", "--x", "length"}).err, HasSubstr("at a length\n  what is measured over all lengths together is drawn with --x seed"));
}

TEST_F(PlotTest, TheFitOfTheBestScalesIsDrawnFromTheLengthWhereItBegins) {
  scheduler_.sweep.mutable_spec()->mutable_positions()->set_original_length(20);
  scheduler_.table.set_metric("best_attention_scale");
  scheduler_.table.mutable_cells(0)->set_measured(0.5);
  scheduler_.table.mutable_rows(0)->set_label("NoPE");

  const Outcome outcome = Run("a.vl.json", {"--metric", "best_attention_scale"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  const nlohmann::json& values = spec["data"]["values"];
  ASSERT_EQ(values.size(), 1 + 41);
  EXPECT_EQ(values[1]["x"], 20);
  EXPECT_EQ(values[1]["fit"], 1);
  EXPECT_EQ(values.back()["line"], values[0]["line"]);
  EXPECT_DOUBLE_EQ(values.back()["fit"].get<double>(), 0.5 * std::log(2) + 1);
  EXPECT_THAT(spec["title"]["subtitle"].dump(), HasSubstr("dashed: 0.5 ln(i/20) + 1, NoPE"));
}

TEST_F(PlotTest, WhatIsNotInNatsHasNoBits) {
  const Outcome outcome = Run("a.vl.json", {"--bits"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--bits: accuracy is not measured in nats"));
}

TEST_F(PlotTest, PicturesAreDrawnByThePythonThatIsNamed) {
  // $1 is -c, $2 the script, then the specification's file, the picture's and the format.
  folder_.WriteScript("python", "grep -q 87.5 \"$3\" && printf 'a %s' \"$5\" > \"$4\"");
  const std::string python = (folder_.path() / "python").string();

  const Outcome outcome = Run("a.svg", {"-o", "json"}, {{"LONGREACH_PYTHON", python}});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(Written("a.svg"), "a svg");
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["points"], 1);
}

TEST_F(PlotTest, WithoutWhatDrawsItSaysWhatToDoAndWritesNothing) {
  const auto refused = [&](const std::string& script, const std::string& text) {
    folder_.WriteScript("python3", script);
    const Outcome outcome = Run("a.png", {}, {{"PATH", "/nonexistent:" + folder_.path().string()}});
    EXPECT_EQ(outcome.code, kFailed);
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a.png"));
  };
  refused("exit 3", "python3' does not have it\n  'pip install vl-convert-python'");
  refused("echo lost the thread >&2; exit 1", "vl-convert-python did not draw the figure (exit code 1)\n  lost the thread");
  refused("exit 0", "did not draw the figure");
  // A checkout's own is looked at first, and left where it lacks the package.
  folder_.WriteScript("python3", "printf drawn > \"$4\"");
  const std::filesystem::path venv = folder_.path() / "checkout/.venv/bin";
  std::filesystem::create_directories(venv);
  std::filesystem::create_directories(folder_.path() / "checkout/build/light/bin");
  folder_.WriteScript("checkout/.venv/bin/python", "exit 3");
  const auto in_checkout = [&](const std::string& file) {
    return RunCommandLine({"plot", "last", "--file", (folder_.path() / file).string(), "--scheduler", scheduler_.address()},
                          {{"PATH", folder_.path().string()}}, folder_.path() / "checkout/build/light/bin");
  };
  EXPECT_EQ(in_checkout("b.png").code, kDone);
  EXPECT_EQ(Written("b.png"), "drawn");
  folder_.WriteScript("checkout/.venv/bin/python", "printf 'by the checkout' > \"$4\"");
  EXPECT_EQ(in_checkout("c.png").code, kDone);
  EXPECT_EQ(Written("c.png"), "by the checkout");

  EXPECT_THAT(Run("a.png").err, HasSubstr("there is no python3 in PATH"));
  EXPECT_THAT(Run("a.png", {}, {{"LONGREACH_PYTHON", "/nonexistent/python"}}).err, HasSubstr("there is no program '/nonexistent/python'"));
}

TEST_F(PlotTest, RefusesWhatCannotBeDrawn) {
  const auto refused = [&](std::vector<std::string> more, const std::string& text, const std::string& file = "a.vl.json") {
    const Outcome outcome = Run(file, std::move(more));
    EXPECT_EQ(outcome.code, kUsage) << text;
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / file));
  };
  refused({}, "ends in none of .svg, .png, .pdf and .vl.json", "a.jpg");
  refused({"--x", "task"}, "--x: unknown value 'task'");
  refused({"--x", "longbench_task"}, "--x: unknown value 'longbench_task'");
  refused({"--x", "model.folder"}, "--x model.folder: its values are no numbers");
  refused({"--lines", "model.folders"}, "--lines: unknown value 'model.folders'\n  did you mean 'model.folder'?");
  refused({"--x", "head_scale"}, "one metric against another needs the axis whose values are the points");
  refused({"--points", "head"}, "--points: only with a metric as --x");
  refused({"--x", "head_scale", "--points", "head", "--lines", "head"}, "--lines, --points and --panels are head, head and none: they must differ");
  refused({"--y", "depth", "--lines", "layer"}, "--lines: a heat map has none");
  refused({"--x", "loss", "--y", "accuracy"}, "--y accuracy: of a heat map it is an axis, and what a figure shows is named by --metric\n  write --metric accuracy in its place");
  refused({"--y", "length"}, "--x, --y and --panels are length, length and none: they must differ");
  refused({"--lines", "encodng"}, "--lines: unknown value 'encodng'\n  did you mean 'encoding'?");
  refused({"--x", "seed", "--lines", "seed"}, "seed, seed and none: they must differ");
  refused({"--metric", "acuracy"}, "did you mean 'accuracy'?");
  refused({"--metric", "train_loss"}, "--metric: unknown value 'train_loss'\n  did you mean 'training_loss'? there are: accuracy, ");
  refused({"--metric", "validation_loss"}, "--metric: unknown value 'validation_loss'\n  did you mean 'loss'? there are: accuracy, ");
  refused({"--metric", "ppl"}, "did you mean 'perplexity'?");
  refused({"--metric", "val_loss", "--x", "step"}, "--metric: unknown value 'val_loss'\n  did you mean 'loss'?");

  scheduler_.table.mutable_cells(0)->clear_measured();
  const Outcome nothing = Run("a.vl.json");
  EXPECT_EQ(nothing.code, kFailed);
  EXPECT_THAT(nothing.err, HasSubstr("nothing to draw: no job of sweep 'table-b1' has a value of accuracy (%) there yet"));
  EXPECT_THAT(nothing.err, Not(HasSubstr("diverged")));
  scheduler_.sweep.set_jobs(6);
  scheduler_.sweep.mutable_counts()->set_diverged(6);
  EXPECT_THAT(Run("a.vl.json").err, HasSubstr("\n  6 of its 6 jobs diverged (their loss was not finite), and are in no figure\n"));

  folder_.Write("there.vl.json", "mine");
  EXPECT_EQ(Run("there.vl.json").code, kFailed);
  EXPECT_EQ(Written("there.vl.json"), "mine");
}

}  // namespace
}  // namespace longreach::client
