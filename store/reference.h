// The beginning of an id, as people write it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace longreach::store {

// The fewest digits that a beginning has: shorter ones are names too easily.
inline constexpr size_t kLeastIdDigits = 4;

// 4 to 64 lower-case hexadecimal digits (or dashes, for UUIDs).
bool IsIdPrefix(std::string_view text);
// The first text after all that begin with `prefix`: [prefix, AfterPrefix(prefix)) is a range that an index serves.
std::string AfterPrefix(std::string_view prefix);

}  // namespace longreach::store
