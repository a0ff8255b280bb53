// The fields of a sweep by their paths, as files have them: "axes.learning_rate", "training.steps", "data".
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

namespace longreach::client {

// What the axes' paths begin with.
inline constexpr std::string_view kAxesGroup = "axes.";

struct FieldPath {
  std::string path;
  const google::protobuf::FieldDescriptor* field = nullptr;
};

// All fields but groups, in the order of the proto file. A list of messages is one field: its elements' are not there.
std::vector<FieldPath> FieldPaths(const google::protobuf::Descriptor& root);

// Paths of all fields that text can set, axes by their bare names first.
std::vector<std::string> SettablePaths(const google::protobuf::Descriptor& root);

// Names of the fields of a message, in the order of the proto file.
std::vector<std::string> FieldNames(const google::protobuf::Descriptor& message);

}  // namespace longreach::client
