#include "client/spec/sweep_writer.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/catalog/encoding_name.h"

namespace longreach::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// What a terminal would obey, as a text of a store that somebody else has made may have it. YAML reads it as the character itself.
std::string EscapedControl(int32_t point) {
  if (point < 0) return "\\ufffd";
  return point < 0x100 ? fmt::format("\\x{:02x}", point) : point < 0x10000 ? fmt::format("\\u{:04x}", point) : fmt::format("\\U{:08x}", point);
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    std::string_view rest = text;
    const int32_t point = TakeCodePoint(rest);
    if (point == '"' || point == '\\') quoted += '\\';
    if (IsControl(point)) quoted += EscapedControl(point);
    else quoted += text.substr(0, text.size() - rest.size());
    text = rest;
  }
  return quoted + '"';
}

// One value of a field; `at` < 0: of one that is not repeated.
std::string ValueOf(const Message& message, const FieldDescriptor& field, int at) {
  const google::protobuf::Reflection& of = *message.GetReflection();
  const bool list = at >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(list ? of.GetRepeatedInt32(message, &field, at) : of.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(list ? of.GetRepeatedUInt32(message, &field, at) : of.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return ShortestNumber(list ? of.GetRepeatedDouble(message, &field, at) : of.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return (list ? of.GetRepeatedBool(message, &field, at) : of.GetBool(message, &field)) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_STRING:
      return Quoted(list ? of.GetRepeatedString(message, &field, at) : of.GetString(message, &field));
    default:
      return "";  // A sweep has no fields of other types.
  }
}

// "1..40" where the values are whole numbers in a row, else "[1, 5, 9]".
std::string ListOf(const Message& message, const FieldDescriptor& field) {
  const int size = message.GetReflection()->FieldSize(message, &field);
  std::vector<std::string> values;
  for (int i = 0; i < size; ++i) values.push_back(ValueOf(message, field, i));
  bool row = size > 2 && (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32 || field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32);
  for (size_t i = 1; row && i < values.size(); ++i) row = ParseInteger(values[i]) == *ParseInteger(values[i - 1]) + 1;
  if (row) return values.front() + ".." + values.back();
  return "[" + Join(values, ", ") + "]";
}

void Write(const Message& message, const std::string& indent, std::string& out) {
  const google::protobuf::Reflection& of = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  of.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    out += indent + field->name() + ":";
    if (field->message_type() == nullptr) {
      out += " " + (field->is_repeated() ? ListOf(message, *field) : ValueOf(message, *field, -1)) + "\n";
    } else if (!field->is_repeated()) {
      out += "\n";
      Write(of.GetMessage(message, field), indent + "  ", out);
    } else {
      out += "\n";
      for (int i = 0; i < of.FieldSize(message, field); ++i) {
        std::string item;
        Write(of.GetRepeatedMessage(message, field, i), indent + "    ", item);
        if (item.empty()) continue;
        item.replace(indent.size() + 2, 2, "- ");
        out += item;
      }
    }
  }
}

}  // namespace

v1::SweepSpec SweepOf(const v1::JobSpec& job) {
  v1::SweepSpec sweep;
  sweep.set_experiment(job.experiment());
  sweep.mutable_axes()->add_task(job.task());
  sweep.mutable_axes()->add_encoding(catalog::ToText({.name = job.encoding(), .randomized = job.randomized()}));
  sweep.mutable_axes()->add_learning_rate(job.learning_rate());
  sweep.mutable_axes()->add_seed(job.seed());
  sweep.set_data(job.data());
  if (job.has_model()) *sweep.mutable_model() = job.model();
  if (job.has_positions()) *sweep.mutable_positions() = job.positions();
  if (job.has_training()) *sweep.mutable_training() = job.training();
  if (job.has_evaluation()) *sweep.mutable_evaluation() = job.evaluation();
  return sweep;
}

std::string ToYaml(const v1::SweepSpec& spec, const v1::TableSpec& table) {
  std::string text;
  Write(spec, "", text);
  std::string of_table;
  Write(table, "  ", of_table);
  if (!of_table.empty()) text += "table:\n" + of_table;
  return text;
}

}  // namespace longreach::client
