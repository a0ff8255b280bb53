#include "client/figure/heat_map.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "client/output/results_table.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

template <typename Use>
void ForEachCell(const HeatMap& map, const Use& use) {
  for (const PlotPanel& panel : map.panels) {
    const v1::Table& table = panel.table;
    for (int i = 0; i < table.cells_size(); ++i) {
      const v1::TableCell& cell = table.cells(i);
      if (!cell.has_measured() || !std::isfinite(cell.measured())) continue;
      if (map.log && cell.measured() <= 0) continue;  // A logarithm has no place for it.
      use(panel, table.rows(i / table.columns_size()), table.columns(i % table.columns_size()), cell);
    }
  }
}

// To each side of a value in its cell.
constexpr double kAroundValue = 2;
// Of colours that are darker white is the better ink: black and white have the same contrast here, (1 + 0.05) / (L + 0.05) = (L + 0.05) / 0.05.
constexpr const char* kIsDark = "luminance(scale('color', datum.value)) < 0.179";

// Numbers need no words: the axis has a title.
std::string NameOf(const v1::TableAxisEntry& entry) { return ParseDouble(entry.key()) ? Printable(entry.key()) : LabelOf(entry); }

// Names in the order of the tables: the specification would sort them as texts.
template <typename Entries>
VegaJson Ordered(const HeatMap& map, const Entries& entries) {
  VegaJson names = VegaJson::array();
  for (const PlotPanel& panel : map.panels) {
    for (const v1::TableAxisEntry& entry : entries(panel.table)) {
      if (const VegaJson name = NameOf(entry); std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

using NamesOfPanels = std::map<std::string, std::set<std::string>>;

NamesOfPanels NamesOf(const VegaJson& values, const char* axis) {
  NamesOfPanels of_panels;
  for (const VegaJson& value : values) of_panels[value["panel"]].insert(value[axis].get<std::string>());
  return of_panels;
}

// Not all panels have the same: those of the others would be empty columns or rows.
bool Differ(const NamesOfPanels& of_panels) {
  return std::ranges::any_of(of_panels, [&](const auto& panel) { return panel.second != of_panels.begin()->second; });
}

// In the panel that has most of them: its cells are the smallest.
size_t Most(const NamesOfPanels& of_panels) {
  size_t most = 1;
  for (const auto& [panel, names] : of_panels) most = std::max(most, names.size());
  return most;
}

// All values can be read in their cells.
bool FitIn(const VegaJson& values, const HeatMap& map) {
  double widest = 0;
  for (const VegaJson& value : values) widest = std::max(widest, TextWidth(value["text"].get<std::string>()) + 2 * kAroundValue);
  const double width = PanelWidth(map.panels.size()), height = PanelHeight(map.panels.size());
  return widest * static_cast<double>(Most(NamesOf(values, "x"))) <= width && kTextHeight * static_cast<double>(Most(NamesOf(values, "y"))) <= height;
}

}  // namespace

std::string VegaLiteOf(const HeatMap& map) {
  VegaJson values = VegaJson::array();
  ForEachCell(map, [&](const PlotPanel& panel, const v1::TableAxisEntry& row, const v1::TableAxisEntry& column, const v1::TableCell& cell) {
    values.push_back({{"panel", Printable(panel.title)},
                      {"x", NameOf(column)},
                      {"y", NameOf(row)},
                      {"value", cell.measured()},
                      {"text", ShownNumber(cell.measured(), panel.table)},
                      {"jobs", cell.measured_jobs()}});
  });
  const bool percent = std::ranges::all_of(map.panels, [](const PlotPanel& panel) { return panel.table.unit() == "%"; });
  VegaJson scale = {{"scheme", "viridis"}, {"type", map.log ? "log" : "linear"}};
  if (percent && !map.log) scale["domain"] = {0, 100};
  const VegaJson x = {{"field", "x"}, {"type", "ordinal"}, {"title", map.x_title}, {"sort", Ordered(map, [](const v1::Table& table) { return table.columns(); })}};
  const VegaJson y = {{"field", "y"}, {"type", "ordinal"}, {"title", map.y_title}, {"sort", Ordered(map, [](const v1::Table& table) { return table.rows(); })}};
  VegaJson layers = VegaJson::array();
  layers.push_back({{"mark", "rect"},
                    {"encoding",
                     {{"x", x},
                      {"y", y},
                      {"color", {{"field", "value"}, {"type", "quantitative"}, {"title", map.value_title}, {"scale", scale}}},
                      {"tooltip", {{{"field", "x"}, {"type", "nominal"}, {"title", map.x_title}},
                                   {{"field", "y"}, {"type", "nominal"}, {"title", map.y_title}},
                                   {{"field", "value"}, {"type", "quantitative"}, {"title", map.value_title}},
                                   {{"field", "jobs"}, {"type", "quantitative"}, {"title", "jobs"}}}}}}});
  if (FitIn(values, map)) {
    layers.push_back({{"mark", {{"type", "text"}, {"fontSize", 10}}},
                      {"encoding",
                       {{"x", x},
                        {"y", y},
                        {"text", {{"field", "text"}, {"type", "nominal"}}},
                        {"color", {{"condition", {{"test", kIsDark}, {"value", "white"}}}, {"value", "black"}}}}}});
  }
  std::vector<std::string> own_axes;
  for (const char* axis : {"x", "y"}) {
    if (Differ(NamesOf(values, axis))) own_axes.emplace_back(axis);
  }
  return VegaLiteText(map.title, map.panels, std::move(values), layers, own_axes);
}

int PointsOf(const HeatMap& map) {
  int points = 0;
  ForEachCell(map, [&points](const auto&...) { ++points; });
  return points;
}

}  // namespace longreach::client
