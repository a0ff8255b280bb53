// The specification of a heat map: a rectangle for each measured cell, in the table's order.
#include "client/figure/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace longreach::client {
namespace {

using ::testing::ElementsAre;

// Depths 0 and 0.5 by the lengths 512 and 1024, whose texts sort the other way round.
v1::Table Passkeys() {
  v1::Table table;
  table.set_unit("%");
  for (const char* depth : {"0", "0.5"}) table.add_rows()->set_key(depth);
  for (const char* length : {"512", "1024"}) table.add_columns()->set_key(length);
  for (const double value : {100.0, 40.0, 90.0, 0.0}) {
    v1::TableCell& cell = *table.add_cells();
    cell.set_measured(value);
    cell.set_succeeded(3);  // One diverged.
    cell.set_measured_jobs(2);
  }
  return table;
}

HeatMap Map(const v1::Table& table) {
  return {.title = {.text = "t"}, .x_title = "length", .y_title = "depth", .value_title = "passkeys (%)", .panels = {{.title = "nope", .table = table}}};
}

nlohmann::json Of(const HeatMap& map) { return nlohmann::json::parse(VegaLiteOf(map)); }

TEST(HeatMapTest, EachMeasuredCellIsARectangleInTheOrderOfTheTable) {
  v1::Table table = Passkeys();
  table.mutable_cells(2)->clear_measured();

  const nlohmann::json spec = Of(Map(table));

  EXPECT_EQ(PointsOf(Map(table)), 3);
  const nlohmann::json& values = spec["data"]["values"];
  ASSERT_EQ(values.size(), 3);
  EXPECT_EQ(values[1], (nlohmann::json{{"panel", "nope"}, {"x", "1024"}, {"y", "0"}, {"value", 40.0}, {"text", "40.0"}, {"jobs", 2}}));
  const nlohmann::json& encoding = spec["layer"][0]["encoding"];
  EXPECT_EQ(spec["layer"][0]["mark"], "rect");
  EXPECT_THAT(encoding["x"]["sort"].get<std::vector<std::string>>(), ElementsAre("512", "1024"));
  EXPECT_THAT(encoding["y"]["sort"].get<std::vector<std::string>>(), ElementsAre("0", "0.5"));
}

TEST(HeatMapTest, WhatIsNotSetGoesByItsLabel) {
  v1::Table table = Passkeys();
  table.mutable_columns(0)->clear_key();
  table.mutable_columns(0)->set_label("layers not set");
  table.mutable_columns(1)->set_label("layers 1024");

  const nlohmann::json spec = Of(Map(table));

  EXPECT_THAT(spec["layer"][0]["encoding"]["x"]["sort"].get<std::vector<std::string>>(), ElementsAre("layers not set", "1024"));
  EXPECT_EQ(spec["data"]["values"][0]["x"], "layers not set");
}

TEST(HeatMapTest, WordsGoByTheirLabelsAndNumbersByThemselves) {
  v1::Table table = Passkeys();
  table.mutable_columns(0)->set_label("length 512");
  table.mutable_rows(0)->set_key("sin_cos");
  table.mutable_rows(0)->set_label("sin/cos");

  const nlohmann::json spec = Of(Map(table));

  EXPECT_EQ(spec["data"]["values"][0]["x"], "512");
  EXPECT_EQ(spec["data"]["values"][0]["y"], "sin/cos");
  EXPECT_THAT(spec["layer"][0]["encoding"]["y"]["sort"].get<std::vector<std::string>>(), ElementsAre("sin/cos", "0.5"));
}

TEST(HeatMapTest, CellsThatAreLargeEnoughHaveTheirValuesInThem) {
  HeatMap map = Map(Passkeys());
  const nlohmann::json few = Of(map);
  ASSERT_EQ(few["layer"].size(), 2);
  const nlohmann::json& values = few["layer"][1];
  EXPECT_EQ(values["mark"]["type"], "text");
  EXPECT_EQ(values["encoding"]["text"]["field"], "text");
  EXPECT_EQ(values["encoding"]["x"], few["layer"][0]["encoding"]["x"]);
  EXPECT_EQ(values["encoding"]["color"]["condition"]["value"], "white") << "on what is dark";
  EXPECT_EQ(values["encoding"]["color"]["value"], "black");

  v1::Table& wide = map.panels[0].table;
  wide.mutable_rows()->DeleteSubrange(1, 1);
  wide.mutable_cells()->DeleteSubrange(2, 2);
  for (int i = 0; i < 30; ++i) {
    wide.add_columns()->set_key(std::to_string(i));
    *wide.add_cells() = wide.cells(0);
  }
  EXPECT_EQ(Of(map)["layer"].size(), 1) << "32 values do not fit side by side";

  wide = Passkeys();
  wide.mutable_columns()->DeleteSubrange(1, 1);
  wide.mutable_cells()->DeleteSubrange(2, 2);
  for (int i = 0; i < 30; ++i) {
    wide.add_rows()->set_key(std::to_string(i + 1));
    *wide.add_cells() = wide.cells(0);
  }
  EXPECT_EQ(Of(map)["layer"].size(), 1) << "nor below each other";
}

TEST(HeatMapTest, PercentHaveTheSameColoursInAllFigures) {
  EXPECT_EQ(Of(Map(Passkeys()))["layer"][0]["encoding"]["color"]["scale"]["domain"], (nlohmann::json{0, 100}));
  v1::Table nats = Passkeys();
  nats.set_unit("nats");
  EXPECT_FALSE(Of(Map(nats))["layer"][0]["encoding"]["color"]["scale"].contains("domain"));
}

TEST(HeatMapTest, ALogarithmHasNoPlaceForZeroAndPanelsAreFacets) {
  HeatMap map = Map(Passkeys());
  map.panels.push_back({.title = "rope", .table = Passkeys()});
  map.log = true;

  const nlohmann::json spec = Of(map);

  EXPECT_EQ(spec["data"]["values"].size(), 6);
  EXPECT_THAT(spec["facet"]["sort"].get<std::vector<std::string>>(), ElementsAre("nope", "rope"));
  EXPECT_EQ(spec["spec"]["layer"][0]["encoding"]["color"]["scale"]["type"], "log");
}

TEST(HeatMapTest, PanelsOfOtherColumnsHaveAxesOfTheirOwn) {
  HeatMap map = Map(Passkeys());
  map.panels.push_back({.title = "rope", .table = Passkeys()});
  EXPECT_FALSE(Of(map).contains("resolve"));
  map.panels[1].table.mutable_columns(1)->set_key("2048");

  const nlohmann::json spec = Of(map);

  EXPECT_EQ(spec["resolve"], (nlohmann::json{{"scale", {{"x", "independent"}}}}));
  EXPECT_THAT(spec["spec"]["layer"][0]["encoding"]["x"]["sort"].get<std::vector<std::string>>(), ElementsAre("512", "1024", "2048"));
}

}  // namespace
}  // namespace longreach::client
