#include "client/figure/scatter_plot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "client/output/text.h"
#include "proto/base/line_fit.h"

namespace longreach::client {
namespace {

// A straight line through two says nothing.
constexpr int kLeastOfLine = 3;

// By the keys of row and column.
std::map<std::pair<std::string, std::string>, double> MeasuredOf(const v1::Table& table) {
  std::map<std::pair<std::string, std::string>, double> measured;
  for (int i = 0; i < table.cells_size(); ++i) {
    const v1::TableCell& cell = table.cells(i);
    if (!cell.has_measured() || !std::isfinite(cell.measured())) continue;
    measured.emplace(std::pair(table.rows(i / table.columns_size()).key(), table.columns(i % table.columns_size()).key()), cell.measured());
  }
  return measured;
}

template <typename Use>
void ForEachPoint(const ScatterPlot& plot, const Use& use) {
  for (const PlotPanel& panel : plot.y) {
    const auto same = std::ranges::find(plot.x, panel.key, &PlotPanel::key);
    if (same == plot.x.end()) continue;
    const auto x = MeasuredOf(same->table), y = MeasuredOf(panel.table);
    for (const v1::TableAxisEntry& row : panel.table.rows()) {
      for (const v1::TableAxisEntry& column : panel.table.columns()) {
        const auto at_x = x.find({row.key(), column.key()}), at_y = y.find({row.key(), column.key()});
        if (at_x == x.end() || at_y == y.end()) continue;
        if (plot.y_log && at_y->second <= 0) continue;  // A logarithm has no place for it.
        use(panel, row, column, at_x->second, at_y->second);
      }
    }
  }
}

}  // namespace

std::string VegaLiteOf(const ScatterPlot& plot) {
  VegaJson values = VegaJson::array();
  VegaJson lines = VegaJson::array();
  ForEachPoint(plot, [&](const PlotPanel& panel, const v1::TableAxisEntry& row, const v1::TableAxisEntry& column, double x, double y) {
    values.push_back({{"panel", Printable(panel.title)}, {"line", LabelOf(row)}, {"point", LabelOf(column)}, {"x", x}, {"y", y}});
    if (const VegaJson line = LabelOf(row); std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  });
  const VegaJson x = NumberAxis("x", plot.x_title, false, true);
  VegaJson y = NumberAxis("y", plot.y_title, plot.y_log, true);
  EndAtData(y, values, {"y"});
  VegaJson colour = {{"field", "line"}, {"type", "nominal"}, {"title", plot.lines_title}, {"sort", lines},
                           {"scale", {{"scheme", ColourScheme(lines.size())}, {"domain", lines}}}};
  if (VegaJson legend = LegendOf(lines.size()); !legend.empty()) colour["legend"] = std::move(legend);
  const VegaJson groups = {"panel", "line"};
  VegaJson fits = {{{"joinaggregate", {{{"op", "count"}, {"as", "points"}}}}, {"groupby", groups}}, {{"filter", "datum.points >= " + std::to_string(kLeastOfLine)}}};
  // Of logarithms by hand: Vega's own exponential fit weighs each point by its y, and would be another line than the one whose slope is printed.
  if (plot.y_log) fits.push_back({{"calculate", "log(datum.y)"}, {"as", "ln_y"}});
  fits.push_back({{"regression", plot.y_log ? "ln_y" : "y"}, {"on", "x"}, {"groupby", groups}});
  if (plot.y_log) fits.push_back({{"calculate", "exp(datum.ln_y)"}, {"as", "y"}});
  VegaJson layers = VegaJson::array();
  layers.push_back({{"mark", {{"type", "point"}, {"filled", true}, {"opacity", 0.8}}},
                    {"encoding",
                     {{"x", x},
                      {"y", y},
                      {"color", colour},
                      {"tooltip", {{{"field", "line"}, {"type", "nominal"}, {"title", plot.lines_title}},
                                   {{"field", "point"}, {"type", "nominal"}, {"title", plot.points_title}},
                                   {{"field", "x"}, {"type", "quantitative"}, {"title", plot.x_title}},
                                   {{"field", "y"}, {"type", "quantitative"}, {"title", plot.y_title}}}}}}});
  layers.push_back({{"transform", fits},
                    {"mark", {{"type", "line"}, {"opacity", 0.6}, {"clip", true}}},  // An axis that ends at the points may be too short for it.
                    {"encoding", {{"x", x}, {"y", y}, {"color", colour}}}});
  return VegaLiteText(plot.title, plot.y, std::move(values), layers);
}

int PointsOf(const ScatterPlot& plot) {
  int points = 0;
  ForEachPoint(plot, [&points](const auto&...) { ++points; });
  return points;
}

std::vector<Correlation> CorrelationsOf(const ScatterPlot& plot) {
  struct Line {
    std::string panel;
    std::string label;
    std::vector<double> x = {};
    std::vector<double> y = {};
  };
  std::vector<Line> lines;  // Points of one come one after the other.
  ForEachPoint(plot, [&](const PlotPanel& panel, const v1::TableAxisEntry& row, const v1::TableAxisEntry&, double x, double y) {
    if (lines.empty() || lines.back().panel != panel.title || lines.back().label != LabelOf(row)) lines.push_back({panel.title, LabelOf(row)});
    lines.back().x.push_back(x);
    lines.back().y.push_back(plot.y_log ? std::log(y) : y);
  });
  std::vector<Correlation> correlations;
  for (const Line& line : lines) {
    if (line.x.size() < kLeastOfLine) continue;
    const absl::StatusOr<FittedLine> fit = FitLine(line.x, line.y);
    if (!fit.ok() || !fit->correlation) continue;
    correlations.push_back(
        {.panel = line.panel, .line = line.label, .points = static_cast<int>(line.x.size()), .slope = fit->slope, .r = *fit->correlation});
  }
  return correlations;
}

}  // namespace longreach::client
