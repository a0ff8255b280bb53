// An encoding as an axis value: NAME, or NAME:randomized with randomized positions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace longreach::catalog {

struct EncodingName {
  std::string name;
  bool randomized = false;
  bool operator==(const EncodingName&) const = default;
};
std::string ToText(const EncodingName& encoding);
// nothing when what follows the colon is not "randomized". Does not ask whether there is such an encoding.
std::optional<EncodingName> ParseEncodingName(std::string_view text);
// Whether it reads NAME:randomized.
bool IsRandomized(std::string_view text);

}  // namespace longreach::catalog
