#include "proto/base/json_reason.h"

#include <nlohmann/json.hpp>

#include "proto/base/utf8.h"

namespace longreach {

std::string WhyNoJsonObject(std::string_view text) {
  try {
    return nlohmann::json::parse(text).is_object() ? "it is one" : "it is another kind of JSON value";
  } catch (const nlohmann::json::exception& error) {
    // Behind the library's own name for it: "[json.exception.parse_error.101] parse error at line 1, column 24: ...", or "[json.exception.out_of_range.406]
    // number overflow parsing ...".
    constexpr std::string_view kStart = "parse error at ", kOwnName = "] ";
    constexpr size_t kMost = 200;  // It repeats what it read last, however long that is.
    std::string_view reason = error.what();
    if (const size_t name = reason.find(kOwnName); reason.starts_with('[') && name != std::string_view::npos) reason.remove_prefix(name + kOwnName.size());
    if (reason.starts_with(kStart)) reason.remove_prefix(kStart.size());
    return ValidUtf8(reason.substr(0, kMost));
  }
}

}  // namespace longreach
