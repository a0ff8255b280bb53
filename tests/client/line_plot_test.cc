// The specification of a figure: which points, lines and panels it has, and that texts from files cannot end it.
#include "client/figure/line_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace longreach::client {
namespace {

using ::testing::ElementsAre;

// Two lines over the lengths 40 and 80.
v1::Table TwoLines() {
  v1::Table table;
  for (const auto& [key, label] : {std::pair("rope", "RoPE"), std::pair("rope:randomized", "Randomized RoPE")}) {
    v1::TableAxisEntry& row = *table.add_rows();
    row.set_key(key);
    row.set_label(label);
  }
  for (const char* length : {"40", "80"}) table.add_columns()->set_key(length);
  for (const double value : {90.0, 60.0, 95.0, 85.0}) {
    v1::TableCell& cell = *table.add_cells();
    cell.set_measured(value);
    cell.set_succeeded(4);  // One diverged.
    cell.set_measured_jobs(3);
    cell.set_deviation(2);
  }
  return table;
}

LinePlot Plot(const v1::Table& table) {
  return {.title = {.text = "t"}, .x_title = "length", .y_title = "accuracy (%)", .lines_title = "encoding", .panels = {{.title = "", .table = table}}};
}

nlohmann::json Of(const LinePlot& plot) { return nlohmann::json::parse(VegaLiteOf(plot)); }

TEST(LinePlotTest, HasAPointForEachMeasuredCellAndABandOfOneDeviation) {
  v1::Table table = TwoLines();
  table.mutable_cells(3)->clear_measured();  // Not there yet.

  const nlohmann::json spec = Of(Plot(table));

  EXPECT_EQ(PointsOf(Plot(table)), 3);
  const nlohmann::json& values = spec["data"]["values"];
  ASSERT_EQ(values.size(), 3);
  EXPECT_EQ(values[1]["line"], "RoPE");
  EXPECT_EQ(values[1]["x"], 80);
  EXPECT_EQ(values[1]["y"], 60);
  EXPECT_EQ(values[1]["low"], 58);
  EXPECT_EQ(values[1]["high"], 62);
  EXPECT_EQ(values[1]["jobs"], 3);
  EXPECT_EQ(spec["layer"].size(), 3);  // Bands, lines, dots.
}

TEST(LinePlotTest, EveryNameIsInTheLegendAndWhole) {
  const auto lines = [](int count) {
    v1::Table table;
    table.add_columns()->set_key("40");
    for (int i = 0; i < count; ++i) {
      table.add_rows()->set_key("layers-2_batch_size-16_clip_norm-0.5_max_position-" + std::to_string(i));
      table.add_cells()->set_measured(i);
    }
    return Of(Plot(table));
  };
  const nlohmann::json few = lines(30), many = lines(61);
  const auto legend = [](const nlohmann::json& spec) { return spec["layer"][0]["encoding"]["color"]["legend"]; };
  EXPECT_FALSE(legend(few).contains("symbolLimit"));
  EXPECT_EQ(legend(many)["symbolLimit"], 61);
  EXPECT_EQ(legend(many)["columns"], 3);
  EXPECT_EQ(few["config"]["legend"]["labelLimit"], 0) << "none is cut";
  EXPECT_EQ(few["config"]["axis"]["labelLimit"], 0);
}

TEST(LinePlotTest, AnEncodingAndItsRandomizedFormShareAColour) {
  const nlohmann::json spec = Of(Plot(TwoLines()));

  EXPECT_EQ(spec["data"]["values"][0]["encoding"], "RoPE");
  EXPECT_EQ(spec["data"]["values"][2]["encoding"], "RoPE");
  EXPECT_EQ(spec["data"]["values"][2]["positions"], "randomized");
  const nlohmann::json& encoding = spec["layer"][1]["encoding"];
  EXPECT_EQ(encoding["color"]["field"], "encoding");
  EXPECT_THAT(encoding["color"]["sort"].get<std::vector<std::string>>(), ElementsAre("RoPE"));
  EXPECT_EQ(encoding["strokeDash"]["field"], "positions");
  // Of dashes, not of the dots, which would look alike in it.
  EXPECT_EQ(encoding["strokeDash"]["legend"]["symbolType"], "stroke");
  const nlohmann::json& dots = spec["layer"][2];
  EXPECT_EQ(dots["mark"]["type"], "point");
  EXPECT_FALSE(dots["encoding"].contains("strokeDash"));
  EXPECT_EQ(dots["encoding"]["shape"]["field"], "positions");
  EXPECT_TRUE(dots["encoding"]["shape"]["legend"].is_null());
}

TEST(LinePlotTest, BandsEndWhereValuesDo) {
  v1::Table table = TwoLines();
  table.set_unit("%");
  for (v1::TableCell& cell : *table.mutable_cells()) cell.set_deviation(70);
  EXPECT_EQ(Of(Plot(table))["data"]["values"][1]["low"], 0);
  EXPECT_EQ(Of(Plot(table))["data"]["values"][1]["high"], 100);
  table.set_unit("nats");
  EXPECT_EQ(Of(Plot(table))["data"]["values"][1]["low"], 0);
  EXPECT_EQ(Of(Plot(table))["data"]["values"][1]["high"], 130);
  table.set_unit("");
  EXPECT_EQ(Of(Plot(table))["data"]["values"][1]["low"], -10);
  table.set_metric("perplexity");
  EXPECT_EQ(Of(Plot(table))["data"]["values"][1]["low"], 1);
}

TEST(LinePlotTest, AnAxisOfWholeNumbersHasNoTicksBetweenThem) {
  v1::Table table = TwoLines();
  EXPECT_EQ(Of(Plot(table))["layer"][1]["encoding"]["x"]["axis"]["tickMinStep"], 1);
  table.mutable_columns(0)->set_key("1");
  table.mutable_columns(1)->set_key("3");
  EXPECT_EQ(Of(Plot(table))["layer"][1]["encoding"]["x"]["axis"]["values"], (std::vector{1, 2, 3})) << "of a few there would be halves";
  table.mutable_columns(0)->set_key("0.0001");
  EXPECT_FALSE(Of(Plot(table))["layer"][1]["encoding"]["x"].contains("axis"));
}

TEST(LinePlotTest, NumbersThatAreTooLargeToBeCountedHaveAnAxisToo) {
  v1::Table table = TwoLines();
  for (const auto& [first, second] : {std::pair("9007199254740992", "9007199254740994"), std::pair("2000000000", "2000000003")}) {
    table.mutable_columns(0)->set_key(first);
    table.mutable_columns(1)->set_key(second);
    EXPECT_EQ(Of(Plot(table))["layer"][1]["encoding"]["x"]["axis"], (nlohmann::json{{"tickMinStep", 1}})) << first;
  }
}

TEST(LinePlotTest, TheTrainingLengthIsAmongTheTicks) {
  v1::Table table = TwoLines();
  table.mutable_columns(0)->set_key("3");
  table.mutable_columns(1)->set_key("4");
  LinePlot plot = Plot(table);
  plot.trained = 1;
  EXPECT_EQ(Of(plot)["layer"][1]["encoding"]["x"]["axis"]["values"], (std::vector{1, 2, 3, 4}));
  plot.trained = 40;
  EXPECT_EQ(Of(plot)["layer"][1]["encoding"]["x"]["axis"]["tickMinStep"], 1) << "too many to be listed";
}

TEST(LinePlotTest, EachOfAFewValuesOfAnAxisHasATick) {
  v1::Table table = TwoLines();
  table.mutable_columns(0)->set_key("0.0003");
  table.mutable_columns(1)->set_key("0.001");
  LinePlot plot = Plot(table);
  plot.x_log = plot.x_each = true;
  const auto axis = [&plot] { return Of(plot)["layer"][1]["encoding"]["x"]["axis"]; };
  EXPECT_EQ(axis()["values"], (std::vector{0.0003, 0.001}));
  EXPECT_FALSE(axis().contains("labelAngle"));

  v1::Table& drawn = plot.panels[0].table;
  drawn.mutable_columns(0)->set_key("0.00099");
  const v1::TableAxisEntry least = [] { v1::TableAxisEntry entry; entry.set_key("0.00001"); return entry; }();
  *drawn.add_columns() = least;
  drawn.mutable_cells()->DeleteSubrange(3, 1);  // One row of three.
  drawn.mutable_rows()->DeleteSubrange(1, 1);
  EXPECT_EQ(axis()["values"], (std::vector{0.00001, 0.00099, 0.001})) << "in their order";
  EXPECT_EQ(axis()["labelAngle"], -90) << "the last two would run together";

  drawn.mutable_columns(0)->set_key("3");
  drawn.mutable_columns(1)->set_key("7");
  drawn.mutable_columns(2)->set_key("3");
  plot.x_log = false;
  EXPECT_EQ(axis()["values"], (std::vector{3.0, 7.0})) << "none between those of seeds";

  for (int i = 0; i < 40; ++i) {
    drawn.add_columns()->set_key(std::to_string(100 + i));
    *drawn.add_cells() = drawn.cells(0);
  }
  EXPECT_FALSE(axis().contains("values")) << "too many";
}

TEST(LinePlotTest, LinesKeepTheOrderOfTheTable) {
  v1::Table table = TwoLines();
  table.mutable_rows(0)->set_key("b");
  table.mutable_rows(0)->set_label("z last");
  table.mutable_rows(1)->set_key("a");
  table.mutable_rows(1)->set_label("a first");

  const nlohmann::json spec = Of(Plot(table));

  EXPECT_THAT(spec["layer"][1]["encoding"]["color"]["sort"].get<std::vector<std::string>>(), ElementsAre("z last", "a first"));
  EXPECT_FALSE(spec["layer"][1]["encoding"].contains("strokeDash"));
}

TEST(LinePlotTest, PanelsAreFacetsAndTheTrainingLengthIsALine) {
  LinePlot plot = Plot(TwoLines());
  plot.panels = {{.title = "Even Pairs", .table = TwoLines()}, {.title = "Bucket Sort", .table = TwoLines()}};
  plot.trained = 40;

  const nlohmann::json spec = Of(plot);

  EXPECT_EQ(spec["data"]["values"].size(), 8);
  EXPECT_THAT(spec["facet"]["sort"].get<std::vector<std::string>>(), ElementsAre("Even Pairs", "Bucket Sort"));
  const nlohmann::json& rule = spec["spec"]["layer"].back();
  EXPECT_EQ(rule["mark"]["type"], "rule");
  EXPECT_EQ(rule["encoding"]["x"]["datum"], 40);
  EXPECT_EQ(rule["mark"]["description"], "the longest in training") << "without one, who hears the page hears of a mark without a name";
}

TEST(LinePlotTest, ChanceIsADottedLineWithItsNameDrawnOnce) {
  LinePlot plot = Plot(TwoLines());
  plot.chance = 50;
  plot.trained = 40;

  const nlohmann::json spec = Of(plot);

  EXPECT_EQ(spec["data"]["values"].size(), 4) << "no point";
  const nlohmann::json& layers = spec["layer"];
  ASSERT_EQ(layers.size(), 6);
  EXPECT_EQ(layers[3]["mark"]["type"], "rule");
  EXPECT_EQ(layers[3]["mark"]["description"], "chance");
  EXPECT_EQ(layers[3]["encoding"], (nlohmann::json{{"y", {{"datum", 50}}}}));
  EXPECT_EQ(layers[4]["mark"]["text"], "chance");
  EXPECT_EQ(layers[4]["encoding"]["y"]["datum"], 50);
  for (const size_t layer : {3u, 4u}) EXPECT_EQ(layers[layer]["data"]["values"].size(), 1) << layer;
  EXPECT_TRUE(layers[5]["encoding"]["x"].contains("datum"));

  plot.y_log = true;
  EXPECT_LT(Of(plot)["layer"][1]["encoding"]["y"]["scale"]["domain"][0], 50) << "it is on the axis, below all points";
}

TEST(LinePlotTest, LogarithmsAndNumbersThatAreNoneLeavePointsOut) {
  v1::Table table = TwoLines();
  table.mutable_cells(0)->set_measured(0);
  table.mutable_cells(1)->set_measured(std::numeric_limits<double>::infinity());
  table.mutable_cells(2)->set_measured(1);  // Its band would reach below 0.
  LinePlot plot = Plot(table);
  EXPECT_EQ(PointsOf(plot), 3);
  plot.y_log = true;

  const nlohmann::json spec = Of(plot);

  ASSERT_EQ(spec["data"]["values"].size(), 2);
  EXPECT_EQ(spec["data"]["values"][0]["low"], 1);
  EXPECT_EQ(spec["layer"][1]["encoding"]["y"]["scale"]["type"], "log");
}

TEST(LinePlotTest, ALogarithmicAxisEndsAtTheDataAndHasTicksWithin) {
  v1::Table table = TwoLines();
  for (v1::TableCell& cell : *table.mutable_cells()) cell.clear_deviation();
  LinePlot plot = Plot(table);
  plot.y_log = true;
  const auto axis = [&plot](double least, double most) {
    v1::Table& drawn = plot.panels[0].table;
    for (v1::TableCell& cell : *drawn.mutable_cells()) cell.set_measured(least);
    drawn.mutable_cells(3)->set_measured(most);
    return Of(plot)["layer"][0]["encoding"]["y"];
  };
  const nlohmann::json few = axis(1.2, 6);
  EXPECT_EQ(few["scale"]["nice"], false);
  EXPECT_NEAR(few["scale"]["domain"][0].get<double>(), 1.2, 0.08);
  EXPECT_LT(few["scale"]["domain"][0], 1.2);
  EXPECT_NEAR(few["scale"]["domain"][1].get<double>(), 6, 0.4);
  EXPECT_GT(few["scale"]["domain"][1], 6);
  EXPECT_FALSE(few.contains("axis")) << "2 and 5 alone are too few";
  EXPECT_EQ(axis(0.00019, 0.0021)["axis"]["values"], (std::vector{0.0002, 0.0005, 0.001, 0.002}));
  EXPECT_FALSE(axis(0.9, 150).contains("axis")) << "powers of ten are enough";
  EXPECT_GT(axis(3, 3)["scale"]["domain"][1], 3);
  EXPECT_LT(axis(1e-300, 1.7e308)["scale"]["domain"][1], std::numeric_limits<double>::infinity());
  plot.y_log = false;
  EXPECT_FALSE(axis(1.2, 6)["scale"].contains("domain"));
}

TEST(LinePlotTest, ALogarithmicAxisHoldsBandsToo) {
  v1::Table table = TwoLines();
  LinePlot plot = Plot(table);
  plot.y_log = true;
  const nlohmann::json domain = Of(plot)["layer"][0]["encoding"]["y"]["scale"]["domain"];
  EXPECT_LT(domain[0], 58);
  EXPECT_GT(domain[1], 97);
}

TEST(LinePlotTest, TextsFromElsewhereStayTexts) {
  LinePlot plot = Plot(TwoLines());
  plot.title.text = "a\"},\n\x1b[31m \xff";
  EXPECT_EQ(Of(plot)["title"]["text"], R"(a"},\x0a\x1b[31m \xff)");
}

TEST(LinePlotTest, PanelsThatBelongTogetherFillWholeRows) {
  LinePlot plot = Plot(TwoLines());
  for (int i = 1; i < 16; ++i) plot.panels.push_back({.title = std::to_string(i), .table = TwoLines()});
  const auto in_row = [&plot](size_t together) {
    plot.panels_together = together;
    return Of(plot)["columns"].get<int>();
  };

  EXPECT_EQ(in_row(0), 3);
  EXPECT_EQ(in_row(2), 2);
  EXPECT_EQ(in_row(4), 4);
  EXPECT_EQ(in_row(6), 6);
  EXPECT_EQ(in_row(8), 4) << "two rows each";
  EXPECT_EQ(in_row(1), 3);
  EXPECT_EQ(in_row(7), 3) << "in their order, as where none belong together";
}

}  // namespace
}  // namespace longreach::client
