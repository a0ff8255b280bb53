#include "worker/refused.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace longreach {

namespace {

// Names out of files of unknown origin are in it: no control characters reach the terminal but the ends of lines.
std::string ForTerminal(const std::string& message) {
  std::string shown;
  for (size_t i = 0; i < message.size(); ++i) {
    const auto byte = static_cast<unsigned char>(message[i]);
    // U+0080 to U+009f are two bytes in UTF-8.
    const bool c1 = byte == 0xc2 && i + 1 < message.size() && static_cast<unsigned char>(message[i + 1]) < 0xa0;
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f || c1) shown += fmt::format("\\x{:02x}", byte);
    else shown += message[i];
  }
  return shown;
}

}  // namespace

int Refused(const absl::Status& status, bool json) {
  using Json = nlohmann::ordered_json;
  const std::string message(status.message());
  if (json) {
    const Json error = {{"error", {{"code", absl::StatusCodeToString(status.code())}, {"message", message}, {"hint", ""}}}};
    fmt::print(stderr, "{}\n", error.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print(stderr, "error: {}\n", ForTerminal(message));
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument: return 2;
    case absl::StatusCode::kNotFound: return 4;
    default: return 1;
  }
}

}  // namespace longreach
