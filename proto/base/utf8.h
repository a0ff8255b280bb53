// Text of unknown origin, by its characters. What goes into a message must be UTF-8: protobuf refuses the whole message where a text is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longreach {

// Takes the first code point off `text`, which is not empty. Returns -1 for a byte that begins none; then one byte is taken. What is longer
// than needed, half of a surrogate pair, beyond the last code point or cut off is none.
int32_t TakeCodePoint(std::string_view& text);

// `text` with U+FFFD in place of each byte that belongs to no character of UTF-8.
std::string ValidUtf8(std::string_view text);

// Where the first of those bytes is; nothing: all is UTF-8.
std::optional<size_t> FirstNotUtf8(std::string_view text);

}  // namespace longreach
