// Which field of a sweep was meant by a name that is none where it stands: what other programs call it, or one that belongs elsewhere.
// Paths are those of a file: "axes.learning_rate", "training.steps", "data".
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

namespace longreach::client {

// The field that the last name of `path` surely stands for, in whatever group it was looked for: one of that very name, an axis before all
// others, or one that is often called so ("lr", "num_layers"). Of several the one whose path is nearest. "": none.
std::string FieldCalled(std::string_view path, const google::protobuf::Descriptor& root);

// The field whose name is nearest to the last name of `path`: one of the path's own group, else of any. "": none is near.
std::string FieldNear(std::string_view path, const google::protobuf::Descriptor& root);

}  // namespace longreach::client
