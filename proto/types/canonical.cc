#include "proto/types/canonical.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>
#include <google/protobuf/unknown_field_set.h>

#include "proto/base/sha256.h"
#include "proto/base/text.h"
#include "proto/types/field_text.h"

namespace longreach {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::string_view kJobVersion = "longreach-job/1";
constexpr std::string_view kSweepVersion = "longreach-sweep/1";
// A list of integers longer than this is not a specification but an attack on memory.
// As many as a sweep may have jobs: the seeds of one that the scheduler took must be read back.
constexpr int64_t kMaxListed = 10'000'000;

using Lines = std::map<std::string, std::string>;

// A newline would end the line, a separator the value: both are written behind a backslash.
std::string Escape(std::string_view text, std::string_view separators) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '\\' || separators.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// Splits at separators that no backslash precedes, and takes the backslashes away.
std::vector<std::string> SplitEscaped(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      parts.back() += text[i] == 'n' ? '\n' : text[i];
    } else if (text[i] == separator) {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 1 < text.size();
    if (escaped) ++i;
    plain += escaped && text[i] == 'n' ? '\n' : text[i];
  }
  return plain;
}

// `separators`: what must be escaped in text; ',' inside of lists.
std::string Scalar(const Message& message, const FieldDescriptor& field, std::string_view separators) {
  std::string text = FieldText(message, field);
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING ? Escape(text, separators) : text;
}

std::optional<int64_t> IntegerAt(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& at = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return at.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32: return at.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT64: return at.GetRepeatedInt64(message, &field, index);
    default: return std::nullopt;
  }
}

std::string List(const Message& message, const FieldDescriptor& field) {
  const Reflection& at = *message.GetReflection();
  const int size = at.FieldSize(message, &field);
  std::string list;
  for (int i = 0; i < size; ++i) {
    if (i > 0) list += ',';
    if (const std::optional<int64_t> first = IntegerAt(message, field, i)) {
      int end = i + 1;
      while (end < size && *IntegerAt(message, field, end) == *first + (end - i)) ++end;
      list += fmt::to_string(*first);
      if (end - i >= 3) {
        list += fmt::format("..{}", *first + (end - 1 - i));
        i = end - 1;
      }
      continue;
    }
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE: list += ShortestNumber(at.GetRepeatedDouble(message, &field, i) + 0.0); break;
      case FieldDescriptor::CPPTYPE_FLOAT: list += ShortestNumber(at.GetRepeatedFloat(message, &field, i) + 0.0); break;
      case FieldDescriptor::CPPTYPE_BOOL: list += at.GetRepeatedBool(message, &field, i) ? "true" : "false"; break;
      case FieldDescriptor::CPPTYPE_UINT64: list += fmt::to_string(at.GetRepeatedUInt64(message, &field, i)); break;
      case FieldDescriptor::CPPTYPE_ENUM: list += at.GetRepeatedEnum(message, &field, i)->name(); break;
      default: list += Escape(at.GetRepeatedString(message, &field, i), ","); break;
    }
  }
  return list;
}

// `defaults` may be null: then every field that is set is written.
void Collect(const Message& message, const Message* defaults, const std::string& prefix, Lines& lines) {
  const Reflection& at = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  at.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = prefix + field->name();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        const bool known = defaults != nullptr && at.HasField(*defaults, field);
        Collect(at.GetMessage(message, field), known ? &at.GetMessage(*defaults, field) : nullptr, path + ".", lines);
        continue;
      }
      for (int i = 0; i < at.FieldSize(message, field); ++i) {
        const Message& element = at.GetRepeatedMessage(message, field, i);
        const FieldDescriptor* name = element.GetDescriptor()->FindFieldByName("name");
        const std::string key = name != nullptr ? Escape(element.GetReflection()->GetString(element, name), ".=") : "";
        Lines inner;
        Collect(element, nullptr, fmt::format("{}.{}.", path, key), inner);
        inner.erase(fmt::format("{}.{}.name", path, key));
        if (inner.empty()) inner[fmt::format("{}.{}", path, key)] = "";
        lines.merge(inner);
      }
      continue;
    }
    const bool defaulted = defaults != nullptr && (field->is_repeated() || at.HasField(*defaults, field));
    if (field->is_repeated()) {
      std::string list = List(message, *field);
      if (!defaulted || at.FieldSize(*defaults, field) == 0 || list != List(*defaults, *field)) lines[path] = std::move(list);
    } else {
      std::string value = Scalar(message, *field, "");
      if (!defaulted || value != Scalar(*defaults, *field, "")) lines[path] = std::move(value);
    }
  }
}

std::string Write(std::string_view version, const Message& spec, const Message& defaults) {
  Lines lines;
  Collect(spec, &defaults, "", lines);
  std::string text = fmt::format("{}\n", version);
  for (const auto& [path, value] : lines) text += fmt::format("{}={}\n", path, value);
  return text;
}

// One value of the field's type, or false.
bool SetScalar(Message& message, const FieldDescriptor& field, const std::string& text) {
  const Reflection& at = *message.GetReflection();
  const bool add = field.is_repeated();
  const std::optional<int64_t> integer = ParseInteger(text);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: {
      if (text != "true" && text != "false") return false;
      add ? at.AddBool(&message, &field, text == "true") : at.SetBool(&message, &field, text == "true");
      return true;
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      if (!integer || *integer != static_cast<int32_t>(*integer)) return false;
      const auto value = static_cast<int32_t>(*integer);
      add ? at.AddInt32(&message, &field, value) : at.SetInt32(&message, &field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      if (!integer || *integer != static_cast<int64_t>(static_cast<uint32_t>(*integer))) return false;
      const auto value = static_cast<uint32_t>(*integer);
      add ? at.AddUInt32(&message, &field, value) : at.SetUInt32(&message, &field, value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      if (!integer) return false;
      add ? at.AddInt64(&message, &field, *integer) : at.SetInt64(&message, &field, *integer);
      return true;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const std::optional<double> value = ParseDouble(text);
      if (!value) return false;
      add ? at.AddDouble(&message, &field, *value) : at.SetDouble(&message, &field, *value);
      return true;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      add ? at.AddString(&message, &field, text) : at.SetString(&message, &field, text);
      return true;
    }
    default: return false;  // No specification has a field of another type.
  }
}

std::string TypeName(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return "true or false";
    case FieldDescriptor::CPPTYPE_DOUBLE: return "a number";
    case FieldDescriptor::CPPTYPE_STRING: return "text";
    case FieldDescriptor::CPPTYPE_MESSAGE: return "a group of fields";
    default: return "an integer";
  }
}

// Adds the integers from `first` to `last`. Not by their texts: a large sweep lists all of its seeds.
// The first that the field's type does not have is returned, if there is one.
template <typename Integer>
std::optional<int64_t> AddRange(Message& message, const FieldDescriptor& field, int64_t first, int64_t last) {
  const auto list = message.GetReflection()->GetMutableRepeatedFieldRef<Integer>(&message, &field);
  for (int64_t i = first; i <= last; ++i) {
    if (i != static_cast<int64_t>(static_cast<Integer>(i))) return i;
    list.Add(static_cast<Integer>(i));
  }
  return std::nullopt;
}

std::optional<int64_t> SetRange(Message& message, const FieldDescriptor& field, int64_t first, int64_t last) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return AddRange<int32_t>(message, field, first, last);
    case FieldDescriptor::CPPTYPE_UINT32: return AddRange<uint32_t>(message, field, first, last);
    case FieldDescriptor::CPPTYPE_INT64: return AddRange<int64_t>(message, field, first, last);
    default: break;
  }
  for (int64_t i = first; i <= last; ++i) {
    if (!SetScalar(message, field, fmt::to_string(i))) return i;
  }
  return std::nullopt;
}

absl::Status SetList(Message& message, const FieldDescriptor& field, std::string_view value, std::string_view path) {
  const bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  int64_t room = kMaxListed;  // Of all ranges together: a short text may ask for any number of them.
  for (const std::string& part : SplitEscaped(value, ',')) {
    const size_t dots = text ? std::string::npos : part.find("..");
    if (dots == std::string::npos) {
      if (!SetScalar(message, field, part)) {
        return absl::InvalidArgumentError(fmt::format("{}: '{}' is not {}", path, part, TypeName(field)));
      }
      continue;
    }
    const std::optional<int64_t> first = ParseInteger(std::string_view(part).substr(0, dots));
    const std::optional<int64_t> last = ParseInteger(std::string_view(part).substr(dots + 2));
    constexpr int64_t kLimit = int64_t{1} << 40;  // So that the difference cannot overflow.
    if (!first || !last || *first > *last || *first < -kLimit || *last > kLimit || *last - *first >= room) {
      return absl::InvalidArgumentError(
          fmt::format("{}: '{}' is not a range a..b, or the list has more than {} integers", path, part, kMaxListed));
    }
    room -= *last - *first + 1;
    if (const std::optional<int64_t> beyond = SetRange(message, field, *first, *last)) {
      return absl::InvalidArgumentError(fmt::format("{}: {} is out of range", path, *beyond));
    }
  }
  return absl::OkStatus();
}

absl::Status UnknownPath(const Descriptor& descriptor, std::string_view word, std::string_view path) {
  std::vector<std::string> known;
  for (int i = 0; i < descriptor.field_count(); ++i) known.push_back(descriptor.field(i)->name());
  const std::string closest = ClosestWord(word, known);
  return absl::InvalidArgumentError(fmt::format("unknown field '{}' in '{}'{}", word, path,
                                                closest.empty() ? "" : fmt::format("; did you mean '{}'?", closest)));
}

// Finds the element of a repeated message that goes by `name`, or adds one.
Message* Element(Message& message, const FieldDescriptor& field, const std::string& name) {
  const Reflection& at = *message.GetReflection();
  const FieldDescriptor* key = field.message_type()->FindFieldByName("name");
  if (key == nullptr) return nullptr;
  for (int i = 0; i < at.FieldSize(message, &field); ++i) {
    Message* element = at.MutableRepeatedMessage(&message, &field, i);
    if (element->GetReflection()->GetString(*element, key) == name) return element;
  }
  Message* element = at.AddMessage(&message, &field);
  element->GetReflection()->SetString(element, key, name);
  return element;
}

absl::Status SetPath(Message& root, std::string_view path, std::string_view value) {
  Message* message = &root;
  const std::vector<std::string> words = SplitEscaped(path, '.');
  for (size_t i = 0; i < words.size(); ++i) {
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(words[i]);
    if (field == nullptr) return UnknownPath(*message->GetDescriptor(), words[i], path);
    const bool last = i + 1 == words.size();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (last) return absl::InvalidArgumentError(fmt::format("'{}' is a group of fields and takes no value", path));
      if (!field->is_repeated()) {
        message = message->GetReflection()->MutableMessage(message, field);
        continue;
      }
      message = Element(*message, *field, words[++i]);
      if (message == nullptr) return absl::InvalidArgumentError(fmt::format("elements of '{}' have no names", path));
      if (i + 1 == words.size()) {
        if (value.empty()) return absl::OkStatus();
        return absl::InvalidArgumentError(fmt::format("'{}' is a group of fields and takes no value", path));
      }
      continue;
    }
    if (!last) return absl::InvalidArgumentError(fmt::format("'{}' in '{}' has no fields", words[i], path));
    if (field->is_repeated()) return SetList(*message, *field, value, path);
    const std::string text = Unescape(value);
    if (!SetScalar(*message, *field, text)) {
      return absl::InvalidArgumentError(fmt::format("{}: '{}' is not {}", path, text, TypeName(*field)));
    }
  }
  return absl::OkStatus();
}

// The first '=' that no backslash precedes.
size_t FindEquals(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') ++i;
    else if (line[i] == '=') return i;
  }
  return std::string_view::npos;
}

absl::Status Parse(std::string_view version, std::string_view text, Message& spec) {
  int number = 0;
  std::string_view before;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return absl::InvalidArgumentError(fmt::format("line {} of a canonical text does not end: the text was cut off", number));
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (number == 1) {
      if (line != version) {
        return absl::InvalidArgumentError(fmt::format("a canonical text begins with '{}', not '{}'", version, line));
      }
      continue;
    }
    const size_t equals = FindEquals(line);
    if (equals == std::string_view::npos) {
      return absl::InvalidArgumentError(fmt::format("line {}: '{}' is not of the form path=value", number, line));
    }
    const std::string_view path = line.substr(0, equals);
    if (path <= before) {
      return absl::InvalidArgumentError(fmt::format("line {}: '{}' does not come after '{}'", number, path, before));
    }
    before = path;
    if (absl::Status set = SetPath(spec, path, line.substr(equals + 1)); !set.ok()) {
      return absl::Status(set.code(), fmt::format("line {}: {}", number, std::string_view(set.message().data(), set.message().size())));
    }
  }
  if (number == 0) return absl::InvalidArgumentError(fmt::format("a canonical text begins with '{}'; this one is empty", version));
  return absl::OkStatus();
}

// `inputs.NAME.job`, with a name that may hold escaped dots.
bool IsInputJob(std::string_view path) {
  return path.starts_with("inputs.") && path.ends_with(".job");
}

}  // namespace

std::string CanonicalText(const v1::JobSpec& spec, const v1::JobSpec& defaults) { return Write(kJobVersion, spec, defaults); }

std::string CanonicalText(const v1::SweepSpec& spec, const v1::SweepSpec& defaults) {
  return Write(kSweepVersion, spec, defaults);
}

absl::StatusOr<v1::JobSpec> ParseCanonicalJob(std::string_view text) {
  v1::JobSpec spec;
  RETURN_IF_ERROR(Parse(kJobVersion, text, spec));
  return spec;
}

absl::StatusOr<v1::SweepSpec> ParseCanonicalSweep(std::string_view text) {
  v1::SweepSpec spec;
  RETURN_IF_ERROR(Parse(kSweepVersion, text, spec));
  return spec;
}

JobId JobIdOf(std::string_view canonical_text) { return {Sha256Of(canonical_text)}; }
SweepId SweepIdOf(std::string_view canonical_text) { return {Sha256Of(canonical_text)}; }

std::string PackKeyOf(std::string_view canonical_text) {
  std::string shared;
  while (!canonical_text.empty()) {
    const size_t end = std::min(canonical_text.find('\n'), canonical_text.size() - 1);
    const std::string_view line = canonical_text.substr(0, end + 1);
    canonical_text.remove_prefix(end + 1);
    const size_t equals = FindEquals(line);
    const std::string_view path = line.substr(0, equals);
    if (equals != std::string_view::npos && (path == "learning_rate" || path == "seed" || IsInputJob(path))) continue;
    shared += line;
  }
  return Sha256Of(shared).substr(0, kPackKeyDigits);
}

absl::Status RefuseUnknownFields(const Message& message) {
  const Reflection& at = *message.GetReflection();
  if (const auto& unknown = at.GetUnknownFields(message); unknown.field_count() > 0) {
    return absl::InvalidArgumentError(
        fmt::format("{} holds field number {}, which this version does not know",
                    message.GetDescriptor()->name(), unknown.field(0).number()));
  }
  std::vector<const FieldDescriptor*> fields;
  at.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      RETURN_IF_ERROR(RefuseUnknownFields(at.GetMessage(message, field)));
      continue;
    }
    for (int i = 0; i < at.FieldSize(message, field); ++i) {
      RETURN_IF_ERROR(RefuseUnknownFields(at.GetRepeatedMessage(message, field, i)));
    }
  }
  return absl::OkStatus();
}

}  // namespace longreach
