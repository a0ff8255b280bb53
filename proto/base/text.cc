#include "proto/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace longreach {

std::string ShortestNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Fixed notation where people would write it so; std::to_chars alone would turn 0.0003 into 3e-04.
  const double size = std::abs(value);
  const bool fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  char buffer[32];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, fixed ? std::chars_format::fixed : std::chars_format::scientific);
  return std::string(buffer, end);
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::string JoinWords(const std::vector<std::string>& parts, std::string_view last) {
  if (parts.size() < 2) return Join(parts, "");
  const std::vector<std::string> first(parts.begin(), parts.end() - 1);
  return Text(Join(first, ", "), " ", last, " ", parts.back());
}

std::string JoinSome(const std::vector<std::string>& parts, size_t most) {
  if (parts.size() <= most) return Join(parts, ", ");
  const std::vector<std::string> first(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(most));
  return Join(first, ", ") + " and " + std::to_string(parts.size() - most) + " more";
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

namespace {

template <typename Number>
std::optional<Number> Parse(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename Number>
bool IsBeyond(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc::result_out_of_range && end == text.data() + text.size();
}

}  // namespace

bool IsBeyondInteger(std::string_view text) { return IsBeyond<int64_t>(text); }
bool IsBeyondDouble(std::string_view text) { return IsBeyond<double>(text); }

std::optional<int64_t> ParseInteger(std::string_view text) { return Parse<int64_t>(text); }
std::optional<double> ParseDouble(std::string_view text) { return Parse<double>(text); }

namespace {

// Levenshtein's distance, in two rows.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::iota(before.begin(), before.end(), size_t{0});
  std::vector<size_t> row(b.size() + 1);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, replaced});
    }
    std::swap(before, row);
  }
  return before[b.size()];
}

char Small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool AreOneButForCase(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, Small, Small); }

// In small letters and without what joins words: "Table_B1" and "tableb1" are table-b1.
std::string Joined(std::string_view word) {
  std::string joined;
  for (const char c : word) {
    if (c != '-' && c != '_') joined += Small(c);
  }
  return joined;
}

// "lr" of "learning_rate", "bs" of "training.batch_size".
std::string InitialsOf(std::string_view name) {
  std::string initials;
  for (const std::string& part : Split(name.substr(name.rfind('.') + 1), '_')) {
    if (!part.empty()) initials += part.front();
  }
  return initials;
}

// The only one of `known` that fits; "" where none does, or several do.
template <typename Fits>
std::string OnlyWord(const std::vector<std::string>& known, const Fits& fits) {
  std::string only;
  for (const std::string& candidate : known) {
    if (candidate == only || !fits(candidate)) continue;
    if (!only.empty()) return "";
    only = candidate;
  }
  return only;
}

// What a word of two letters and more is short for: its initials, or, of three and more, its beginning or a part of it.
std::string WordInFull(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() < 2) return "";
  const std::string of_initials = OnlyWord(known, [word](std::string_view candidate) { return InitialsOf(candidate) == word; });
  if (!of_initials.empty() || word.size() < 3) return of_initials;
  const std::string begun = OnlyWord(known, [word](std::string_view candidate) { return candidate.starts_with(word); });
  return begun.empty() ? OnlyWord(known, [word](std::string_view candidate) { return candidate.find(word) != candidate.npos; }) : begun;
}

}  // namespace

std::string ClosestWord(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > 200) return "";
  const auto same = std::ranges::find_if(known, [word](const std::string& candidate) { return AreOneButForCase(word, candidate); });
  if (same != known.end()) return *same;
  const std::string joined = Joined(word);
  const auto written_otherwise = std::ranges::find_if(known, [&joined](const std::string& candidate) { return !joined.empty() && Joined(candidate) == joined; });
  if (written_otherwise != known.end()) return *written_otherwise;
  std::string closest;
  size_t smallest = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(word, candidate);
    if (2 * distance > std::max(word.size(), candidate.size())) continue;  // More of it is another than the same, as of '3' and '1', or 'foo' and 'o'.
    // Of words as near, one that goes on as the word began: "table-b" is "table-b1" rather than "table-1".
    const bool goes_on = !closest.empty() && distance == smallest && candidate.starts_with(word) && !closest.starts_with(word);
    if (distance < smallest || goes_on) {
      smallest = distance;
      closest = candidate;
    }
  }
  return closest.empty() ? WordInFull(word, known) : closest;
}

}  // namespace longreach
