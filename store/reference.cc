#include "store/reference.h"

#include <algorithm>

namespace longreach::store {

bool IsIdPrefix(std::string_view text) {
  return text.size() >= kLeastIdDigits && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
         });
}

std::string AfterPrefix(std::string_view prefix) { return std::string(prefix) + '~'; }  // '~' sorts behind all digits.

}  // namespace longreach::store
