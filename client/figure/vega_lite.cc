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

constexpr int kPanelsInRow = 3;
// Of one panel, in pixels.
constexpr int kWidth = 260;
constexpr int kHeight = 180;
constexpr int kWidthAlone = 480;
constexpr int kHeightAlone = 300;
constexpr size_t kColoursOfTen = 10;
// At each end of a logarithmic axis: a part of its length, and at least a factor.
constexpr double kMargin = 0.03;
constexpr double kLeastMargin = 1.01;
// With fewer of ours the axis is so short that Vega makes even steps.
constexpr size_t kLeastTicks = 3;
constexpr int kFewPowers = 2;

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

}  // namespace

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
  const double margin = std::max(std::exp(kMargin * (std::log(most) - std::log(least))), kLeastMargin);
  const double low = std::max(least / margin, Limits::min()), high = std::min(most * margin, Limits::max());
  scale["nice"] = false;
  scale["domain"] = {low, high};
  if (VegaJson ticks = TicksBetween(low, high); !ticks.empty()) axis["axis"]["values"] = std::move(ticks);
}

std::string ColourScheme(size_t names) { return names > kColoursOfTen ? "tableau20" : "tableau10"; }

std::string VegaLiteText(const PlotTitle& title, const std::vector<PlotPanel>& panels, VegaJson values, const VegaJson& layers,
                         const std::vector<std::string>& own_axes) {
  VegaJson spec = {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
                   {"title", {{"text", Printable(title.text)}, {"anchor", "start"}}}};
  for (const std::string& note : title.notes) spec["title"]["subtitle"].push_back(Printable(note));
  spec["data"] = {{"values", std::move(values)}};
  if (panels.size() == 1) {
    spec["width"] = kWidthAlone;
    spec["height"] = kHeightAlone;
    spec["layer"] = layers;
  } else {
    VegaJson titles = VegaJson::array();
    for (const PlotPanel& panel : panels) titles.push_back(Printable(panel.title));
    spec["facet"] = {{"field", "panel"}, {"type", "nominal"}, {"title", nullptr}, {"sort", titles}};
    spec["columns"] = kPanelsInRow;
    spec["spec"] = {{"width", kWidth}, {"height", kHeight}, {"layer", layers}};
    for (const std::string& axis : own_axes) spec["resolve"]["scale"][axis] = "independent";
  }
  return spec.dump(1, ' ', false, VegaJson::error_handler_t::replace) + "\n";
}

}  // namespace longreach::client
