#include "client/figure/vega_lite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr size_t kPanelsInRow = 3;
// Where more of them belong together than fit beside each other on a screen.
constexpr size_t kMostPanelsInRow = 6;
// Of one panel, in pixels.
constexpr int kWidth = 260;
constexpr int kHeight = 180;
constexpr int kWidthAlone = 480;
constexpr int kHeightAlone = 300;
constexpr size_t kColoursOfTen = 10;
// Of a legend. Vega leaves out all names after so many, unless it is told how many there are.
constexpr size_t kNamesInColumn = 30;
// At each end of a logarithmic axis: a part of its length, and at least a factor.
constexpr double kMarginShare = 0.03;
constexpr double kLeastMargin = 1.01;
// With fewer of ours the axis is so short that Vega makes even steps.
constexpr size_t kLeastTicks = 3;
constexpr int kFewPowers = 2;
// Values of an axis that each have a tick; of more Vega chooses round ones.
constexpr size_t kMostExactTicks = 16;
// Digits of a label: all that a learning rate or seed is written with, and nothing of how it is stored.
constexpr const char* kExactFormat = ".12~g";
// What Vega writes 0.000001 and more with; fmt goes over to exponents before that.
constexpr size_t kLongestFraction = 8;
constexpr double kBetweenLabels = 4;

// 1, 2 and 5 times powers of ten; none where there are enough of these alone, or too few of all.
VegaJson TicksBetween(double low, double high) {
  VegaJson ticks = VegaJson::array();
  int powers = 0;
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= static_cast<int>(std::floor(std::log10(high))); ++power) {
    for (const int times : {1, 2, 5}) {
      // As a text, for 5 * 1e-5 is not 5e-5.
      const std::optional<double> tick = ParseDouble(fmt::format("{}e{}", times, power));
      if (!tick || *tick < low || *tick > high) continue;
      ticks.push_back(*tick);
      if (times == 1) ++powers;
    }
  }
  return powers < kFewPowers && ticks.size() >= kLeastTicks ? ticks : VegaJson::array();
}

std::string ExactLabel(double value) {
  std::string label = fmt::format("{:.12g}", value);
  if (label.find("e-") != std::string::npos) label.resize(std::max(label.size(), kLongestFraction), '0');
  return label;
}

// Side by side, below an axis from the first of `at` to the last. These ascend.
bool FitSideBySide(const std::vector<double>& at, bool log, double width) {
  const auto place = [&](double value) { return log ? std::log(value) : value; };
  const double length = place(at.back()) - place(at.front());
  for (size_t i = 1; i < at.size(); ++i) {
    const double apart = width * (place(at[i]) - place(at[i - 1])) / length;
    if (apart < (TextWidth(ExactLabel(at[i])) + TextWidth(ExactLabel(at[i - 1]))) / 2 + kBetweenLabels) return false;
  }
  return true;
}

// What belongs together fills whole rows, if these are not shorter than others: a row that has some of one and some of the next would be compared
// all the same.
size_t PanelsInRow(size_t together) {
  if (together > 1 && together <= kMostPanelsInRow) return together;
  for (size_t panels = kMostPanelsInRow; together > 0 && panels > kPanelsInRow; --panels) {
    if (together % panels == 0) return panels;
  }
  return kPanelsInRow;
}

}  // namespace

int PanelWidth(size_t panels) { return panels == 1 ? kWidthAlone : kWidth; }

int PanelHeight(size_t panels) { return panels == 1 ? kHeightAlone : kHeight; }

double TextWidth(std::string_view text) {
  constexpr double kCharacter = 6;
  return kCharacter * DisplayWidth(text);
}

std::string LabelOf(const v1::TableAxisEntry& entry) { return Printable(entry.label().empty() ? entry.key() : entry.label()); }

VegaJson NumberAxis(std::string_view field, const std::string& title, bool log, bool nice) {
  return {{"field", field}, {"type", "quantitative"}, {"title", title}, {"scale", {{"type", log ? "log" : "linear"}, {"zero", false}, {"nice", nice}}}};
}

void EndAtData(VegaJson& axis, const VegaJson& values, std::initializer_list<const char*> fields) {
  VegaJson& scale = axis["scale"];
  if (scale["type"] != "log") return;
  using Limits = std::numeric_limits<double>;
  double least = Limits::infinity(), most = 0;
  for (const VegaJson& value : values) {
    for (const char* field : fields) {
      const double number = value.contains(field) ? value[field].get<double>() : 0;
      if (!std::isfinite(number) || number <= 0) continue;
      least = std::min(least, number);
      most = std::max(most, number);
    }
  }
  if (most <= 0) return;
  const double margin = std::max(std::exp(kMarginShare * (std::log(most) - std::log(least))), kLeastMargin);
  const double low = std::max(least / margin, Limits::min()), high = std::min(most * margin, Limits::max());
  scale["nice"] = false;
  scale["domain"] = {low, high};
  if (VegaJson ticks = TicksBetween(low, high); !ticks.empty()) axis["axis"]["values"] = std::move(ticks);
}

void TickAt(VegaJson& axis, std::vector<double> at, size_t panels) {
  const bool log = axis["scale"]["type"] == "log";
  std::erase_if(at, [log](double value) { return !std::isfinite(value) || (log && value <= 0); });
  std::ranges::sort(at);
  at.erase(std::unique(at.begin(), at.end()), at.end());
  if (at.empty() || at.size() > kMostExactTicks) return;
  // Values that lie closely among others far apart may not have room for all labels even so.
  axis["axis"] = {{"values", at}, {"format", kExactFormat}, {"labelOverlap", "greedy"}, {"labelSeparation", kBetweenLabels}};
  if (!FitSideBySide(at, log, PanelWidth(panels))) axis["axis"]["labelAngle"] = -90;
}

std::string ColourScheme(size_t names) { return names > kColoursOfTen ? "tableau20" : "tableau10"; }

VegaJson LegendOf(size_t names) {
  VegaJson legend = VegaJson::object();
  if (names <= kNamesInColumn) return legend;
  legend["symbolLimit"] = names;
  legend["columns"] = (names + kNamesInColumn - 1) / kNamesInColumn;
  return legend;
}

std::string VegaLiteText(const PlotTitle& title, const std::vector<PlotPanel>& panels, VegaJson values, const VegaJson& layers,
                         const std::vector<std::string>& own_axes, size_t together) {
  VegaJson spec = {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
                   {"title", {{"text", Printable(title.text)}, {"anchor", "start"}}}};
  for (const std::string& note : title.notes) spec["title"]["subtitle"].push_back(Printable(note));
  spec["data"] = {{"values", std::move(values)}};
  spec["config"] = {{"axis", {{"labelLimit", 0}}}, {"legend", {{"labelLimit", 0}}}};
  if (panels.size() == 1) {
    spec["width"] = PanelWidth(1);
    spec["height"] = PanelHeight(1);
    spec["layer"] = layers;
  } else {
    VegaJson titles = VegaJson::array();
    for (const PlotPanel& panel : panels) titles.push_back(Printable(panel.title));
    spec["facet"] = {{"field", "panel"}, {"type", "nominal"}, {"title", nullptr}, {"sort", titles}};
    spec["columns"] = PanelsInRow(together);
    spec["spec"] = {{"width", PanelWidth(panels.size())}, {"height", PanelHeight(panels.size())}, {"layer", layers}};
    for (const std::string& axis : own_axes) spec["resolve"]["scale"][axis] = "independent";
  }
  return spec.dump(1, ' ', false, VegaJson::error_handler_t::replace) + "\n";
}

}  // namespace longreach::client
