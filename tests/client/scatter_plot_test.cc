// One metric against another: which points there are, and how they go together.
#include "client/figure/scatter_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace longreach::client {
namespace {

using ::testing::ElementsAre;

// A layer with these values of its heads; NaN: not measured.
v1::Table Layer(const std::vector<std::pair<std::string, double>>& heads) {
  v1::Table table;
  v1::TableAxisEntry& row = *table.add_rows();
  row.set_key("3");
  row.set_label("layer 3");
  for (const auto& [head, value] : heads) {
    table.add_columns()->set_key(head);
    v1::TableCell& cell = *table.add_cells();
    if (!std::isnan(value)) cell.set_measured(value);
  }
  return table;
}

ScatterPlot Plot(const v1::Table& x, const v1::Table& y) {
  return {.title = {.text = "t"}, .x_title = "scale", .y_title = "entropy", .lines_title = "layer", .points_title = "head", .x = {{.title = "", .table = x}},
          .y = {{.title = "", .table = y}}};
}

TEST(ScatterPlotTest, APointIsACellThatBothTablesHaveWhateverTheirOrder) {
  const ScatterPlot plot = Plot(Layer({{"2", 1.75}, {"0", 1.25}, {"9", 1}}), Layer({{"0", 5}, {"1", 4}, {"2", 3}, {"9", NAN}}));

  const nlohmann::json values = nlohmann::json::parse(VegaLiteOf(plot))["data"]["values"];

  EXPECT_EQ(PointsOf(plot), 2);
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[0], (nlohmann::json{{"panel", ""}, {"line", "layer 3"}, {"point", "0"}, {"x", 1.25}, {"y", 5.0}}));
  EXPECT_EQ(values[1], (nlohmann::json{{"panel", ""}, {"line", "layer 3"}, {"point", "2"}, {"x", 1.75}, {"y", 3.0}}));
}

TEST(ScatterPlotTest, PanelsGoTogetherByTheirKeys) {
  ScatterPlot plot = Plot(Layer({{"0", 1}}), Layer({{"0", 2}}));
  plot.x[0].key = plot.y[0].key = "b";
  plot.y.insert(plot.y.begin(), {.title = "has no x", .key = "a", .table = Layer({{"0", 3}})});

  const nlohmann::json values = nlohmann::json::parse(VegaLiteOf(plot))["data"]["values"];

  ASSERT_EQ(values.size(), 1);
  EXPECT_EQ(values[0]["x"], 1);
  EXPECT_EQ(values[0]["y"], 2);
}

TEST(ScatterPlotTest, CorrelationIsPearsonsAndTheSlopeThatOfTheLineInTheFigure) {
  // Worked out by hand: means 2 and 4; xx = 2, yy = 14, xy = -5.
  const ScatterPlot plot = Plot(Layer({{"0", 1}, {"1", 2}, {"2", 3}}), Layer({{"0", 6}, {"1", 5}, {"2", 1}}));

  const std::vector<Correlation> correlations = CorrelationsOf(plot);

  ASSERT_EQ(correlations.size(), 1);
  EXPECT_EQ(correlations[0].line, "layer 3");
  EXPECT_EQ(correlations[0].points, 3);
  EXPECT_DOUBLE_EQ(correlations[0].slope, -2.5);
  EXPECT_DOUBLE_EQ(correlations[0].r, -5 / std::sqrt(28.0));
  const nlohmann::json fit = nlohmann::json::parse(VegaLiteOf(plot))["layer"][1]["transform"];
  EXPECT_EQ(fit[2]["regression"], "y");
  EXPECT_THAT(fit[2]["groupby"].get<std::vector<std::string>>(), ElementsAre("panel", "line"));
}

// Vega's exponential fit would weigh points by their y.
TEST(ScatterPlotTest, TheLineOfALogarithmIsThatOfLeastSquaresOfLogarithms) {
  ScatterPlot plot = Plot(Layer({{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}}), Layer({{"0", 1}, {"1", 10}, {"2", 10}, {"3", 1000}}));
  plot.y_log = true;
  EXPECT_NEAR(CorrelationsOf(plot)[0].slope, 0.9 * std::log(10.0), 1e-12);
  const nlohmann::json fit = nlohmann::json::parse(VegaLiteOf(plot))["layer"][1]["transform"];
  ASSERT_EQ(fit.size(), 5);
  EXPECT_EQ(fit[2], (nlohmann::json{{"calculate", "log(datum.y)"}, {"as", "ln_y"}}));
  EXPECT_EQ(fit[3]["regression"], "ln_y");
  EXPECT_FALSE(fit[3].contains("method"));
  EXPECT_EQ(fit[4], (nlohmann::json{{"calculate", "exp(datum.ln_y)"}, {"as", "y"}}));
}

TEST(ScatterPlotTest, TwoPointsAndPointsOfOneXHaveNoCorrelation) {
  EXPECT_TRUE(CorrelationsOf(Plot(Layer({{"0", 1}, {"1", 2}}), Layer({{"0", 6}, {"1", 5}}))).empty());
  EXPECT_TRUE(CorrelationsOf(Plot(Layer({{"0", 1}, {"1", 1}, {"2", 1}}), Layer({{"0", 6}, {"1", 5}, {"2", 4}}))).empty());
}

TEST(ScatterPlotTest, ALogarithmLeavesOutWhatIsNotAboveZero) {
  ScatterPlot plot = Plot(Layer({{"0", 1}, {"1", 2}}), Layer({{"0", 0}, {"1", 5}}));
  EXPECT_EQ(PointsOf(plot), 2);
  plot.y_log = true;
  EXPECT_EQ(PointsOf(plot), 1);
}

}  // namespace
}  // namespace longreach::client
