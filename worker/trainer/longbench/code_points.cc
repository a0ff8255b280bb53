#include "worker/trainer/longbench/code_points.h"

#include <locale.h>
#include <wctype.h>

#include <cstdint>

#include "proto/base/utf8.h"

namespace longreach::longbench {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

// A table of letters that does not depend on the environment; without it only ASCII is known.
locale_t Letters() {
  static const locale_t letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return letters;
}

}  // namespace

std::u32string Decode(std::string_view utf8) {
  std::u32string text;
  while (!utf8.empty()) {
    const int32_t point = TakeCodePoint(utf8);
    text.push_back(point < 0 ? kReplacement : static_cast<char32_t>(point));
  }
  return text;
}

std::string Encode(std::u32string_view text) {
  std::string utf8;
  for (const char32_t c : text) {
    const auto tail = [&](int shift) { utf8.push_back(static_cast<char>(0x80 | (c >> shift & 0x3F))); };
    if (c < 0x80) {
      utf8.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      utf8.push_back(static_cast<char>(0xC0 | c >> 6));
      tail(0);
    } else if (c < 0x10000) {
      utf8.push_back(static_cast<char>(0xE0 | c >> 12));
      tail(6);
      tail(0);
    } else {
      utf8.push_back(static_cast<char>(0xF0 | c >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }
  return utf8;
}

bool IsSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
      (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

char32_t Lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  return Letters() == nullptr ? c : static_cast<char32_t>(towlower_l(static_cast<wint_t>(c), Letters()));
}

bool IsWord(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  return Letters() != nullptr && iswalnum_l(static_cast<wint_t>(c), Letters()) != 0;
}

std::vector<std::u32string> SplitWords(std::u32string_view text) {
  std::vector<std::u32string> words;
  for (size_t i = 0; i < text.size();) {
    while (i < text.size() && IsSpace(text[i])) ++i;
    const size_t first = i;
    while (i < text.size() && !IsSpace(text[i])) ++i;
    if (i > first) words.emplace_back(text.substr(first, i - first));
  }
  return words;
}

}  // namespace longreach::longbench
