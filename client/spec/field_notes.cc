#include "client/spec/field_notes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string_view>

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

// A comment that stands by itself says whose all that follows is: 'The rest is of the kind "llama" alone.'
void FollowKind(const SourceLocation& location, std::string& kind) {
  constexpr std::string_view kBefore = "of the kind \"";
  for (const std::string& comment : location.leading_detached_comments) {
    const size_t at = comment.find(kBefore);
    if (at == std::string::npos) continue;
    const size_t begin = at + kBefore.size();
    kind = comment.substr(begin, comment.find('"', begin) - begin);
  }
}

FieldNote NoteOf(const FieldDescriptor& field, const SourceLocation& location, const std::string& path, const std::string& kind) {
  FieldNote note{.path = path, .type = TypeOf(field), .standard = "", .kind = kind, .text = OneLine(location.leading_comments + "\n" + location.trailing_comments)};
  const size_t bracket = note.text.rfind('[');
  if (bracket != std::string::npos && note.text.ends_with(']')) {
    note.standard = note.text.substr(bracket + 1, note.text.size() - bracket - 2);
    note.text = Trim(note.text.substr(0, bracket));
  }
  return note;
}

void Collect(const Descriptor& message, const std::string& prefix, std::vector<FieldNote>& notes) {
  std::string kind;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    SourceLocation location;
    field.GetSourceLocation(&location);
    FollowKind(location, kind);
    if (field.message_type() == nullptr || field.is_repeated()) {
      notes.push_back(NoteOf(field, location, prefix + field.name(), kind));
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
  google::protobuf::DescriptorPool pool;
  if (!files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || files.file().empty()) return notes;
  const google::protobuf::FileDescriptor* file = pool.BuildFile(files.file(files.file_size() - 1));
  if (file != nullptr) Collect(*file->FindMessageTypeByName("SweepSpec"), "", notes);
  return notes;
}

}  // namespace longreach::client
