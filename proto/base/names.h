// What words people choose are made of: names of sweeps, systems, inputs, data sets and files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace longreach {

inline constexpr size_t kMaxNameBytes = 64;

// A letter, a digit, '-', '_' or '.': what needs no quotes in a shell, a path or a URL.
constexpr bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// One character at least, and no other ones.
constexpr bool IsOfNameCharacters(std::string_view text) { return !text.empty() && std::ranges::all_of(text, IsNameCharacter); }

}  // namespace longreach
