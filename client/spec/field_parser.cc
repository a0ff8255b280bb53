#include "client/spec/field_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "client/errors.h"
#include "client/output/text.h"
#include "client/spec/field_paths.h"
#include "client/spec/meant_field.h"
#include "client/spec/numbers.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/encoding_name.h"
#include "proto/types/field_text.h"
#include "proto/types/meant_name.h"

namespace longreach::client {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMaxTextBytes = 1000;

absl::Status CheckText(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return UsageError(fmt::format("a text of {} bytes; at most {} are admitted", text.size(), kMaxTextBytes));
  }
  if (!IsPlainText(text)) {
    return UsageError(fmt::format("'{}' is not plain UTF-8 text", Printable(text)),
                      "remove control characters and broken bytes");
  }
  return absl::OkStatus();
}

template <typename Entries>
void AddNames(const Entries& entries, std::vector<std::string>& names) {
  for (const auto& entry : entries) names.emplace_back(entry.name);
}

absl::Status CheckTask(std::string_view name) {
  if (catalog::FindTask(name) != nullptr || catalog::FindDataTask(name) != nullptr) return absl::OkStatus();
  std::vector<std::string> known;
  AddNames(catalog::Tasks(), known);
  AddNames(catalog::DataTasks(), known);
  const std::string meant = MeantName("task", name, known);
  constexpr std::string_view kAll = "'longreach list tasks' shows all of them";
  return UsageError(fmt::format("unknown task '{}'", Printable(name)),
                    meant.empty() ? fmt::format("{}; a data set of your own goes into 'data'", kAll) : JoinHints(meant, kAll));
}

absl::Status CheckEncoding(std::string_view value) {
  const std::string_view name = value.substr(0, value.find(':'));
  const catalog::Encoding* encoding = catalog::FindEncoding(name);
  if (encoding == nullptr) {
    const std::string_view written = name == "randomized" ? value : name;  // "randomized:rope" is meant as a whole.
    std::vector<std::string> known;
    AddNames(catalog::Encodings(), known);
    return UsageError(fmt::format("unknown encoding '{}'", Printable(written)),
                      JoinHints(MeantName("encoding", written, known), "'longreach list encodings' shows all of them"));
  }
  const std::optional<catalog::EncodingName> parts = catalog::ParseEncodingName(value);
  if (!parts) {
    return UsageError(fmt::format("unknown encoding '{}'", Printable(value)),
                      fmt::format("write '{}', or '{}' for randomized positions", name, catalog::ToText({.name = std::string(name), .randomized = true})));
  }
  if (parts->randomized && (encoding->positions & catalog::kRandomized) == 0) {
    return UsageError(fmt::format("encoding '{}' has no randomized form", name),
                      fmt::format("write '{}'; 'longreach list encodings' shows which have one", name));
  }
  return absl::OkStatus();
}

// Names that the catalog knows. The scheduler checks them again; here the answer has the place in the file.
absl::Status CheckName(const FieldDescriptor& field, std::string_view value) {
  if (field.full_name() == "longreach.v1.Axes.task") return CheckTask(value);
  if (field.full_name() == "longreach.v1.Axes.encoding") return CheckEncoding(value);
  return absl::OkStatus();
}

struct WholeRange {
  int64_t least;
  int64_t most;
};

WholeRange RangeOf(FieldDescriptor::CppType type) {
  switch (type) {
    case FieldDescriptor::CPPTYPE_INT32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case FieldDescriptor::CPPTYPE_UINT32: return {0, std::numeric_limits<uint32_t>::max()};
    case FieldDescriptor::CPPTYPE_UINT64: return {0, std::numeric_limits<int64_t>::max()};
    default: return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

bool IsWhole(FieldDescriptor::CppType type) {
  return type == FieldDescriptor::CPPTYPE_INT32 || type == FieldDescriptor::CPPTYPE_UINT32 ||
         type == FieldDescriptor::CPPTYPE_INT64 || type == FieldDescriptor::CPPTYPE_UINT64;
}

// Sets or, for a repeated field, appends a whole number that is within the type's range.
void PutWhole(int64_t value, const FieldDescriptor& field, Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const bool add = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto number = static_cast<int32_t>(value);
      add ? reflection.AddInt32(&message, &field, number) : reflection.SetInt32(&message, &field, number);
      break;
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto number = static_cast<uint32_t>(value);
      add ? reflection.AddUInt32(&message, &field, number) : reflection.SetUInt32(&message, &field, number);
      break;
    }
    case FieldDescriptor::CPPTYPE_INT64:
      add ? reflection.AddInt64(&message, &field, value) : reflection.SetInt64(&message, &field, value);
      break;
    default: {
      const auto number = static_cast<uint64_t>(value);
      add ? reflection.AddUInt64(&message, &field, number) : reflection.SetUInt64(&message, &field, number);
    }
  }
}

// One value without commas.
absl::Status PutOne(std::string_view text, const FieldDescriptor& field, Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const bool add = field.is_repeated();
  if (IsWhole(field.cpp_type())) {
    const WholeRange range = RangeOf(field.cpp_type());
    ASSIGN_OR_RETURN(const int64_t value, ParseWhole(text, range.least, range.most));
    PutWhole(value, field, message);
    return absl::OkStatus();
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      RETURN_IF_ERROR(CheckText(text));
      RETURN_IF_ERROR(CheckName(field, text));
      add ? reflection.AddString(&message, &field, std::string(text))
          : reflection.SetString(&message, &field, std::string(text));
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      ASSIGN_OR_RETURN(const double value, ParseNumber(text));
      add ? reflection.AddDouble(&message, &field, value) : reflection.SetDouble(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") {
        return UsageError(fmt::format("'{}' is neither true nor false", Printable(text)),
                          "write true or false");
      }
      reflection.SetBool(&message, &field, text == "true");
      return absl::OkStatus();
    default:
      return absl::InternalError(fmt::format("field {} has a type that text cannot set", field.full_name()));
  }
}

absl::Status CheckSize(const FieldDescriptor& field, const Message& message, int64_t more) {
  const int64_t size = message.GetReflection()->FieldSize(message, &field) + more;
  if (size <= kMaxListElements) return absl::OkStatus();
  return UsageError(fmt::format("a list of {} values; at most {} are admitted", size, kMaxListElements));
}

bool HasRanges(const FieldDescriptor& field) { return IsWhole(field.cpp_type()) || field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE; }

bool IsRangeOf(std::string_view text, const FieldDescriptor& field) { return HasRanges(field) && IsRange(text); }

absl::StatusOr<NumberRange> ParseRange(std::string_view text, const FieldDescriptor& field) {
  if (!IsWhole(field.cpp_type())) return ParseDecimalRange(text);
  const WholeRange range = RangeOf(field.cpp_type());
  return ParseWholeRange(text, range.least, range.most);
}

// A range, or one value.
absl::Status PutRangeOrOne(std::string_view text, const FieldDescriptor& field, Message& message) {
  if (!IsRangeOf(text, field)) {
    RETURN_IF_ERROR(CheckSize(field, message, 1));
    return PutOne(text, field, message);
  }
  ASSIGN_OR_RETURN(const NumberRange range, ParseRange(text, field));
  RETURN_IF_ERROR(CheckSize(field, message, range.count));
  for (int64_t i = 0; i < range.count; ++i) {
    if (IsWhole(field.cpp_type())) PutWhole(range.WholeAt(i), field, message);
    else message.GetReflection()->AddDouble(&message, &field, range.At(i));
  }
  return absl::OkStatus();
}

absl::Status EmptyValue(std::string_view list) {
  return UsageError(Trim(list).empty() ? "a list without a value" : fmt::format("an empty value in '{}'", Printable(list)),
                    "write a value, or several with ',' between them");
}

// The values of a range, or one.
absl::StatusOr<std::vector<std::string>> ValuesOf(std::string_view text, const FieldDescriptor& field, const Message& message, size_t most) {
  std::vector<std::string> values;
  if (IsRangeOf(text, field)) {
    ASSIGN_OR_RETURN(const NumberRange range, ParseRange(text, field));
    const auto size = static_cast<size_t>(range.count);
    if (size > most) return UsageError(fmt::format("{} values; at most {} are admitted", size, most));
    for (int64_t i = 0; i < range.count; ++i) {
      values.push_back(IsWhole(field.cpp_type()) ? std::to_string(range.WholeAt(i)) : ShortestNumber(range.At(i)));
    }
    return values;
  }
  // In 10,000 the ',' parts thousands, and the list would be 10 and 0.
  if (IsWhole(field.cpp_type()) && text.size() > 1 && text.front() == '0') {
    return UsageError(fmt::format("'{}' begins with 0", Printable(text)), "a list has its values without leading zeros, and a number has no ','");
  }
  const std::unique_ptr<Message> one(message.New());
  RETURN_IF_ERROR(PutOne(text, field, *one));
  values.push_back(FieldText(*one, field));
  return values;
}

std::vector<std::string> AxesOf(const Descriptor& root) {
  const FieldDescriptor* axes = root.FindFieldByName("axes");
  return axes == nullptr ? std::vector<std::string>() : FieldNames(*axes->message_type());
}

// Of a sweep with its axes, which go by their bare names and are no fields of its own.
std::string FieldsOf(const Descriptor& group) {
  std::vector<std::string> names = FieldNames(group);
  for (std::string& name : names) {
    if (name == "axes") name += fmt::format(" ({})", Join(AxesOf(group), ", "));
  }
  return Join(names, ", ");
}

// What to write instead of `path`.
std::string SuggestPath(std::string_view path, const Descriptor& root) {
  // A system's fields go by their whole paths.
  constexpr std::string_view kWith = ".with.";
  const size_t with = path.find(kWith);
  const std::string_view system = with == path.npos ? std::string_view() : path.substr(0, with + kWith.size());
  const std::string_view within = path.substr(system.size());
  const std::vector<std::string> paths = SettablePaths(root);
  for (const std::string& known : paths) {
    if (path.starts_with(known + ".")) return fmt::format("did you mean '{}', which has no fields below it?", known);
  }
  std::string meant = FieldCalled(within, root);
  if (meant.empty()) meant = FieldNear(within, root);
  if (meant.empty()) return DidYouMean(path, paths);
  if (system.empty() && meant.starts_with(kAxesGroup)) meant.erase(0, kAxesGroup.size());
  return fmt::format("did you mean '{}{}'?", Printable(system), meant);
}

absl::Status NeedsAField(std::string_view path, const Descriptor& group) {
  return UsageError(fmt::format("'{}' is a group of fields", Printable(path)), fmt::format("set one of them: {}", Join(FieldNames(group), ", ")));
}

// The element of a list of groups that goes by `name`. One that is not there is not made: what it takes can only be said in a file.
std::string NameOf(const Message& element) {
  return element.GetReflection()->GetString(element, element.GetDescriptor()->FindFieldByName("name"));
}

// A name of an element may have dots: the longest one that a path goes on with from `at` becomes one word of it.
void JoinNameWithDots(const Message& message, const FieldDescriptor& list, std::vector<std::string>& names, size_t at) {
  for (size_t end = names.size(); end > at + 1; --end) {
    const std::string name = Join({names.begin() + static_cast<std::ptrdiff_t>(at), names.begin() + static_cast<std::ptrdiff_t>(end)}, ".");
    for (int i = 0; i < message.GetReflection()->FieldSize(message, &list); ++i) {
      if (NameOf(message.GetReflection()->GetRepeatedMessage(message, &list, i)) != name) continue;
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(at) + 1, names.begin() + static_cast<std::ptrdiff_t>(end));
      names[at] = name;
      return;
    }
  }
}

absl::StatusOr<Message*> FindNamed(Message& message, const FieldDescriptor& list, const std::string& name) {
  std::vector<std::string> known;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &list); ++i) {
    Message* element = message.GetReflection()->MutableRepeatedMessage(&message, &list, i);
    known.push_back(NameOf(*element));
    if (!name.empty() && known.back() == name) return element;
  }
  if (known.empty()) {
    return UsageError(fmt::format("this sweep has no {}", list.name()), "they can only be written in a sweep file; --set changes those that are there");
  }
  return UsageError(name.empty() ? fmt::format("'{}' is a list of groups", list.name()) : fmt::format("unknown {} '{}'", list.name(), Printable(name)),
                    fmt::format("'{0}' has: {1}; its fields are set as {0}.{2}.FIELD", list.name(), Join(known, ", "), known.front()));
}

}  // namespace

absl::Status ParseIntoField(std::string_view text, const FieldDescriptor& field, Message& message) {
  if (!field.is_repeated()) {
    return PutOne(field.cpp_type() == FieldDescriptor::CPPTYPE_STRING ? text : Trim(text), field, message);
  }
  for (const std::string& part : Split(text, ',')) {
    const std::string_view value = Trim(part);
    if (value.empty()) return EmptyValue(text);
    RETURN_IF_ERROR(PutRangeOrOne(value, field, message));
  }
  return absl::OkStatus();
}

bool IsList(std::string_view text, const FieldDescriptor& field) {
  return text.find(',') != std::string_view::npos || IsRangeOf(text, field);
}

absl::Status ParseValues(std::string_view text, const FieldDescriptor& field, const Message& message, size_t most, std::vector<std::string>& values) {
  for (const std::string& part : Split(text, ',')) {
    const std::string_view value = Trim(part);
    if (value.empty()) return EmptyValue(text);
    ASSIGN_OR_RETURN(const std::vector<std::string> more, ValuesOf(value, field, message, most));
    for (const std::string& one : more) {
      if (std::ranges::find(values, one) != values.end()) return UsageError(fmt::format("'{}' is there twice", Printable(one)));
      values.push_back(one);
    }
    if (values.size() > most) return UsageError(fmt::format("{} values; at most {} are admitted", values.size(), most));
  }
  return absl::OkStatus();
}

absl::StatusOr<FieldRef> FindField(std::string_view path, Message& root) {
  const Descriptor& root_type = *root.GetDescriptor();
  Message* message = &root;
  std::string group = "a sweep";  // Of which `message` is the group.
  std::string settings;           // Where that is a system: what its settings are below.
  const auto unknown = [&] {
    const std::string has = fmt::format("{} has: {}", group, FieldsOf(*message->GetDescriptor()));
    return UsageError(fmt::format("unknown field '{}'", Printable(path)),
                      settings.empty() ? JoinHints(SuggestPath(path, root_type), has) : fmt::format("{}; its settings are below {}", has, settings));
  };
  // An axis goes by its bare name.
  if (const FieldDescriptor* axes = root_type.FindFieldByName("axes"); axes != nullptr) {
    const FieldDescriptor* axis = axes->message_type()->FindFieldByName(std::string(path));
    if (axis != nullptr) return FieldRef{root.GetReflection()->MutableMessage(&root, axes), axis};
  }
  std::vector<std::string> names = Split(path, '.');
  for (size_t i = 0; i < names.size(); ++i) {
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(names[i]);
    if (field == nullptr) return unknown();
    const bool is_last = i + 1 == names.size();
    if (field->message_type() == nullptr) {
      if (!is_last) return unknown();
      return FieldRef{message, field};
    }
    if (field->is_repeated()) {
      if (!is_last) JoinNameWithDots(*message, *field, names, i + 1);
      ASSIGN_OR_RETURN(message, FindNamed(*message, *field, is_last ? "" : names[i + 1]));
      if (++i + 1 == names.size()) return NeedsAField(path, *message->GetDescriptor());
      const std::string element = Printable(Join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i) + 1}, "."));
      group = fmt::format("'{}'", element);
      settings = message->GetDescriptor()->FindFieldByName("with") == nullptr ? "" : fmt::format("'{}.with'", element);
      // What makes an input is a sweep of its own, whose axes go by their bare names too.
      if (names[i + 1] == "from" && i + 2 < names.size()) {
        const FieldDescriptor* from = message->GetDescriptor()->FindFieldByName("from");
        const std::vector<std::string> rest(names.begin() + static_cast<std::ptrdiff_t>(i) + 2, names.end());
        return FindField(Join(rest, "."), *message->GetReflection()->MutableMessage(message, from));
      }
      continue;
    }
    if (is_last) {
      return NeedsAField(path, *field->message_type());
    }
    message = message->GetReflection()->MutableMessage(message, field);
    group = fmt::format("'{}'", Printable(Join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i) + 1}, ".")));
    settings.clear();
  }
  return unknown();
}

}  // namespace longreach::client
