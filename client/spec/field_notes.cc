#include "client/spec/field_notes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string_view>

#include "longreach/v1/options.pb.h"
#include "longreach/v1/spec.pb.h"
#include "proto/base/text.h"

namespace longreach::client {

// Generated: the file as a FileDescriptorSet with its comments.
std::string_view SpecDescription();

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::SourceLocation;

// Its words, with one blank between them.
std::string OneLine(const std::string& comment) {
  std::string line;
  for (const std::string& part : Split(comment, '\n')) {
    const std::string_view words = Trim(part);
    if (words.empty()) continue;
    if (!line.empty()) line += ' ';
    line += words;
  }
  return line;
}

std::string TypeOf(const FieldDescriptor& field) {
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: return list ? "list of texts" : "text";
    case FieldDescriptor::CPPTYPE_BOOL: return "yes or no";
    case FieldDescriptor::CPPTYPE_DOUBLE: return list ? "list of numbers" : "number";
    case FieldDescriptor::CPPTYPE_MESSAGE: return "list of groups";
    default: return list ? "list of whole numbers" : "whole number";
  }
}

// The description's own pool knows no extensions.
std::string KindOf(const FieldDescriptor& field) {
  const FieldDescriptor* generated = google::protobuf::DescriptorPool::generated_pool()->FindFieldByName(field.full_name());
  if (generated == nullptr) return "";
  const google::protobuf::FieldOptions& options = generated->options();
  std::vector<std::string> kinds = {options.GetExtension(v1::only_kind)};
  for (int i = 0; i < options.ExtensionSize(v1::also_kind); ++i) kinds.push_back(options.GetExtension(v1::also_kind, i));
  return JoinWords(kinds, "or");
}

FieldNote NoteOf(const FieldDescriptor& field, const SourceLocation& location, const std::string& path) {
  FieldNote note{.path = path,
                 .type = TypeOf(field),
                 .standard = "",
                 .kind = KindOf(field),
                 .text = OneLine(location.leading_comments + "\n" + location.trailing_comments)};
  const size_t bracket = note.text.rfind('[');
  if (bracket != std::string::npos && note.text.ends_with(']')) {
    note.standard = note.text.substr(bracket + 1, note.text.size() - bracket - 2);
    note.text = Trim(note.text.substr(0, bracket));
  }
  return note;
}

void Collect(const Descriptor& message, const std::string& prefix, std::vector<FieldNote>& notes) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    SourceLocation location;
    field.GetSourceLocation(&location);
    if (field.message_type() == nullptr || field.is_repeated()) {
      notes.push_back(NoteOf(field, location, prefix + field.name()));
    } else {
      Collect(*field.message_type(), field.name() == "axes" ? "" : prefix + field.name() + ".", notes);
    }
  }
}

}  // namespace

std::vector<FieldNote> FieldNotes() {
  std::vector<FieldNote> notes;
  google::protobuf::FileDescriptorSet files;
  const std::string_view bytes = SpecDescription();
  if (!files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return notes;
  google::protobuf::DescriptorPool pool;
  const google::protobuf::FileDescriptor* file = nullptr;  // The last one; what it imports comes before it.
  for (const google::protobuf::FileDescriptorProto& one : files.file()) file = pool.BuildFile(one);
  if (file != nullptr) Collect(*file->FindMessageTypeByName("SweepSpec"), "", notes);
  return notes;
}

}  // namespace longreach::client
