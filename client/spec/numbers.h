// Numbers as users write them, and ranges of them: "1..40", "0..500:50", "0.8..2.1:0.01".
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/base/status.h"

namespace longreach::client {

// The most elements that one list may have.
inline constexpr int64_t kMaxListElements = 10'000'000;

// All return INVALID_ARGUMENT with the value, the reason and how it is written.

// Finite.
absl::StatusOr<double> ParseNumber(std::string_view text);
absl::StatusOr<int64_t> ParseWhole(std::string_view text, int64_t least, int64_t most);

// Values from a first one on at equal distances: decimal fractions, each the number that is nearest to its digits, as if it were written.
struct NumberRange {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
  int64_t parts = 1;  // Of which a unit has so many: a power of ten.

  int64_t WholeAt(int64_t index) const { return first + index * step; }  // Where parts is 1.
  double At(int64_t index) const { return static_cast<double>(WholeAt(index)) / static_cast<double>(parts); }
};

bool IsRange(std::string_view text);
// "a..b", whose step is 1, or "a..b:step": from `least` to `most`, at least one value, at most kMaxListElements.
absl::StatusOr<NumberRange> ParseWholeRange(std::string_view text, int64_t least, int64_t most);
// "a..b:step".
absl::StatusOr<NumberRange> ParseDecimalRange(std::string_view text);

}  // namespace longreach::client
