#include "worker/refused.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "proto/base/utf8.h"

namespace longreach {

int Refused(const absl::Status& status, bool json) {
  using Json = nlohmann::ordered_json;
  const std::string message(status.message());
  if (json) {
    const Json error = {{"error", {{"code", absl::StatusCodeToString(status.code())}, {"message", message}, {"hint", ""}}}};
    fmt::print(stderr, "{}\n", error.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print(stderr, "error: {}\n", ForTerminal(message));  // Names out of files of unknown origin are in it.
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument: return 2;
    case absl::StatusCode::kNotFound: return 4;
    default: return 1;
  }
}

}  // namespace longreach
