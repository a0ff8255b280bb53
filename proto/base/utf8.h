// Text of unknown origin on its way into a message: protobuf refuses the whole message where a text is not UTF-8.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace longreach {

// `text` with U+FFFD in place of each byte that belongs to no character of UTF-8.
std::string ValidUtf8(std::string_view text);

// Where the first of those bytes is; nothing: all is UTF-8.
std::optional<size_t> FirstNotUtf8(std::string_view text);

}  // namespace longreach
