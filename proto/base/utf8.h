// Text of unknown origin, by its characters. What goes into a message must be UTF-8: protobuf refuses the whole message where a text is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace longreach {

// Whether a byte belongs to a character that began before it: where a text must not be cut.
constexpr bool IsWithinCharacter(char byte) { return (byte & 0xc0) == 0x80; }

// How many bytes the character has that this one begins; 0: it begins none.
constexpr size_t BytesOfCharacter(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if ((byte >> 5) == 6) return 2;
  if ((byte >> 4) == 14) return 3;
  return (byte >> 3) == 30 ? 4 : 0;
}

// Takes the first code point off `text`, which is not empty. Returns -1 for a byte that begins none; then one byte is taken. What is longer
// than needed, half of a surrogate pair, beyond the last code point or cut off is none.
int32_t TakeCodePoint(std::string_view& text);

// `text` with U+FFFD in place of each byte that belongs to no character of UTF-8.
std::string ValidUtf8(std::string_view text);

// Where the first of those bytes is; nothing: all is UTF-8.
std::optional<size_t> FirstNotUtf8(std::string_view text);

// `text` with \xNN for each byte of a code point that `is_kept` does not admit; it is given -1 for a byte that belongs to none.
std::string Escaped(std::string_view text, const std::function<bool(int32_t)>& is_kept);

// Whether a terminal or an editor would obey it instead of showing it; also of -1, which is no character (TakeCodePoint()).
bool IsControl(int32_t point);

// `text` with \xNN for each byte that belongs to no character, and for those of control characters: a terminal would obey them, and it is one line.
std::string OnOneLine(std::string_view text);

// The same with the ends of lines left as they are.
std::string ForTerminal(std::string_view text);

}  // namespace longreach
