#include "client/spec/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "client/errors.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr std::string_view kDots = "..";
// Up to here both a fraction's digits and a unit's parts are numbers without a rounding, so that their quotient is the nearest number.
constexpr int kMostDecimals = 15;
constexpr double kMostDigits = 9007199254740992.0;  // 2^53

struct RangeTexts {
  std::string_view first;
  std::string_view last;
  std::optional<std::string_view> step;
};

RangeTexts TextsOf(std::string_view text) {
  const size_t dots = text.find(kDots);
  const std::string_view rest = text.substr(dots + kDots.size());
  const size_t colon = rest.find(':');
  RangeTexts texts{.first = Trim(text.substr(0, dots)), .last = Trim(rest.substr(0, colon)), .step = {}};
  if (colon != std::string_view::npos) texts.step = Trim(rest.substr(colon + 1));
  return texts;
}

absl::Status EmptyRange(const RangeTexts& texts) {
  return UsageError(fmt::format("the range {}..{} is empty", Printable(texts.first), Printable(texts.last)),
                    fmt::format("write {}..{}{}", Printable(texts.last), Printable(texts.first), texts.step ? ":" + Printable(*texts.step) : ""));
}

absl::Status TooLong(std::string_view text) {
  return UsageError(fmt::format("the range {} has more than {} values", Printable(text), kMaxListElements));
}

// A number as its digits and how many of them are behind the point; fewer than none: zeros follow.
struct Decimal {
  int64_t digits = 0;
  int behind = 0;
};

Decimal DecimalOf(double value) {
  const std::string text = ShortestNumber(value);  // "0.01", "-1.5e-07", "1e+20": at most 17 digits.
  const size_t exponent_at = text.find('e');
  int exponent = 0;
  if (exponent_at != std::string::npos) {
    const char* begin = text.data() + exponent_at + 1;
    if (*begin == '+') ++begin;
    std::from_chars(begin, text.data() + text.size(), exponent);
  }
  std::string digits = text.substr(0, exponent_at);
  const size_t point = digits.find('.');
  const int behind = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point) - 1;
  if (point != std::string::npos) digits.erase(point, 1);
  Decimal decimal{.behind = behind - exponent};
  std::from_chars(digits.data(), digits.data() + digits.size(), decimal.digits);
  return decimal;
}

// In units of so many decimals; nothing: that is no number without a rounding.
std::optional<int64_t> InUnits(const Decimal& number, int decimals) {
  double units = static_cast<double>(number.digits);
  for (int i = number.behind; i < decimals && std::abs(units) < kMostDigits; ++i) units *= 10;
  if (std::abs(units) >= kMostDigits) return std::nullopt;
  return static_cast<int64_t>(units);
}

// A power of ten, which a range of this width has at least ten of; 0.1 for one of no width.
double TenthOf(double width) { return width > 0 ? std::pow(10, std::floor(std::log10(width * 1.000001)) - 1) : 0.1; }

// The whole number that is meant by "40k", "1_000", "1e3" or "40.0".
std::optional<int64_t> WholeMeant(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  double unit = 1;
  if (digits.ends_with('k') || digits.ends_with('K')) unit = 1e3;
  if (digits.ends_with('m') || digits.ends_with('M')) unit = 1e6;
  if (unit > 1) digits.pop_back();
  const std::optional<double> number = ParseDouble(digits);
  if (!number || std::abs(*number * unit) >= kMostDigits || *number * unit != std::trunc(*number * unit)) return std::nullopt;
  return static_cast<int64_t>(*number * unit);
}

// "0-2", "0:3", "0:10:2" and "range(3)", which other programs take.
bool IsForeignRange(std::string_view text) {
  if (text.starts_with("range(")) return true;
  const auto are_integers = [](const std::vector<std::string>& parts) {
    return parts.size() > 1 && std::ranges::all_of(parts, [](const std::string& part) { return ParseInteger(Trim(part)).has_value(); });
  };
  if (are_integers(Split(text, ':'))) return true;
  const size_t dash = text.find('-', 1);
  return dash != text.npos && ParseInteger(Trim(text.substr(0, dash))) && ParseInteger(Trim(text.substr(dash + 1)));
}

constexpr std::string_view kHowWholeRangesAreWritten = "a range is written 0..2, with both its ends, or 0..8:2, with a step";

// "0 1 2", without what stands between the values of a list.
bool IsListOfBlanks(std::string_view text) {
  const std::vector<std::string> parts = Split(text, ' ');
  return parts.size() > 1 && std::ranges::all_of(parts, [](const std::string& part) { return ParseInteger(part).has_value(); });
}

// The "000" of a "1,000", which would be two values.
bool IsOfThousands(std::string_view text) { return text.size() > 1 && text.find_first_not_of('0') == text.npos; }

std::string HowWholeIsWritten(std::string_view text) {
  if (IsForeignRange(text)) return std::string(kHowWholeRangesAreWritten);
  if (IsListOfBlanks(text)) return "several values have ',' between them: 0,1,2";
  // As a shell leaves it of [0, 1] without quotes.
  if (text.starts_with('[') || text.ends_with(']')) return "a list is written 0,1,2, or '[0, 1, 2]' with both brackets and, for the shell, in quotes";
  const std::optional<int64_t> meant = WholeMeant(text);
  return "whole numbers look like 2000000" + (meant ? fmt::format("; write {}", *meant) : std::string());
}

}  // namespace

absl::StatusOr<double> ParseNumber(std::string_view text) {
  // from_chars takes no leading '+', people do write it.
  const std::string_view number = text.starts_with('+') ? text.substr(1) : text;
  const std::optional<double> value = ParseDouble(number);
  if (IsBeyondDouble(number)) return UsageError(fmt::format("{} is out of range", Printable(text)), "numbers go from about 1e-307 to 1e308");
  if (!value.has_value()) return UsageError(fmt::format("'{}' is not a number", Printable(text)), "numbers look like 0.001 or 1e-3");
  if (!std::isfinite(*value)) return UsageError(fmt::format("'{}' is not a finite number", Printable(text)));
  return *value;
}

absl::StatusOr<int64_t> ParseWhole(std::string_view text, int64_t least, int64_t most) {
  const std::optional<int64_t> value = ParseInteger(text);
  const auto out_of_range = [&] { return UsageError(fmt::format("{} is out of range", Printable(text)), fmt::format("admitted are {} to {}", least, most)); };
  if (IsBeyondInteger(text)) return out_of_range();
  if (!value.has_value()) return UsageError(fmt::format("'{}' is not a whole number", Printable(text)), HowWholeIsWritten(text));
  if (IsOfThousands(text)) {
    return UsageError(fmt::format("'{}' is not a whole number as people write it", Printable(text)), "write 0; or, if it is of thousands, 1000 without a comma: commas are between values");
  }
  if (*value < least || *value > most) return out_of_range();
  return *value;
}

bool IsRange(std::string_view text) { return text.find(kDots) != std::string_view::npos; }

absl::StatusOr<NumberRange> ParseWholeRange(std::string_view text, int64_t least, int64_t most) {
  const RangeTexts texts = TextsOf(text);
  // "0..", "..2" and "0...2".
  if (texts.first.empty() || texts.last.empty() || texts.last.starts_with('.')) return UsageError(fmt::format("'{}' is no range", Printable(text)), kHowWholeRangesAreWritten);
  ASSIGN_OR_RETURN(const int64_t first, ParseWhole(texts.first, least, most));
  ASSIGN_OR_RETURN(const int64_t last, ParseWhole(texts.last, least, most));
  int64_t step = 1;
  if (texts.step) {
    const absl::StatusOr<int64_t> given = ParseWhole(*texts.step, 1, std::numeric_limits<int64_t>::max());
    if (!given.ok()) {
      const ErrorText why = SplitError(given.status());
      return UsageError(fmt::format("the step of the range {}: {}", Printable(text), why.message), why.hint);
    }
    step = *given;
  }
  if (first > last) return EmptyRange(texts);
  // Not last - first + 1 at once: that may overflow.
  const uint64_t steps = (static_cast<uint64_t>(last) - static_cast<uint64_t>(first)) / static_cast<uint64_t>(step);
  if (steps >= static_cast<uint64_t>(kMaxListElements)) return TooLong(text);
  return NumberRange{.first = first, .step = step, .count = static_cast<int64_t>(steps) + 1};
}

absl::StatusOr<NumberRange> ParseDecimalRange(std::string_view text) {
  const RangeTexts texts = TextsOf(text);
  if (texts.first.empty() || texts.last.empty()) {
    return UsageError(fmt::format("'{}' is no range", Printable(text)), "a range is written 0.1..0.5:0.1, with both its ends and a step");
  }
  ASSIGN_OR_RETURN(const double first, ParseNumber(texts.first));
  ASSIGN_OR_RETURN(const double last, ParseNumber(texts.last));
  if (!texts.step) {
    return UsageError(fmt::format("the range {} has no step", Printable(text)),
                      fmt::format("write {}..{}:{}, or which step it has; values by another rule are written one by one", Printable(texts.first), Printable(texts.last),
                                  ShortestNumber(TenthOf(last - first))));
  }
  ASSIGN_OR_RETURN(const double step, ParseNumber(*texts.step));
  if (!(step > 0)) return UsageError(fmt::format("the step {} of a range is not above 0", Printable(*texts.step)));
  if (first > last) return EmptyRange(texts);
  const Decimal from = DecimalOf(first), to = DecimalOf(last), by = DecimalOf(step);
  const int decimals = std::max({from.behind, to.behind, by.behind, 0});
  const std::optional<int64_t> begin = InUnits(from, decimals), end = InUnits(to, decimals), width = InUnits(by, decimals);
  if (decimals > kMostDecimals || !begin || !end || !width) {
    return UsageError(fmt::format("the range {} has too many digits", Printable(text)), "write its values one by one");
  }
  NumberRange range{.first = *begin, .step = *width, .count = (*end - *begin) / *width + 1};
  for (int i = 0; i < decimals; ++i) range.parts *= 10;
  if (range.count > kMaxListElements) return TooLong(text);
  return range;
}

}  // namespace longreach::client
