#include "client/spec/field_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/errors.h"
#include "client/spec/spec_reader.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

constexpr std::string_view kText =
    "axes:\n"
    "  seed: [0, 1]\n"
    "training:\n"
    "  steps: 5\n"
    "model: {layers: '2,4', heads: 4}\n"
    "inputs:\n"
    "  - name: weights\n"
    "    from: {axes: {seed: 3}, training: {steps: 7}}\n"
    "systems:\n"
    "  - name: scale-1\n"
    "    with: {training: {batch_size: 8}}\n"
    "  - name: scale-1.2\n"
    "    with: {training: {batch_size: 9}}\n"
    "table: {rows: tsk}\n";

// What a user is told of a refusal of the sweep above.
std::string Told(const std::string& refusal, const std::vector<std::string>& overrides = {}) {
  absl::StatusOr<SweepFile> file = ReadSweepFile(kText, "sweep.yaml");
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return "";
  const absl::Status applied = ApplyOverrides(overrides, *file);
  EXPECT_TRUE(applied.ok()) << applied;
  return std::string(file->places.WithPlace(absl::InvalidArgumentError(refusal)).message());
}

TEST(FieldPlacesTest, ARefusalOfAFieldBeginsWithItsPlace) {
  EXPECT_EQ(Told("training.steps: 5 is wrong\n  set another"), "sweep.yaml:4:10: training.steps: 5 is wrong\nset another");
  EXPECT_EQ(Told("axes.seed: '0' is there twice"), "sweep.yaml:2:9: axes.seed: '0' is there twice");
  EXPECT_EQ(Told("model: sizes do not fit"), "sweep.yaml:5:1: model: sizes do not fit");
  EXPECT_EQ(Told("table.rows: unknown axis 'tsk'"), "sweep.yaml:14:15: table.rows: unknown axis 'tsk'");
}

TEST(FieldPlacesTest, ElementsOfListsGoByTheirNames) {
  EXPECT_EQ(Told("inputs.weights: this input is there twice"), "sweep.yaml:7:5: inputs.weights: this input is there twice");
  EXPECT_EQ(Told("inputs.weights.from.training.steps: no"), "sweep.yaml:8:47: inputs.weights.from.training.steps: no");
  EXPECT_EQ(Told("systems.scale-1.2.with.training.batch_size: no"), "sweep.yaml:13:35: systems.scale-1.2.with.training.batch_size: no");
}

TEST(FieldPlacesTest, OfASystemItIsItsOwnValueElseTheSweeps) {
  EXPECT_EQ(Told("systems.scale-1: training.batch_size: no"), "sweep.yaml:11:35: systems.scale-1: training.batch_size: no");
  EXPECT_EQ(Told("systems.scale-1: training.steps: no"), "sweep.yaml:4:10: systems.scale-1: training.steps: no");
  EXPECT_EQ(Told("systems.scale-1_layers-4: model.layers: no"), "sweep.yaml:5:17: systems.scale-1_layers-4: model.layers: no") << "of a grid";
  EXPECT_EQ(Told("systems.scale-1: has a job too many"), "sweep.yaml:10:5: systems.scale-1: has a job too many");
}

TEST(FieldPlacesTest, WhatIsNotInTheFileHasNoPlace) {
  for (const char* refusal : {"training.clip_norm: no", "axes.task: no value", "systems.other.with.data: no", "systems.scale-1: model.dropout: no", "inputs.name: no",
                              "length 3: no pixel is left", "no colon", "", ": ", "training.: no", "training.steps.x: no"}) {
    EXPECT_EQ(Told(refusal), refusal);
  }
  EXPECT_EQ(FieldPlaces().WithPlace(absl::InvalidArgumentError("training.steps: no")).message(), "training.steps: no");
  const absl::StatusOr<SweepFile> file = ReadSweepFile(kText, "sweep.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->places.WithPlace(absl::ResourceExhaustedError("axes.seed: too many")).message(), "axes.seed: too many");
}

TEST(FieldPlacesTest, WhatSetReplacedHasNoPlace) {
  EXPECT_EQ(Told("training.steps: no", {"training.steps=6"}), "training.steps: no");
  EXPECT_EQ(Told("axes.seed: no", {"seed=6"}), "axes.seed: no");
  EXPECT_EQ(Told("axes.seed: no", {"axes.seed=6"}), "axes.seed: no");
  EXPECT_EQ(Told("inputs.weights.from.axes.seed: no", {"inputs.weights.from.seed=6"}), "inputs.weights.from.axes.seed: no");
  EXPECT_EQ(Told("systems.scale-1: training.batch_size: no", {"systems.scale-1.with.training.batch_size=6"}), "systems.scale-1: training.batch_size: no");
  EXPECT_EQ(Told("systems.a: model.layers: no", {"model.layers=3,5"}), "systems.a: model.layers: no");
  EXPECT_EQ(Told("training.steps: no", {"seed=6"}), "sweep.yaml:4:10: training.steps: no");
}

TEST(FieldPlacesTest, APresetHasNone) {
  const absl::StatusOr<SweepFile> preset = LoadSweep("quickstart");
  ASSERT_TRUE(preset.ok()) << preset.status();
  EXPECT_EQ(preset->places.WithPlace(absl::InvalidArgumentError("training.steps: no")).message(), "training.steps: no");
}

using RefusedSweepTest = WithFakeScheduler;

TEST_F(RefusedSweepTest, EveryCommandThatSendsASweepNamesFileAndLine) {
  const TempFolder folder;
  const std::string file = folder.Write("mine.yaml", "axes: {seed: 1}\ntraining:\n  steps: -3\n");
  scheduler_.refusals["SubmitSweep"] = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "training.steps: -3 is below 0\n  set more");
  for (const char* command : {"plan", "submit", "run"}) {
    EXPECT_EQ(Run({command, file}).err, "error: " + file + ":3:10: training.steps: -3 is below 0\n  set more\n") << command;
    EXPECT_EQ(Run({command, file, "--set", "training.steps=-3"}).err, "error: training.steps: -3 is below 0\n  set more\n") << command;
  }
}

}  // namespace
}  // namespace longreach::client
