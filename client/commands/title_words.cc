#include "client/commands/title_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/commands/only.h"
#include "client/commands/step_slice.h"
#include "client/commands/varying_settings.h"
#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"
#include "proto/catalog/catalog.h"
#include "proto/types/settings.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

// "seeds, encodings and tasks".
std::string InOnePhrase(std::vector<std::string> words) {
  const std::string last = words.back();
  words.pop_back();
  return words.empty() ? last : fmt::format("{} and {}", Join(words, ", "), last);
}

// There are several values of the axis in some place of those that the axes `shown` have.
bool IsChosen(const SystemSettings& settings, const std::string& axis, const std::vector<std::string>& shown, const std::vector<std::string>& only) {
  if (IsSettingPath(axis)) return std::ranges::count(VaryingSettings(settings, only), axis) > 0;
  std::vector<std::string> with_axis = shown;
  with_axis.push_back(axis);
  return AggregatedAxes(settings, shown, only) != AggregatedAxes(settings, with_axis, only);
}

// A path is called what it is.
std::string AxisInWords(std::string axis) {
  if (!IsSettingPath(axis)) std::ranges::replace(axis, '_', ' ');
  return axis;
}

// Values are of tests while jobs were trained.
bool AreAtAStep(const Only& only, std::string_view slice) { return only.Of(kStepAxis) != nullptr || StepOfSlice(slice).has_value(); }

}  // namespace

std::string WithUnit(std::string_view name, std::string_view unit) {
  return unit.empty() ? std::string(name) : fmt::format("{} ({})", name, unit);
}

std::string WithUnit(std::string_view metric) {
  const catalog::Metric* const known = catalog::FindMetric(metric);
  return WithUnit(metric, known == nullptr ? "" : known->unit);
}

std::string AtLength(int length, const std::vector<std::string>& only, std::string_view slice, bool by_step) {
  const Only asked(only);
  if (const AxisChoice* const lengths = asked.Of("length")) {
    return lengths->IsSingle() ? fmt::format("at length {}", Join(lengths->Words(), "")) : fmt::format("averaged over length {}", Join(lengths->Words(), " and "));
  }
  if (length > 0) return fmt::format("at length {}", length);
  return by_step || AreAtAStep(asked, slice) ? "over the lengths of curves" : "over all test lengths";
}

std::string AtEachLength(const std::vector<std::string>& only, std::string_view slice, bool by_step) {
  return by_step || AreAtAStep(Only(only), slice) ? "at each length of curves" : "at each test length";
}

std::string AggregatedOver(const SystemSettings& settings, const Aggregation& how) {
  // What is aggregated has one value of each axis that the best is chosen of, as if its values had places.
  std::vector<std::string> shown = how.shown;
  std::vector<std::string> chosen;
  for (const std::string& axis : how.best_of) {
    if (IsChosen(settings, axis, shown, how.only)) chosen.push_back(AxisInWords(axis));
    shown.push_back(axis);
  }
  const std::vector<std::string> axes = AggregatedAxes(settings, shown, how.only);
  std::vector<std::string> parts;
  if (!axes.empty()) parts.push_back(fmt::format("{} over {}", catalog::AggregateInWords(how.aggregate), InOnePhrase(axes)));
  if (!chosen.empty()) parts.push_back("at the best " + InOnePhrase(std::move(chosen)));
  return Join(parts, " ");
}

std::string UnlikeOver(const SystemSettings& settings, const Aggregation& how) {
  std::vector<std::string> shown = how.shown;
  shown.insert(shown.end(), how.best_of.begin(), how.best_of.end());
  std::vector<std::string> axes = AggregatedAxes(settings, shown, how.only);
  std::erase_if(axes, [](const std::string& axis) { return axis == "seeds" || axis == "learning rates"; });
  return axes.empty() ? "" : InOnePhrase(std::move(axes));
}

}  // namespace longreach::client
