#include "client/output/json.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

namespace longreach::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

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
  while (true) {
    const size_t plain = PrintableAscii(json);
    out += json.substr(0, plain);
    json.remove_prefix(plain);
    if (json.empty()) return out;
    std::string_view rest = json;
    const int32_t point = TakeCodePoint(rest);
    if (IsControl(point)) {
      out += point < 0 ? "\\ufffd" : EscapedPoint(point);
    } else {
      out += json.substr(0, json.size() - rest.size());
    }
    json = rest;
  }
}

// A text that stands in JSON as it is, for any writer of it: some write these signs in another way, so that they mean nothing in HTML.
bool IsPlainInJson(std::string_view text) {
  return PrintableAscii(text) == text.size() && std::ranges::none_of(text, [](char c) { return c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == '\''; });
}

// With 15 digits, or with 17 where that is another number: as protobuf's writer has it, which asks printf for %.15g and %.17g.
void AppendNumber(double value, std::string& json) {
  for (const int digits : {15, 17}) {
    char buffer[32];
    const std::string_view text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits).ptr);
    if (digits == 15 && ParseDouble(text) != value) continue;
    json += text;
    return;
  }
}

// Adds the value of a field that is no list; false: of such a value only protobuf's writer knows how it is written.
bool AppendPlainValue(const Message& message, const FieldDescriptor& field, std::string& json) {
  const Reflection& at = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: json += fmt::to_string(at.GetInt32(message, &field)); return true;
    case FieldDescriptor::CPPTYPE_UINT32: json += fmt::to_string(at.GetUInt32(message, &field)); return true;
    case FieldDescriptor::CPPTYPE_BOOL: json += at.GetBool(message, &field) ? "true" : "false"; return true;
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double value = at.GetDouble(message, &field);
      if (!std::isfinite(value)) return false;
      AppendNumber(value, json);
      return true;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      if (field.type() != FieldDescriptor::TYPE_STRING) return false;
      std::string copy;
      const std::string& text = at.GetStringReference(message, &field, &copy);
      if (!IsPlainInJson(text)) return false;
      ((json += '"') += text) += '"';
      return true;
    }
    default: return false;
  }
}

// The same of a list of texts; of no other.
bool AppendPlainList(const Message& message, const FieldDescriptor& field, std::string& json) {
  if (field.type() != FieldDescriptor::TYPE_STRING) return false;
  const Reflection& at = *message.GetReflection();
  json += '[';
  for (int i = 0; i < at.FieldSize(message, &field); ++i) {
    std::string copy;
    const std::string& text = at.GetRepeatedStringReference(message, &field, i, &copy);
    if (!IsPlainInJson(text)) return false;
    if (i > 0) json += ',';
    ((json += '"') += text) += '"';
  }
  json += ']';
  return true;
}

// Adds a field and its value.
bool AppendPlainField(const Message& message, const FieldDescriptor& field, std::string& json) {
  json += json.empty() ? "{\"" : ",\"";
  (json += field.name()) += "\":";
  return field.is_repeated() ? AppendPlainList(message, field, json) : AppendPlainValue(message, field, json);
}

// What protobuf's writer makes of a message of such fields, without its trees of nodes and types: they took four fifths of the client's time for
// the jobs of a large sweep. Nothing: the message is another.
std::optional<std::string> PlainJson(const Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  std::string json;
  json.reserve(512);
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return std::nullopt;
    if (!field.has_presence() && !AppendPlainField(message, field, json)) return std::nullopt;
  }
  // That writer begins with the defaults, so what has none comes behind, as it comes over the wire.
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    if (field->has_presence() && !AppendPlainField(message, *field, json)) return std::nullopt;
  }
  json += json.empty() ? "{}" : "}";
  return json;
}

}  // namespace

std::string JsonText(std::string_view text) {
  std::string out = "\"";
  if (IsPlainInJson(text)) {
    out += text;
    text = {};
  }
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
  if (std::optional<std::string> plain = PlainJson(message)) return *std::move(plain);
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) return "{}";
  return EscapeControls(json);
}

std::string WithNulls(std::string object, std::initializer_list<std::string_view> members) {
  for (const std::string_view member : members) {
    // Within a text the quotes are escaped, so that it has none of these.
    const std::string key = fmt::format("\"{}\":", member);
    const size_t at = object.find(key);
    if (at == std::string::npos) continue;
    const size_t value = at + key.size();
    object.replace(value, object.find_first_of(",}", value) - value, "null");
  }
  return object;
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
