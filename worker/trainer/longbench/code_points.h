// Texts as Python sees them: by code point.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace longreach::longbench {

// Bytes that are no UTF-8 become U+FFFD.
std::u32string Decode(std::string_view utf8);
std::string Encode(std::u32string_view text);

// Of Python's str.split(), str.lower() and \w.
bool IsSpace(char32_t c);
char32_t Lower(char32_t c);
bool IsWord(char32_t c);

// At runs of white space, without empty parts.
std::vector<std::u32string> SplitWords(std::u32string_view text);

}  // namespace longreach::longbench
