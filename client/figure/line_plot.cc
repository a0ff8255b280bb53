#include "client/figure/line_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/encoding_name.h"

namespace longreach::client {
namespace {

using Json = VegaJson;

constexpr std::string_view kRandomized = "Randomized ";
// With more the dots would hide the lines.
constexpr int kMostDots = 24;
// From the least to the most of whole numbers.
constexpr double kMostWholeTicks = 10;
// Beyond it labels are too wide to stand at each, and at last such numbers are not all there.
constexpr double kMostWholeTick = 1e9;

bool IsRandomized(const v1::TableAxisEntry& entry) { return catalog::IsRandomized(entry.key()); }

// The name of a line's colour: that of the encoding without "Randomized".
std::string ColourOf(const v1::TableAxisEntry& entry) {
  const std::string label = LabelOf(entry);
  return IsRandomized(entry) && label.starts_with(kRandomized) ? label.substr(kRandomized.size()) : label;
}

template <typename Use>
void ForEachPoint(const LinePlot& plot, const Use& use) {
  for (const PlotPanel& panel : plot.panels) {
    const v1::Table& table = panel.table;
    for (int i = 0; i < table.cells_size(); ++i) {
      const v1::TableCell& cell = table.cells(i);
      const std::optional<double> x = ParseDouble(table.columns(i % table.columns_size()).key());
      if (!x || !cell.has_measured() || !std::isfinite(cell.measured())) continue;
      if (plot.y_log && cell.measured() <= 0) continue;  // A logarithm has no place for it.
      use(panel, table.rows(i / table.columns_size()), *x, cell);
    }
  }
}

// Names in the order of the tables: the specification would sort them by their letters.
template <typename Name>
Json Ordered(const LinePlot& plot, const Name& name) {
  Json names = Json::array();
  for (const PlotPanel& panel : plot.panels) {
    for (const v1::TableAxisEntry& row : panel.table.rows()) {
      if (const Json one = name(row); std::ranges::find(names, one) == names.end()) names.push_back(one);
    }
  }
  return names;
}

// What values of a unit or metric can be: a band that goes beyond it would stretch the axis to where nothing is.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};
Range RangeOf(const v1::Table& table) {
  if (table.unit() == "%") return {.low = 0, .high = 100};
  if (table.unit() == "nats" || table.unit() == "bits") return {.low = 0};
  if (table.metric() == "perplexity") return {.low = 1};
  return {};
}

Json ValuesOf(const LinePlot& plot, bool dashed) {
  Json values = Json::array();
  ForEachPoint(plot, [&](const PlotPanel& panel, const v1::TableAxisEntry& row, double x, const v1::TableCell& cell) {
    Json value = {{"panel", Printable(panel.title)}, {"line", LabelOf(row)}};
    if (dashed) {
      value["encoding"] = ColourOf(row);
      value["positions"] = IsRandomized(row) ? "randomized" : "plain";
    }
    value["x"] = x;
    value["y"] = cell.measured();
    value["jobs"] = cell.measured_jobs();
    if (!plot.best_of_title.empty()) value["best_of"] = Printable(cell.best_of());
    if (plot.bands && cell.has_deviation()) {
      const Range range = RangeOf(panel.table);
      const double low = std::max(cell.measured() - cell.deviation(), range.low);
      value["low"] = plot.y_log && low <= 0 ? cell.measured() : low;
      value["high"] = std::min(cell.measured() + cell.deviation(), range.high);
    }
    values.push_back(std::move(value));
  });
  for (const PlotCurve& curve : plot.curves) {
    for (const auto& [x, y] : curve.points) {
      values.push_back({{"panel", Printable(curve.panel)}, {dashed ? "encoding" : "line", Printable(curve.line)}, {"x", x}, {"fit", y}});
    }
  }
  return values;
}

// Lengths, seeds, layers: between two of them there is none. The line of `trained` stands among them. Empty: not all are whole numbers.
Json WholeTicks(const Json& values, const std::optional<double>& trained) {
  if (values.empty()) return {};
  double least = trained.value_or(std::numeric_limits<double>::infinity()), most = trained.value_or(-least);
  for (const Json& value : values) {
    const double x = value["x"].get<double>();
    if (x != std::floor(x)) return {};
    least = std::min(least, x);
    most = std::max(most, x);
  }
  if (most - least > kMostWholeTicks || std::max(std::abs(least), std::abs(most)) > kMostWholeTick) return {{"tickMinStep", 1}};
  // Of a few Vega makes halves all the same.
  Json each = Json::array();
  const int last = static_cast<int>(most - least);
  for (int i = 0; i <= last; ++i) each.push_back(least + i);
  return {{"values", std::move(each)}, {"format", "d"}};
}

std::vector<double> ValuesOfX(const Json& values) {
  std::vector<double> all;
  for (const Json& value : values) all.push_back(value["x"].get<double>());
  return all;
}

// The axis upwards: on one that ends at its data there is room for chance too.
Json AxisUpwards(const LinePlot& plot, const Json& values) {
  Json y = NumberAxis("y", plot.y_title, plot.y_log, true);
  Json all = values;
  if (plot.chance) all.push_back(Json::object({{"y", *plot.chance}}));
  EndAtData(y, all, {"y", "low", "high", "fit"});
  return y;
}

// The line, and its name at the end where lines that fall with the length are still high. Their data is one row of nothing: of that of the points each
// would draw them once more.
void AddChance(double chance, Json& layers) {
  constexpr std::string_view kGrey = "#888888";
  const Json once = {{"values", Json::array({Json::object()})}};
  const Json y = {{"datum", chance}};
  // Vega names marks by their data for those who hear a page; of these there are none.
  layers.push_back({{"data", once},
                    {"mark", {{"type", "rule"}, {"description", "chance"}, {"strokeDash", {1, 3}}, {"strokeWidth", 1}, {"color", kGrey}}},
                    {"encoding", {{"y", y}}}});
  layers.push_back({{"data", once},
                    {"mark", {{"type", "text"}, {"text", "chance"}, {"align", "left"}, {"baseline", "bottom"}, {"dx", 3}, {"dy", -2}, {"fontSize", 10}, {"color", kGrey}}},
                    {"encoding", {{"x", {{"value", 0}}}, {"y", y}}}});
}

Json LayersOf(const LinePlot& plot, const Json& values, bool dashed) {
  Json x = NumberAxis("x", plot.x_title, plot.x_log, false);
  if (Json ticks = WholeTicks(values, plot.trained); !ticks.empty()) x["axis"] = std::move(ticks);
  EndAtData(x, values, {"x"});
  if (plot.x_each) TickAt(x, ValuesOfX(values), plot.panels.size());
  const Json y = AxisUpwards(plot, values);
  const auto colour_name = [&](const v1::TableAxisEntry& row) -> Json { return dashed ? ColourOf(row) : LabelOf(row); };
  const Json colours = Ordered(plot, colour_name);
  Json legend = LegendOf(colours.size());
  legend["symbolOpacity"] = 1;  // Not the band's.
  const Json colour = {{"field", dashed ? "encoding" : "line"}, {"type", "nominal"}, {"title", plot.lines_title}, {"sort", colours},
                       {"scale", {{"scheme", ColourScheme(colours.size())}}},
                       {"legend", legend}};
  const Json detail = {{"field", "line"}, {"type", "nominal"}};
  Json layers = Json::array();
  if (std::ranges::any_of(values, [](const Json& value) { return value.contains("low"); })) {
    Json low = y;
    low["field"] = "low";
    layers.push_back({{"transform", {{{"filter", "isValid(datum.low)"}}}},
                      {"mark", {{"type", "area"}, {"opacity", 0.15}}},
                      {"encoding", {{"x", x}, {"y", low}, {"y2", {{"field", "high"}}}, {"color", colour}, {"detail", detail}}}});
  }
  int most = 0;
  for (const PlotPanel& panel : plot.panels) most = std::max(most, panel.table.columns_size());
  Json line = {{"mark", {{"type", "line"}}},
               {"encoding",
                {{"x", x},
                 {"y", y},
                 {"color", colour},
                 {"detail", detail},
                 {"tooltip", {{{"field", "line"}, {"type", "nominal"}, {"title", plot.lines_title}},
                              {{"field", "x"}, {"type", "quantitative"}, {"title", plot.x_title}},
                              {{"field", "y"}, {"type", "quantitative"}, {"title", plot.y_title}},
                              {{"field", "jobs"}, {"type", "quantitative"}, {"title", "jobs"}}}}}}};
  if (!plot.best_of_title.empty()) line["encoding"]["tooltip"].push_back({{"field", "best_of"}, {"type", "nominal"}, {"title", plot.best_of_title}});
  if (!plot.curves.empty()) line["transform"] = Json::array({Json::object({{"filter", "isValid(datum.y)"}})});
  // A layer of their own: the legend of lines with dots is of the dots, which have no dashes.
  Json dots = line;
  dots["mark"] = {{"type", "point"}, {"filled", true}, {"opacity", 1}};
  if (dashed) {
    const Json positions = {{"field", "positions"}, {"type", "nominal"}, {"title", "positions"}, {"sort", {"plain", "randomized"}}};
    Json& dash = line["encoding"]["strokeDash"] = positions;
    dash["legend"] = {{"symbolType", "stroke"}, {"symbolSize", 400}};
    // A dot alone has no line to be told by.
    Json& shape = dots["encoding"]["shape"] = positions;
    shape["legend"] = nullptr;
    shape["scale"] = {{"domain", {"plain", "randomized"}}, {"range", {"circle", "diamond"}}};
  }
  layers.push_back(std::move(line));
  if (most <= kMostDots) layers.push_back(std::move(dots));
  if (!plot.curves.empty()) {
    Json fit = y;
    fit["field"] = "fit";
    layers.push_back({{"transform", {{{"filter", "isValid(datum.fit)"}}}},
                      {"mark", {{"type", "line"}, {"strokeDash", {2, 3}}, {"strokeWidth", 1.5}}},
                      {"encoding", {{"x", x}, {"y", fit}, {"color", colour}}}});
  }
  if (plot.chance) AddChance(*plot.chance, layers);
  if (plot.trained) {
    layers.push_back({{"mark", {{"type", "rule"}, {"description", "the longest in training"}, {"strokeDash", {4, 4}}, {"color", "#888888"}}},
                      {"encoding", {{"x", {{"datum", *plot.trained}}}}}});
  }
  return layers;
}

}  // namespace

std::string VegaLiteOf(const LinePlot& plot) {
  const bool dashed = std::ranges::any_of(plot.panels, [](const PlotPanel& panel) {
    return std::ranges::any_of(panel.table.rows(), IsRandomized);
  });
  const Json values = ValuesOf(plot, dashed);
  return VegaLiteText(plot.title, plot.panels, values, LayersOf(plot, values, dashed), {}, plot.panels_together);
}

int PointsOf(const LinePlot& plot) {
  int points = 0;
  ForEachPoint(plot, [&points](const auto&...) { ++points; });
  return points;
}

}  // namespace longreach::client
