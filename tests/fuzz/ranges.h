// Lists like 0..9999999 are admitted, and take longer than an input may: targets leave them out.
#pragma once

#include <algorithm>
#include <string_view>

namespace longreach::fuzz {

// Whether anything like A..B is there with a B of more than five digits.
inline bool HasLongRange(std::string_view text) {
  for (size_t dots = text.find(".."); dots != std::string_view::npos; dots = text.find("..", dots + 2)) {
    const size_t end = text.find_first_not_of("0123456789_ ", dots + 2);
    if (std::min(end, text.size()) - dots - 2 > 5) return true;
  }
  return false;
}

}  // namespace longreach::fuzz
