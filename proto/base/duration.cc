#include "proto/base/duration.h"

#include "proto/base/parse_errors.h"
#include "proto/base/text.h"

namespace longreach {
namespace {

constexpr double kLongestSeconds = 1e9;

// None of them ends as another one does, so their order says nothing.
constexpr struct {
  std::string_view name;
  double seconds;
} kUnits[] = {{"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};

}  // namespace

std::optional<double> ParseDuration(std::string_view text) {
  double unit = 1;
  for (const auto& [name, seconds] : kUnits) {
    if (!text.ends_with(name)) continue;
    unit = seconds;
    text.remove_suffix(name.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    break;
  }
  const std::optional<double> value = ParseDouble(text);
  if (!value.has_value() || !(*value >= 0 && *value * unit <= kLongestSeconds)) return std::nullopt;
  return *value * unit;
}

std::string SecondsOfDuration(std::string& text) {
  if (ParseDouble(text) || IsBeyondDouble(text) || !RefuseNan(text).empty()) return "";
  const std::optional<double> seconds = ParseDuration(text);
  if (!seconds.has_value()) return Text("'", text, "' is not a duration: write ", kDurationForm);
  text = ShortestNumber(*seconds);
  return "";
}

}  // namespace longreach
