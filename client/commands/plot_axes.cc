#include "client/commands/plot_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "client/commands/arguments.h"
#include "client/commands/varying_settings.h"
#include "client/errors.h"
#include "proto/catalog/axes.h"
#include "proto/catalog/catalog.h"
#include "proto/types/settings.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

// Curves are over numbers.
std::vector<std::string> RightOfCurves() {
  std::vector<std::string> right = catalog::TableAxes();
  std::erase_if(right, [](const std::string& axis) { return axis == "task" || axis == "encoding" || axis == "system" || axis == "longbench_task"; });
  for (const catalog::Metric& metric : catalog::Metrics()) right.emplace_back(metric.name);
  return right;
}

// What is measured over all test lengths alone has none for an axis.
constexpr std::string_view kWithoutLengths[] = {"scale_growth", "scale_growth_r2"};

}  // namespace

std::string UsualX(std::string_view metric) {
  if (metric == kTrainingLoss) return std::string(kStepAxis);
  return std::ranges::find(kWithoutLengths, metric) == std::end(kWithoutLengths) ? "length" : "seed";
}

bool PlotAxes::IsScatter() const { return catalog::FindMetric(x) != nullptr; }

bool PlotAxes::Has(std::string_view axis) const {
  const std::vector<std::string> all = All();
  return std::ranges::find(all, axis) != all.end();
}

bool PlotAxes::HasSettings() const { return std::ranges::any_of(All(), [](const std::string& axis) { return IsSettingPath(axis); }); }

absl::Status PlotAxes::Check() const {
  const std::vector<std::string>& axes = catalog::TableAxes();
  std::vector<std::string> of_panels = axes;
  std::erase(of_panels, "length");  // No table is of one length of several.
  of_panels.emplace_back("none");
  if (catalog::FindMetric(y) != nullptr) {
    return UsageError(fmt::format("--y {}: of a heat map it is an axis, and what a figure shows is named by --metric", y), fmt::format("write --metric {} in its place", y));
  }
  RETURN_IF_ERROR(CheckAxis("--x", x, y.empty() ? RightOfCurves() : axes));
  if (y.empty() && IsSettingPath(x) && !IsNumberSetting(x)) {
    return UsageError(fmt::format("--x {}: its values are no numbers, which curves are over", x), "make it --lines or --panels, or draw a heat map with --y");
  }
  RETURN_IF_ERROR(CheckAxis("--y", y, axes));
  RETURN_IF_ERROR(CheckAxis("--lines", lines, axes));
  RETURN_IF_ERROR(CheckAxis("--points", points, axes));
  RETURN_IF_ERROR(CheckAxis("--panels", panels, of_panels));
  if (!y.empty() && !lines.empty()) return UsageError("--lines: a heat map has none", "leave out --lines or --y");
  if (IsScatter() && points.empty()) {
    return UsageError(fmt::format("--x {}: one metric against another needs the axis whose values are the points", x), "--points seed draws one for each seed, --points head one for each attention head");
  }
  if (!IsScatter() && !points.empty()) return UsageError("--points: only with a metric as --x", "leave it out, or set --x to a metric");
  return absl::OkStatus();
}

// Different systems, of which each has a line. In a grid of which a setting is an axis the next one in which they differ: a line for each
// system would have a single point.
std::string PlotAxes::UsualLines(const SystemSettings& settings, const std::vector<std::string>& only) const {
  const v1::SweepSpec& spec = settings.spec();
  const std::string plain = panels == "encoding" ? "task" : "encoding";
  if (spec.systems().empty() || panels == "system") return plain;
  if (!HasSettings()) return "system";
  if (!IsGridOfSettings(settings, only)) return Has("system") ? plain : "system";
  if (spec.axes().encoding_size() > 1 && plain == "encoding") return plain;
  std::vector<std::string> varying = VaryingSettings(settings, only);
  std::erase_if(varying, [this](const std::string& path) { return Has(path); });
  return varying.empty() ? plain : varying.front();
}

absl::Status PlotAxes::Complete(const SystemSettings& settings, const std::vector<std::string>& only) {
  const v1::SweepSpec& spec = settings.spec();
  if (!y.empty()) lines = y;
  if (lines.empty()) lines = UsualLines(settings, only);
  const bool map_of_systems = !y.empty() && !spec.systems().empty() && y != "system" && x != "system" && !HasSettings();
  if (panels.empty()) panels = map_of_systems ? "system" : spec.axes().task_size() > 1 && lines != "task" && x != "task" ? "task" : "none";
  const std::vector<std::string> all = {x, lines, points, panels};
  for (const std::string& axis : all) {
    if (axis.empty() || std::ranges::count(all, axis) == 1) continue;
    return points.empty() ? UsageError(fmt::format("--x, {} and --panels are {}, {} and {}: they must differ", y.empty() ? "--lines" : "--y", x, lines, panels))
                          : UsageError(fmt::format("--lines, --points and --panels are {}, {} and {}: they must differ", lines, points, panels));
  }
  return absl::OkStatus();
}

}  // namespace longreach::client
