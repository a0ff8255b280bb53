#include "proto/base/utf8.h"

namespace longreach {

int32_t TakeCodePoint(std::string_view& text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {  // Most are.
    text.remove_prefix(1);
    return first;
  }
  const int length = static_cast<int>(BytesOfCharacter(text[0]));
  int32_t point = first & (0xff >> (length + 1));
  bool valid = length > 0 && text.size() >= static_cast<size_t>(length);
  for (int i = 1; valid && i < length; ++i) {
    valid = (byte(i) >> 6) == 2;
    point = (point << 6) | (byte(i) & 0x3f);
  }
  constexpr int32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && point >= kSmallest[length] && point <= 0x10ffff && !(point >= 0xd800 && point < 0xe000);
  text.remove_prefix(valid ? length : 1);
  return valid ? point : -1;
}

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    std::string_view rest = text;
    const bool is_character = TakeCodePoint(rest) >= 0;
    valid += is_character ? text.substr(0, text.size() - rest.size()) : "\xef\xbf\xbd";
    text = rest;
  }
  return valid;
}

std::optional<size_t> FirstNotUtf8(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const size_t at = text.size() - rest.size();
    if (TakeCodePoint(rest) < 0) return at;
  }
  return std::nullopt;
}

std::string Escaped(std::string_view text, const std::function<bool(int32_t)>& is_kept) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    std::string_view rest = text;
    const int32_t point = TakeCodePoint(rest);
    const std::string_view bytes = text.substr(0, text.size() - rest.size());
    if (is_kept(point)) {
      shown += bytes;
    } else {
      for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xf]};
      }
    }
    text = rest;
  }
  return shown;
}

bool IsControl(int32_t point) {
  const auto within = [point](int32_t first, int32_t last) { return point >= first && point <= last; };
  return point < 0x20 || within(0x7f, 0x9f) ||                       // C0, DEL and C1.
         point == 0x61c || within(0x200e, 0x200f) ||                 // What turns the direction of text around,
         within(0x202a, 0x202e) || within(0x2066, 0x2069) ||         // marks, embeddings and isolates.
         within(0x2028, 0x2029) ||                                   // Ends of lines and paragraphs.
         within(0xfff9, 0xfffb) || within(0xe0000, 0xe007f);         // Annotations and tags, which nobody sees.
}

std::string OnOneLine(std::string_view text) {
  return Escaped(text, [](int32_t point) { return !IsControl(point); });
}

std::string ForTerminal(std::string_view text) {
  return Escaped(text, [](int32_t point) { return point == '\n' || !IsControl(point); });
}

}  // namespace longreach
