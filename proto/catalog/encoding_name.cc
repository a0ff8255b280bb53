#include "proto/catalog/encoding_name.h"

namespace longreach::catalog {
namespace {

constexpr std::string_view kSuffix = ":randomized";

}  // namespace

std::string ToText(const EncodingName& encoding) { return encoding.randomized ? encoding.name + std::string(kSuffix) : encoding.name; }

std::optional<EncodingName> ParseEncodingName(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return EncodingName{.name = std::string(text)};
  if (text.substr(colon) != kSuffix) return std::nullopt;
  return EncodingName{.name = std::string(text.substr(0, colon)), .randomized = true};
}

bool IsRandomized(std::string_view text) {
  const std::optional<EncodingName> name = ParseEncodingName(text);
  return name && name->randomized;
}

}  // namespace longreach::catalog
