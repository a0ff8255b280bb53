// What a browser asks for: the target of an HTTP request (RFC 3986), taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longreach::client {

struct Url {
  std::string path;
  // In their order; a name may come several times.
  std::vector<std::pair<std::string, std::string>> parameters;
};

// "/api/jobs?sweep=last&state=failed", percent-encoded, in parameters "+" for a blank. Nothing: it does not begin with "/", is not
// encoded as that says, or what it stands for is no UTF-8 or has control characters.
std::optional<Url> ParseUrl(std::string_view target);

}  // namespace longreach::client
