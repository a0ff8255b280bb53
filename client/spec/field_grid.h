// A grid over fields of one value: a sweep may give such a field a list, and each combination of values becomes one of its systems. Only
// the client knows of it: the scheduler is sent systems.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// The most systems that a sweep with a grid may have.
inline constexpr size_t kMaxGridSystems = 1000;

struct GridField {
  std::string path;                 // "model.layers".
  std::string where;                // What error messages call it: "sweep.yaml:3:11: model.layers", "--set model.layers".
  std::vector<std::string> values;  // Two at least, no two the same, each as ParseValues() writes it.
};

// In the order in which the file names them first, and then --set.
using FieldGrid = std::vector<GridField>;

// Why the field of this path in a sweep takes no list; empty: it takes one.
std::string WhyNoGrid(std::string_view path);

// The field of that path takes one value again.
void RemoveFromGrid(std::string_view path, FieldGrid& grid);

// Gives a field the values of a list, in place of those that it has in the grid. A list of one value is that value, and no grid.
absl::Status PutIntoGrid(GridField values, const google::protobuf::FieldDescriptor& field, google::protobuf::Message& message, FieldGrid& grid);

// Puts the systems that a grid stands for in place of those of the sweep; without a grid it changes nothing. The last field varies fastest,
// the sweep's own systems slowest. Names are made of the values: "layers-2_batch_size-64", behind that of a system of the sweep's own
// "rope_layers-2".
// INVALID_ARGUMENT, beginning with the field's `where`: a system or the job behind an input has another say in it, there are too many
// systems, or a name is no name.
absl::Status CrossGrid(const FieldGrid& grid, v1::SweepSpec& spec);

}  // namespace longreach::client
