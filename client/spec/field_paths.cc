#include "client/spec/field_paths.h"

#include <utility>

namespace longreach::client {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void CollectPaths(const Descriptor& message, const std::string& prefix, std::vector<FieldPath>& paths) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.message_type() == nullptr || field.is_repeated()) paths.push_back({prefix + field.name(), &field});
    else CollectPaths(*field.message_type(), prefix + field.name() + ".", paths);
  }
}

}  // namespace

std::vector<FieldPath> FieldPaths(const Descriptor& root) {
  std::vector<FieldPath> paths;
  CollectPaths(root, "", paths);
  return paths;
}

std::vector<std::string> SettablePaths(const Descriptor& root) {
  std::vector<std::string> settable;
  const std::vector<FieldPath> paths = FieldPaths(root);
  for (const FieldPath& one : paths) {
    if (one.path.starts_with(kAxesGroup)) settable.push_back(one.path.substr(kAxesGroup.size()));
  }
  for (const FieldPath& one : paths) {
    if (!one.path.starts_with(kAxesGroup) && one.field->message_type() == nullptr) settable.push_back(one.path);
  }
  return settable;
}

std::vector<std::string> FieldNames(const Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return names;
}

}  // namespace longreach::client
