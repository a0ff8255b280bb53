#include "client/output/json.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>

#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

namespace longreach::client {
namespace {

// \uXXXX, in two halves above U+FFFF.
std::string EscapedPoint(int32_t point) {
  if (point < 0x10000) return fmt::format("\\u{:04x}", point);
  const int32_t above = point - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
}

// Protobuf's writer leaves some of them as they are. In JSON they can only stand within texts.
std::string EscapeControls(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    std::string_view rest = json;
    const int32_t point = TakeCodePoint(rest);
    if (IsControl(point)) {
      out += point < 0 ? "\\ufffd" : EscapedPoint(point);
    } else {
      out += json.substr(0, json.size() - rest.size());
    }
    json = rest;
  }
  return out;
}

}  // namespace

std::string JsonText(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    std::string_view rest = text;
    const int32_t point = TakeCodePoint(rest);
    const std::string_view bytes = text.substr(0, text.size() - rest.size());
    switch (point) {
      case -1: out += "\\ufffd"; break;
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      default: out += IsControl(point) ? EscapedPoint(point) : std::string(bytes);
    }
    text = rest;
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
  return EscapeControls(json);
}

std::string JsonDocument(const google::protobuf::Message& message) { return JsonDocumentOf(JsonOf(message)); }

std::string JsonDocumentOf(const std::string& object) {
  return fmt::format("{{\"schema\":{}{}{}\n", JsonText(kJsonSchema), object == "{}" ? "" : ",", object.substr(1));
}

std::string JsonDocument(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out = fmt::format("{{\"schema\":{}", JsonText(kJsonSchema));
  for (const auto& [name, value] : members) out += fmt::format(",{}:{}", JsonText(name), value);
  return out + "}\n";
}

}  // namespace longreach::client
