#include "proto/types/axis_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/settings.h"

namespace longreach {
namespace {

constexpr std::string_view kTo = "..";

absl::Status RefuseLength(const std::string& word) {
  return absl::InvalidArgumentError(fmt::format("'{}' is no test length; write length=40 or length=41..60, or leave it out for all of them together", word));
}

// As other programs write a range, "0-4" or "0:4": as it is written here; "": it is none.
std::string AsRangeHere(std::string_view word) {
  for (const char between : {'-', ':'}) {
    const size_t at = word.find(between, 1);  // Not a sign in front.
    if (at == std::string_view::npos) continue;
    const std::string_view first = word.substr(0, at), last = word.substr(at + 1);
    if (ParseInteger(first) && ParseInteger(last)) return fmt::format("{}{}{}", first, kTo, last);
  }
  return "";
}

// A list may have the brackets that it has in a sweep file: "[1,2]".
std::string_view WithoutListBrackets(std::string_view text) {
  return text.size() >= 2 && text.front() == '[' && text.back() == ']' ? text.substr(1, text.size() - 2) : text;
}

double SizeOf(const std::string& value) {
  const std::optional<double> number = ParseDouble(value);
  return number && !std::isnan(*number) ? *number : 0;
}

}  // namespace

bool IsNumberAxis(std::string_view axis) {
  return axis == "learning_rate" || axis == "length" || axis == "seed" || catalog::FindSliceAxis(axis) != nullptr || IsNumberSetting(axis);
}

std::string ValueOfJobs(std::string_view axis, const std::string& word) {
  const std::optional<double> number = IsNumberAxis(axis) ? ParseDouble(word) : std::nullopt;
  return number ? ShortestNumber(*number) : word;
}

bool AxisChoice::Range::Has(const std::string& value) const {
  const std::optional<double> number = ParseDouble(value);
  return number && first <= *number && *number <= last;
}

std::string AxisChoice::Range::Text() const { return fmt::format("{}{}{}", ShortestNumber(first), kTo, ShortestNumber(last)); }

absl::Status AxisChoice::Add(std::string_view text) {
  const bool numbers = IsNumberAxis(axis_);
  for (const std::string& part : Split(WithoutListBrackets(Trim(text)), ',')) {
    const std::string word(Trim(part));
    if (const std::string range = AsRangeHere(word); numbers && !range.empty()) {
      return absl::InvalidArgumentError(fmt::format("'{}' is no number; a range is written {}={}", word, axis_, range));
    }
    if (numbers && word.find(kTo) != std::string::npos) {
      RETURN_IF_ERROR(AddRange(word));
      continue;
    }
    std::string value = ValueOfJobs(axis_, word);
    if (axis_ == "length" && ParseInteger(value).value_or(0) <= 0) return RefuseLength(word);
    values_.insert(std::move(value));
  }
  return absl::OkStatus();
}

absl::Status AxisChoice::AddRange(const std::string& word) {
  const size_t to = word.find(kTo);
  const std::optional<double> first = ParseDouble(std::string_view(word).substr(0, to));
  const std::optional<double> last = ParseDouble(std::string_view(word).substr(to + kTo.size()));
  if (!first || !last || std::isnan(*first) || std::isnan(*last)) {
    return absl::InvalidArgumentError(fmt::format("'{}' is no range of numbers; write both ends, as {}=1..4", word, axis_));
  }
  if (*first > *last) {
    return absl::InvalidArgumentError(fmt::format("'{}' ends before it begins; write {}={}", word, axis_, Range{.first = *last, .last = *first}.Text()));
  }
  if (axis_ == "length" && *last < 1) return RefuseLength(word);
  // What is measured over all lengths together stands at length 0, and is of none of them.
  ranges_.push_back({.first = axis_ == "length" ? std::max(*first, 1.0) : *first, .last = *last});
  return absl::OkStatus();
}

bool AxisChoice::Has(const std::string& value) const {
  return values_.contains(value) || std::ranges::any_of(ranges_, [&value](const Range& range) { return range.Has(value); });
}

std::vector<std::string> AxisChoice::Words() const {
  std::vector<std::pair<double, std::string>> sized;
  const bool numbers = IsNumberAxis(axis_);
  for (const std::string& value : values_) sized.emplace_back(numbers ? SizeOf(value) : 0, value);
  for (const Range& range : ranges_) sized.emplace_back(range.first, fmt::format("{} to {}", ShortestNumber(range.first), ShortestNumber(range.last)));
  std::ranges::stable_sort(sized, {}, &std::pair<double, std::string>::first);
  std::vector<std::string> words;
  for (auto& [size, word] : sized) words.push_back(std::move(word));
  return words;
}

}  // namespace longreach
