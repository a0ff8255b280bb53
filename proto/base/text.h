// Text without the fmt headers, for files that also include torch (whose own fmt would meet ours).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace longreach {

// Text(1, " of ", 2) == "1 of 2".
template <typename... Parts>
std::string Text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

// The shortest decimal that reads back as the same double: 0.0003, 1e-05, 3. Not finite: "nan", "inf", "-inf".
std::string ShortestNumber(double value);

// Splits at every `separator`; "" gives one empty part.
std::vector<std::string> Split(std::string_view text, char separator);

std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// As a sentence has them, with a word before the last one: "a, b and c".
std::string JoinWords(const std::vector<std::string>& parts, std::string_view last);

// In a line that has no room for all of them: the first `most`, and how many there are besides, "a, b and 3 more".
std::string JoinSome(const std::vector<std::string>& parts, size_t most = 5);

std::string_view Trim(std::string_view text);

// The whole of `text` as a number of that type, or nothing: no blanks, no trailing text, no overflow.
std::optional<int64_t> ParseInteger(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);
// Whether the whole of `text` is a number that these two do not hold: 99999999999999999999, 1e400.
bool IsBeyondInteger(std::string_view text);
bool IsBeyondDouble(std::string_view text);

// The word in `known` that `word` is but for capitals; else the nearest one in edit distance, if it is near enough to be a typo (of several,
// one that begins with `word`); else the only one that it is short for ("lr", "parity"); else "".
std::string ClosestWord(std::string_view word, const std::vector<std::string>& known);

}  // namespace longreach
