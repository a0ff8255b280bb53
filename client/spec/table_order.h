// The keys that a sweep file's table lists in the order in which to print them: `row_order` and `column_order`. One that is none would be passed over in
// silence, and the table be sorted otherwise than it was meant.
#pragma once

#include <string>
#include <vector>

#include "client/spec/field_grid.h"
#include "client/spec/yaml_tree.h"
#include "longreach/v1/spec.pb.h"
#include "longreach/v1/table.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// `node` is the file's `table`, which reads as `table`; `spec` and `grid` are what the file says of its sweep. A task or encoding need be one that there is, not one
// of the sweep's: the same list serves a file from which some were taken. Of a setting that is a text, and of slices, any may be measured.
// INVALID_ARGUMENT with the key's place: no axis of its side has such a value.
absl::Status CheckTableOrder(const YamlTree& tree, const YamlNode& node, const v1::TableSpec& table, v1::SweepSpec spec, const FieldGrid& grid);

// In the place of each of the systems `before` that is listed, all that CrossGrid() has made of it.
void ListCrossedSystems(const std::vector<std::string>& before, const v1::SweepSpec& crossed, v1::TableSpec& table);

}  // namespace longreach::client
