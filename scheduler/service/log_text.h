// Bytes of a log as text: where characters end, and where two parts of a log meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace longreach::service {

// How many of these bytes, which come behind others that are left out, belong to a character that begins before them.
size_t RestOfCharacter(std::string_view bytes);

// So many of them are whole characters, or bytes of none: what is left may become a character with those that follow.
size_t WholeCharacters(std::string_view bytes);

// What of `left`, which an attempt has left as its log, comes behind the first `position` bytes of that log, of which `seen` are the last. `whole`: it is
// all of the log, else its end. Nothing: where the two meet cannot be told, as what was seen ends before it.
std::optional<std::string_view> RestOfLog(std::string_view left, bool whole, uint64_t position, std::string_view seen);

}  // namespace longreach::service
