// Lists for fields of one value, in sweep files and in --set: what systems they become.
#include "client/spec/field_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/errors.h"
#include "client/spec/spec_reader.h"
#include "client/spec/sweep_writer.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPlain = "name: plain\naxes: {task: even_pairs, encoding: rope, learning_rate: 1e-3, seed: 0}\n";
constexpr const char* kSystems =
    "systems:\n"
    "  - {name: rope, with: {axes: {encoding: rope}}}\n"
    "  - {name: wide, with: {axes: {encoding: rope}, model: {mlp_dim: 512}}}\n";

absl::StatusOr<SweepFile> Crossed(const std::string& text, const std::vector<std::string>& overrides) {
  ASSIGN_OR_RETURN(SweepFile file, ReadSweepFile(text, "sweep.yaml"));
  RETURN_IF_ERROR(ApplyOverrides(overrides, file));
  RETURN_IF_ERROR(CrossGrid(file.grid, file.spec));
  return file;
}

v1::SweepSpec Cross(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const absl::StatusOr<SweepFile> file = Crossed(text, overrides);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? file->spec : v1::SweepSpec();
}

// The whole error as a user sees it.
std::string GridRefusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const absl::Status status = Crossed(text, overrides).status();
  EXPECT_EQ(ExitCodeOf(status), kUsage) << status;
  return FormatError(status);
}

std::vector<std::string> Names(const v1::SweepSpec& spec) {
  std::vector<std::string> names;
  for (const v1::System& system : spec.systems()) names.push_back(system.name());
  return names;
}

TEST(FieldGridTest, EachValueOfAFieldIsASystem) {
  const v1::SweepSpec spec = Cross(kPlain, {"model.layers=2,4,8"});

  ASSERT_THAT(Names(spec), ElementsAre("layers-2", "layers-4", "layers-8"));
  EXPECT_EQ(spec.systems(0).with().model().layers(), 2);
  EXPECT_EQ(spec.systems(2).with().model().layers(), 8);
  EXPECT_FALSE(spec.model().has_layers());
  EXPECT_THAT(spec.axes().encoding(), ElementsAre("rope"));
}

TEST(FieldGridTest, AFileSaysTheSameInEveryFormOfAList) {
  const std::string set = Cross(kPlain, {"model.layers=2..4"}).SerializeAsString();
  for (const char* list : {"[2, 3, 4]", "[2..3, 4]", "2..4", "'2, 3..4'", "\n    - 2\n    - 3\n    - 4"}) {
    EXPECT_EQ(Cross(std::string(kPlain) + "model:\n  layers: " + list + "\n").SerializeAsString(), set) << list;
  }
}

TEST(FieldGridTest, ValuesOfEveryTypeMakeNames) {
  EXPECT_THAT(Names(Cross(kPlain, {"model.dropout=0,1e-1,0.25"})), ElementsAre("dropout-0", "dropout-0.1", "dropout-0.25"));
  EXPECT_THAT(Names(Cross(kPlain, {"model.rope_theta=1e20,1e-5"})), ElementsAre("rope_theta-1e20", "rope_theta-1e-05"));
  EXPECT_THAT(Names(Cross(kPlain, {"evaluation.dropout=true,false"})), ElementsAre("dropout-true", "dropout-false"));
  EXPECT_THAT(Names(Cross(kPlain, {"positions.randomized_by=distance, position"})), ElementsAre("randomized_by-distance", "randomized_by-position"));
  EXPECT_THAT(Names(Cross(kPlain, {"data=pg19,a/b"})), ElementsAre("data-pg19", "data-a_b"));
  EXPECT_EQ(Cross(kPlain, {"data=pg19,a/b"}).systems(1).with().data(), "a/b");
}

TEST(FieldGridTest, SeveralFieldsAreCrossedAndTheFirstVariesSlowest) {
  EXPECT_THAT(Names(Cross(kPlain, {"training.batch_size=32,64", "model.layers=2,4"})),
              ElementsAre("batch_size-32_layers-2", "batch_size-32_layers-4", "batch_size-64_layers-2", "batch_size-64_layers-4"));
  const v1::SweepSpec spec = Cross(std::string(kPlain) + "training: {batch_size: [32, 64]}\nmodel: {layers: [2, 4]}\n", {"training.steps=5,6"});
  ASSERT_EQ(spec.systems_size(), 8);
  EXPECT_EQ(spec.systems(1).name(), "batch_size-32_layers-2_steps-6");
  EXPECT_EQ(spec.systems(1).with().training().batch_size(), 32);
  EXPECT_EQ(spec.systems(1).with().training().steps(), 6);
  EXPECT_EQ(spec.systems(1).with().model().layers(), 2);
}

TEST(FieldGridTest, FieldsOfTheSameLastWordGoByTheirPaths) {
  EXPECT_THAT(Names(Cross(kPlain, {"model.dropout=0,0.1", "evaluation.dropout=true,false"})),
              ElementsAre("model.dropout-0_evaluation.dropout-true", "model.dropout-0_evaluation.dropout-false",
                          "model.dropout-0.1_evaluation.dropout-true", "model.dropout-0.1_evaluation.dropout-false"));
}

TEST(FieldGridTest, SystemsOfTheFileAreCrossedWithIt) {
  const v1::SweepSpec spec = Cross(std::string(kPlain) + kSystems, {"model.layers=2,4"});

  ASSERT_THAT(Names(spec), ElementsAre("rope_layers-2", "rope_layers-4", "wide_layers-2", "wide_layers-4"));
  EXPECT_EQ(spec.systems(3).with().model().layers(), 4);
  EXPECT_EQ(spec.systems(3).with().model().mlp_dim(), 512);
}

TEST(FieldGridTest, IsWhatSystemsOfThoseNamesAre) {
  const std::string by_hand = std::string(kPlain) +
                              "systems:\n"
                              "  - {name: layers-2, with: {model: {layers: 2}}}\n"
                              "  - {name: layers-4, with: {model: {layers: 4}}}\n";
  v1::SweepSpec grid = Cross(kPlain, {"model.layers=2,4"});
  const v1::SweepSpec read = Cross(ToYaml(grid));
  EXPECT_EQ(read.SerializeAsString(), grid.SerializeAsString()) << "what is written reads back as the same";
  EXPECT_EQ(grid.model().ByteSizeLong(), 0u);
  grid.clear_model();  // It is empty, and a sweep's text has no empty groups.
  EXPECT_EQ(grid.SerializeAsString(), Cross(by_hand).SerializeAsString());
}

TEST(FieldGridTest, WhatIsSetReplacesWhatTheFileSays) {
  const std::string file = std::string(kPlain) + "model: {layers: [2, 4], heads: [4, 8], mlp_dim: 32}\n";
  EXPECT_THAT(Names(Cross(file, {"model.heads=8"})), ElementsAre("layers-2", "layers-4"));
  EXPECT_EQ(Cross(file, {"model.heads=8"}).model().heads(), 8);
  EXPECT_THAT(Names(Cross(file, {"model.layers=1,3"})), ElementsAre("layers-1_heads-4", "layers-1_heads-8", "layers-3_heads-4", "layers-3_heads-8"))
      << "a field keeps its place";
  EXPECT_THAT(Names(Cross(file, {"model.heads=1", "model.layers=7", "model.mlp_dim=16,64"})), ElementsAre("mlp_dim-16", "mlp_dim-64"));
}

TEST(FieldGridTest, AListOfOneValueIsThatValue) {
  const v1::SweepSpec spec = Cross(std::string(kPlain) + "model: {layers: [3], heads: [4, 8]}\n", {"training.steps=5..5", "model.heads=2..2"});
  EXPECT_THAT(Names(spec), ElementsAre());
  EXPECT_EQ(spec.model().layers(), 3);
  EXPECT_EQ(spec.model().heads(), 2);
  EXPECT_EQ(spec.training().steps(), 5);
}

TEST(FieldGridTest, FieldsThatAreListsStayOne) {
  const v1::SweepSpec spec = Cross(std::string(kPlain) + "training: {lengths: [1..3, 9]}\ntable: {title: 'a, b', row_order: [odds_first, even_pairs]}\n",
                                   {"evaluation.lengths=5,6", "seed=0..2"});
  EXPECT_THAT(Names(spec), ElementsAre());
  EXPECT_THAT(spec.training().lengths(), ElementsAre(1, 2, 3, 9));
  EXPECT_THAT(spec.evaluation().lengths(), ElementsAre(5, 6));
  EXPECT_THAT(spec.axes().seed(), ElementsAre(0u, 1u, 2u));
}

TEST(FieldGridTest, EachValueIsCheckedAndNamed) {
  EXPECT_EQ(GridRefusal(kPlain, {"model.layers=2,two"}),
            "error: --set model.layers: 'two' is not a whole number\n"
            "  whole numbers look like 2000000\n");
  EXPECT_EQ(GridRefusal(std::string(kPlain) + "model:\n  layers: [2,\n    3.5]\n"),
            "error: sweep.yaml:5:5: model.layers: '3.5' is not a whole number\n"
            "  whole numbers look like 2000000\n");
  EXPECT_THAT(GridRefusal(kPlain, {"model.layers=2,,4"}), HasSubstr("--set model.layers: an empty value in '2,,4'"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.layers=2,"}), HasSubstr("an empty value in '2,'"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.layers=4..2"}), HasSubstr("the range 4..2 is empty"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.dropout=0..0.3"}), HasSubstr("the range 0..0.3 has no step"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.layers=1..3,2"}), HasSubstr("--set model.layers: '2' is there twice"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.dropout=0.1,0.10"}), HasSubstr("'0.1' is there twice"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.kerple_shared=true,no"}), HasSubstr("'no' is neither true nor false"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.layers=1,3000000000"}), HasSubstr("3000000000 is out of range"));
  EXPECT_THAT(GridRefusal(kPlain, {"training.steps=10,000"}), HasSubstr("--set training.steps: '000' begins with 0"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "model: {layers: []}\n"), HasSubstr("model.layers: a list without a value"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "model: {layers: [1, ~]}\n"), HasSubstr("model.layers: no value"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "model: {layers: [1, [2]]}\n"), HasSubstr("model.layers: a list where one value belongs"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "model: {layers: [1, {a: 2}]}\n"), HasSubstr("model.layers: fields where a value belongs"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.layerz=2,4"}), HasSubstr("--set model.layerz: unknown field 'model.layerz'\n  did you mean 'model.layers'?"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "model: {layerz: [2, 4]}\n"), HasSubstr("unknown field 'layerz'"));
}

TEST(FieldGridTest, WhatCannotVarySaysWhy) {
  EXPECT_EQ(GridRefusal(kPlain, {"experiment=algorithmic,noop"}),
            "error: --set experiment: a list where one value belongs\n"
            "  it belongs to the sweep, not to one of its systems: write a sweep for each\n");
  EXPECT_THAT(GridRefusal(kPlain, {"name=a,b"}), HasSubstr("a name is one word"));
  EXPECT_THAT(GridRefusal("name: [a, b]\n"), HasSubstr("sweep.yaml:1:7: name: a list where one value belongs\n  a name is one word"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + kSystems, {"systems.wide.with.model.mlp_dim=2,4"}),
              HasSubstr("--set systems.wide.with.model.mlp_dim: a list where one value belongs\n  give the list to the sweep's own field"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "systems:\n  - {name: x, with: {model: {layers: [2, 4]}}}\n"),
              HasSubstr("sweep.yaml:4:38: systems.with.model.layers: a list where one value belongs"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "inputs:\n  - {name: weights, artifact: weights, from: {model: {layers: 2..4}}}\n"),
              HasSubstr("inputs.from.model.layers: a list where one value belongs\n  an input comes from one job"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "table: {metric: [a, b]}\n"), HasSubstr("table.metric: a list where one value belongs"));
}

TEST(FieldGridTest, ASystemWithAValueOfItsOwnIsRefused) {
  EXPECT_EQ(GridRefusal(std::string(kPlain) + kSystems, {"model.mlp_dim=128,256"}),
            "error: --set model.mlp_dim: the system 'wide' has a value of its own\n"
            "  take it out of the system, or give the sweep one value\n");
  EXPECT_THAT(GridRefusal(std::string(kPlain) + kSystems + "model: {mlp_dim: [128, 256]}\n"),
              HasSubstr("sweep.yaml:6:18: model.mlp_dim: the system 'wide' has a value of its own"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "systems: [{with: {data: x}}]\n", {"model.layers=2,4"}),
              HasSubstr("--set model.layers: one of the sweep's systems has no name"));
}

TEST(FieldGridTest, AnInputsJobThatHasTheSweepsSettingsIsRefused) {
  const std::string input = std::string(kPlain) + "inputs: [{name: weights, artifact: weights, from: {training: {steps: 5}}}]\n";
  EXPECT_THAT(GridRefusal(input, {"model.layers=2,4"}),
              HasSubstr("--set model.layers: the job behind the input 'weights' has 'model' from the sweep, which has several values of it"));
  EXPECT_THAT(Names(Cross(input, {"training.steps=2,4"})), ElementsAre("steps-2", "steps-4")) << "its training is its own";
  EXPECT_THAT(Names(Cross(input, {"data=a,b"})), ElementsAre("data-a", "data-b")) << "a system's data is that of its inputs too";
  const std::string nested = std::string(kPlain) +
                             "systems: [{name: x, with: {inputs: [{name: scale, metric: loss, from: {model: {layers: 1}, inputs: [{name: weights, artifact: weights}]}}]}}]\n";
  EXPECT_THAT(GridRefusal(nested, {"model.layers=2,4"}), HasSubstr("the input 'scale'"));
}

TEST(FieldGridTest, HasABound) {
  EXPECT_EQ(Cross(kPlain, {"model.layers=1..1000"}).systems_size(), 1000);
  EXPECT_THAT(GridRefusal(kPlain, {"model.layers=1..1001"}), HasSubstr("--set model.layers: 1001 values; at most 1000 are admitted"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.layers=1..999999999"}), HasSubstr("has more than 10000000 values"));
  EXPECT_THAT(GridRefusal(kPlain, {"model.layers=1..40", "training.batch_size=1..50"}),
              HasSubstr("--set training.batch_size: 40 of model.layers x 50 of training.batch_size = 2000 systems; at most 1000 are admitted"));
  EXPECT_THAT(GridRefusal(std::string(kPlain) + kSystems, {"model.layers=1..501"}), HasSubstr("2 systems x 501 of model.layers = 1002 systems"));
  // Each of a thousand copies of a million seeds.
  EXPECT_THAT(GridRefusal(std::string(kPlain) + "systems: [{name: x, with: {axes: {seed: 0..999999}}}]\n", {"model.layers=1..1000"}),
              HasSubstr("too long to be sent to the scheduler 1000 times"));
}

TEST(FieldGridTest, NamesAreDistinctAndShortEnough) {
  EXPECT_THAT(GridRefusal(kPlain, {"data=a/b,a_b"}), HasSubstr("--set data: two systems would have the name 'data-a_b'"));
  EXPECT_THAT(GridRefusal(kPlain, {"data=" + std::string(60, 'a') + "," + std::string(59, 'b')}),
              HasSubstr("and has 65 characters; at most 64 are admitted\n  vary fewer fields at once, or write 'systems:' with names of your own"));
}

class FieldGridCommandTest : public WithFakeScheduler {};

TEST_F(FieldGridCommandTest, WhatIsSentHasSystemsAndNothingElse) {
  const Outcome planned = Run({"plan", "quickstart", "--set", "model.layers=2,4"});
  ASSERT_EQ(planned.code, kDone) << planned.err;
  EXPECT_THAT(Names(scheduler_.submitted.spec()), ElementsAre("layers-2", "layers-4"));
  EXPECT_THAT(planned.err, HasSubstr("longreach run quickstart --set model.layers=2,4"));
}

TEST_F(FieldGridCommandTest, ATableThatMixesSystemsIsNotTheLastWord) {
  EXPECT_THAT(Run({"run", "quickstart", "--set", "model.layers=2,4"}).err, HasSubstr("--rows system"));
  EXPECT_THAT(Run({"run", "quickstart", "--set", "model.layers=2"}).err, Not(HasSubstr("--rows system")));
}

}  // namespace
}  // namespace longreach::client
