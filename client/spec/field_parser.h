// Text to a protobuf field, by the field's type. The one grammar of values, for sweep files and for --set:
//   text        as it stands                        name, data, task, encoding
//   numbers     1e-3, 0.001, 128                    finite; whole where the field is
//   booleans    true, false
//   lists       a,b,c; whole numbers also a..b, all numbers also a..b:step, and mixes: 1..10,20,30..40, 0.8..2:0.1
// A list for a field of one value stands for several values of it (field_grid.h).
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::client {

// Sets a scalar field, or appends the values of `text` to a repeated scalar field.
// INVALID_ARGUMENT with value and reason, without naming the field.
absl::Status ParseIntoField(std::string_view text, const google::protobuf::FieldDescriptor& field,
                            google::protobuf::Message& message);

// Whether `text` for a field of one value says several: "a,b", or a range of numbers.
bool IsList(std::string_view text, const google::protobuf::FieldDescriptor& field);

// Appends to `values` those of a list for a field of one value, each as the shortest text that reads back as it. `message` has the field,
// and stays as it is.
// INVALID_ARGUMENT with value and reason, without naming the field: also of a value that is there twice, and of more than `most`.
absl::Status ParseValues(std::string_view text, const google::protobuf::FieldDescriptor& field, const google::protobuf::Message& message,
                         size_t most, std::vector<std::string>& values);

// A field reached by a path of names ("training.steps", "inputs.weights.from.encoding") from `root`; the messages on the way are
// created, but for elements of a list (`inputs`), which go by their names and have to be there.
struct FieldRef {
  google::protobuf::Message* message = nullptr;
  const google::protobuf::FieldDescriptor* field = nullptr;
};

// INVALID_ARGUMENT: no such field (with a suggestion), or one that text cannot set (a group).
absl::StatusOr<FieldRef> FindField(std::string_view path, google::protobuf::Message& root);

}  // namespace longreach::client
