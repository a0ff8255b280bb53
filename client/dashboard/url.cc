#include "client/dashboard/url.h"

#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::optional<std::string> Decode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const std::optional<int> high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      decoded += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      decoded += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  if (!IsPlainText(decoded)) return std::nullopt;
  return decoded;
}

}  // namespace

std::optional<Url> ParseUrl(std::string_view target) {
  if (!target.starts_with('/')) return std::nullopt;
  const size_t question = target.find('?');
  const std::optional<std::string> path = Decode(target.substr(0, question), /*plus_is_blank=*/false);
  if (!path) return std::nullopt;
  Url url{.path = *path, .parameters = {}};
  if (question == std::string_view::npos) return url;
  for (const std::string& part : Split(target.substr(question + 1), '&')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    const std::optional<std::string> name = Decode(std::string_view(part).substr(0, equals), /*plus_is_blank=*/true);
    const std::optional<std::string> value = Decode(equals == std::string::npos ? std::string_view() : std::string_view(part).substr(equals + 1), true);
    if (!name || !value) return std::nullopt;
    url.parameters.emplace_back(*name, *value);
  }
  return url;
}

}  // namespace longreach::client
