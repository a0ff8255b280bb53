// Sweep files that stand for several sweeps.
#pragma once

#include <vector>

#include "client/spec/spec_reader.h"
#include "client/spec/yaml_tree.h"
#include "proto/base/status.h"

namespace longreach::client {

// The list under 'parts:': mappings of `sweep`, a preset or a path, and `set`, a list of PATH=VALUE. INVALID_ARGUMENT: it is none.
absl::StatusOr<std::vector<SweepSource>> ReadParts(const YamlTree& tree, const YamlNode& list);

// The same error, with the part that it is of.
absl::Status InPart(const absl::Status& status, const LoadedSweep& part);

}  // namespace longreach::client
