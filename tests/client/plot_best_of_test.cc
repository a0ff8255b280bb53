// `plot --best-of`: lines at the best value of an axis, chosen once for each.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/plot_best_of.h"
#include "tests/client/plot_fixture.h"

namespace longreach::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Cells of three jobs each; a negative value stands for none.
v1::Table TableOf(const std::string& metric, const std::vector<std::string>& columns, const std::vector<std::pair<std::string, std::vector<double>>>& rows) {
  v1::Table table;
  table.set_metric(metric);
  for (const std::string& column : columns) table.add_columns()->set_key(column);
  for (const auto& [row, values] : rows) {
    table.add_rows()->set_key(row);
    table.mutable_rows(table.rows_size() - 1)->set_label("label of " + row);
    for (const double value : values) {
      v1::TableCell& cell = *table.add_cells();
      if (value < 0) continue;
      cell.set_measured(value);
      cell.set_measured_jobs(3);
    }
  }
  return table;
}

std::vector<std::string> KeysOf(const v1::Table& table) {
  std::vector<std::string> keys;
  for (const v1::TableAxisEntry& row : table.rows()) keys.push_back(row.key());
  return keys;
}

TEST(AtBestValuesTest, ALineHasOneValueAtAllPoints) {
  // At length 9 the other rate is better for each.
  const v1::Table by_value = TableOf("accuracy", {"6", "9"}, {{"alibi,0.0001", {30, 99}}, {"alibi,0.001", {81, 80}}, {"rope,0.0001", {71, 70}}, {"rope,0.001", {20, 98}}});
  const v1::Table choice = TableOf("accuracy", {"0.0001", "0.001"}, {{"rope", {70, 60}}, {"alibi", {60, 80}}});

  const v1::Table best = AtBestValues(choice, by_value, {"learning_rate"});

  EXPECT_THAT(KeysOf(best), ElementsAre("rope", "alibi")) << "in the order of the lines";
  EXPECT_EQ(best.rows(0).label(), "label of rope");
  ASSERT_EQ(best.cells_size(), 4);
  EXPECT_EQ(best.cells(0).measured(), 71);
  EXPECT_EQ(best.cells(1).measured(), 70);
  EXPECT_EQ(best.cells(1).best_of(), "0.0001");
  EXPECT_EQ(best.cells(2).measured(), 81);
  EXPECT_EQ(best.cells(3).measured(), 80);
  EXPECT_EQ(best.cells(3).best_of(), "0.001");
  EXPECT_THAT(best.notes(), IsEmpty());
}

TEST(AtBestValuesTest, TheBestIsTheLowestWhereThatIsBetter) {
  const v1::Table by_value = TableOf("training_loss", {"10"}, {{"rope,0.0001", {1}}, {"rope,0.001", {2}}});
  const v1::Table choice = TableOf("training_loss", {"0.0001", "0.001"}, {{"rope", {1, 2}}});
  EXPECT_EQ(AtBestValues(choice, by_value, {"learning_rate"}).cells(0).best_of(), "0.0001");
}

// Which is the first in the order of the axis, as columns are.
TEST(AtBestValuesTest, OfEqualOnesItIsTheOneThatTablesTakeAndIsSaidToBeOneOfThem) {
  const v1::Table by_value = TableOf("accuracy", {"6"}, {{"rope,8", {1}}, {"rope,16", {2}}, {"rope,32", {3}}, {"alibi,8", {1}}, {"alibi,16", {2}}, {"alibi,32", {3}}});
  const v1::Table choice = TableOf("accuracy", {"8", "16", "32"}, {{"rope", {50, 60, 60}}, {"alibi", {60, 60, 70}}});
  const v1::Table best = AtBestValues(choice, by_value, {"training.batch_size"});
  ASSERT_EQ(best.cells_size(), 2);
  EXPECT_EQ(best.cells(0).best_of(), "16");
  EXPECT_EQ(best.cells(1).best_of(), "32");
  EXPECT_THAT(best.notes(), ElementsAre("1 line is equally good at several values of training.batch_size, of which the first is drawn: label of rope (2 values)"));
}

TEST(AtBestValuesTest, OfSeveralAxesItIsACombination) {
  const v1::Table by_value = TableOf("accuracy", {"6"}, {{"a\\,b,0.0001,2", {1}}, {"a\\,b,0.001,2", {2}}});
  const v1::Table choice = TableOf("accuracy", {"0.0001,2", "0.001,2"}, {{"a,b", {50, 60}}});
  const v1::Table best = AtBestValues(choice, by_value, {"learning_rate", "model.layers"});
  ASSERT_EQ(best.cells_size(), 1);
  EXPECT_EQ(best.cells(0).measured(), 2);
  EXPECT_EQ(best.cells(0).best_of(), "0.001,2");
}

TEST(AtBestValuesTest, ALineWithoutAnyValueIsNone) {
  const v1::Table by_value = TableOf("accuracy", {"6"}, {{"rope,0.001", {1}}, {"alibi,0.001", {-1}}});
  const v1::Table choice = TableOf("accuracy", {"0.001"}, {{"alibi", {-1}}, {"rope", {50}}});
  EXPECT_THAT(KeysOf(AtBestValues(choice, by_value, {"learning_rate"})), ElementsAre("rope"));
}

TEST(AtBestValuesTest, AnUnfairChoiceIsNoted) {
  const v1::Table by_value = TableOf("accuracy", {"6"}, {{"rope,0.0001", {1}}, {"rope,0.001", {1}}, {"alibi,0.001", {1}}});
  v1::Table choice = TableOf("accuracy", {"0.0001", "0.001"}, {{"alibi", {-1, 50}}, {"rope", {50, 60}}});
  choice.mutable_cells(2)->set_measured_jobs(2);
  choice.add_notes("systems were tested at other lengths");
  AddTypedNote(choice, v1::TableNote::KIND_ONLY, "length", "only length 41 to 60: of each job the mean over them");
  EXPECT_THAT(AtBestValues(choice, by_value, {"learning_rate"}).notes(),
              ElementsAre("systems were tested at other lengths", "of learning_rate lines have 1 to 2 to choose from: the best of more is better by chance alone",
                          "1 line compares values of learning_rate over unlike numbers of jobs: label of rope (2 to 3)"));
}

TEST(AtBestValuesTest, HowOftenEachWasChosenIsSaidOfAllPanels) {
  const v1::Table choice = TableOf("accuracy", {"0.0003", "0.001"}, {{"alibi", {50, 60}}, {"rope", {50, 60}}});
  const v1::Table by_value = TableOf("accuracy", {"6"}, {{"alibi,0.0003", {1}}, {"alibi,0.001", {1}}, {"rope,0.0003", {1}}, {"rope,0.001", {1}}});
  const v1::Table other = TableOf("accuracy", {"0.0003", "0.001"}, {{"alibi", {50, 60}}, {"rope", {60, 50}}});
  std::vector<PlotPanel> panels(2);
  panels[0].table = AtBestValues(choice, by_value, {"learning_rate"});
  panels[1].table = AtBestValues(other, by_value, {"learning_rate"});
  EXPECT_EQ(NoteOnBestValues(panels, {"learning_rate"}, "mean over all test lengths"),
            "learning_rate chosen for each line by its mean over all test lengths: 0.0003 in 1 line, 0.001 in 3 lines");
  EXPECT_EQ(NoteOnBestValues({}, {"learning_rate"}, "mean over all test lengths"), "");
}

using PlotBestOfTest = PlotTest;

TEST_F(PlotBestOfTest, PointsNameTheValueOfTheirLine) {
  v1::Axes& axes = *scheduler_.sweep.mutable_spec()->mutable_axes();
  for (const double rate : {3e-4, 1e-3}) axes.add_learning_rate(rate);
  for (const uint32_t seed : {0u, 1u}) axes.add_seed(seed);
  // One answer stands for both questions: its first row is the line with its rates, the second the line at one of them by lengths.
  const v1::Table both = TableOf("accuracy", {"0.001", "0.0003"}, {{"rope", {80, 70}}, {"rope,0.001", {82, 81}}});
  scheduler_.table = both;
  for (v1::TableCell& cell : *scheduler_.table.mutable_cells()) cell.set_deviation(1);

  const Outcome outcome = Run("a.vl.json", {"--best-of", "learning_rate"});

  ASSERT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(scheduler_.table_request.table().rows(), "encoding,learning_rate");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "length");
  EXPECT_THAT(scheduler_.table_request.table().best_of(), IsEmpty()) << "which each point would have of its own";
  const nlohmann::json spec = nlohmann::json::parse(Written("a.vl.json"));
  ASSERT_EQ(spec["data"]["values"].size(), 2u);
  for (const nlohmann::json& value : spec["data"]["values"]) {
    EXPECT_EQ(value["best_of"], "0.001");
    EXPECT_EQ(value["line"], "label of rope");
  }
  EXPECT_EQ(spec["data"]["values"][0]["y"], 82);
  EXPECT_EQ(spec["data"]["values"][1]["y"], 81);
  EXPECT_THAT(Written("a.vl.json"), HasSubstr("\"mean over seeds at the best learning rate; bands: standard deviation\""));
  EXPECT_THAT(Written("a.vl.json"), HasSubstr("learning_rate chosen for each line by its mean over all test lengths: 0.001 in 1 line"));
  EXPECT_THAT(Written("a.vl.json"), HasSubstr("\"title\": \"best learning rate\""));
}

TEST_F(PlotBestOfTest, PointsOfOneJobHaveNoBandsAndNoneAreTold) {
  v1::Axes& axes = *scheduler_.sweep.mutable_spec()->mutable_axes();
  for (const double rate : {3e-4, 1e-3}) axes.add_learning_rate(rate);
  scheduler_.table = TableOf("accuracy", {"0.001", "0.0003"}, {{"rope", {80, 70}}, {"rope,0.001", {82, 81}}});

  ASSERT_EQ(Run("a.vl.json", {"--best-of", "learning_rate"}).code, kDone);

  EXPECT_THAT(Written("a.vl.json"), HasSubstr("\"at the best learning rate\""));
  EXPECT_THAT(Written("a.vl.json"), Not(HasSubstr("bands")));
}

TEST_F(PlotBestOfTest, WithoutItPointsNameNone) {
  EXPECT_EQ(Run("a.vl.json").code, kDone);
  EXPECT_THAT(Written("a.vl.json"), Not(HasSubstr("best")));
}

TEST_F(PlotBestOfTest, RefusesWhatHasNoLinesToChooseFor) {
  const auto refused = [&](std::vector<std::string> more, const std::string& text) {
    more.insert(more.begin(), {"--best-of", "learning_rate"});
    const Outcome outcome = Run("a.vl.json", std::move(more));
    EXPECT_EQ(outcome.code, kUsage) << text;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  };
  refused({"--x", "learning_rate"}, "--best-of learning_rate: it is an axis of this figure");
  refused({"--lines", "learning_rate"}, "--best-of learning_rate: it is an axis of this figure");
  refused({"--lines", "layer"}, "--best-of beside --lines layer: that is of the values of one job");
  refused({"--x", "layer", "--lines", "length"}, "--best-of beside --lines length");
  refused({"--panels", "depth"}, "--best-of beside --panels depth");
  refused({"--y", "depth"}, "--best-of: it is chosen for each line");
  refused({"--x", "head_scale", "--points", "head"}, "--best-of: it is chosen for each line");
  refused({"--metric", "attention_entropy"}, "--best-of: of attention_entropy neither more nor less is better");
  EXPECT_THAT(Run("a.vl.json", {"--best-of", "length"}).err, HasSubstr("--best-of: unknown value 'length'"));
}

}  // namespace
}  // namespace longreach::client
