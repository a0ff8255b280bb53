#include "client/output/json.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>

#include "proto/base/text.h"

namespace longreach::client {

std::string JsonText(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const int length = c < 0x80 ? 1 : (c >> 5) == 6 ? 2 : (c >> 4) == 14 ? 3 : (c >> 3) == 30 ? 4 : 0;
    bool valid = length > 0 && text.size() >= static_cast<size_t>(length);
    for (int i = 1; valid && i < length; ++i) valid = (static_cast<unsigned char>(text[i]) >> 6) == 2;
    if (!valid) {
      out += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      default:
        if (c < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04x}", c);
        } else {
          out += text.substr(0, length);
        }
    }
    text.remove_prefix(length);
  }
  return out + '"';
}

std::string JsonNumber(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  return ShortestNumber(value);
}

std::string JsonOf(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) return "{}";
  return json;
}

std::string JsonDocument(const google::protobuf::Message& message) {
  const std::string json = JsonOf(message);
  return fmt::format("{{\"schema\":{}{}{}\n", JsonText(kJsonSchema), json == "{}" ? "" : ",", json.substr(1));
}

std::string JsonDocument(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out = fmt::format("{{\"schema\":{}", JsonText(kJsonSchema));
  for (const auto& [name, value] : members) out += fmt::format(",{}:{}", JsonText(name), value);
  return out + "}\n";
}

}  // namespace longreach::client
