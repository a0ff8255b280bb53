// The table that a sweep is submitted with: looked at before anything is trained, and kept in the store for whoever prints the sweep.
#pragma once

#include <string>
#include <string_view>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::service {

// As the store keeps it. INVALID_ARGUMENT: no such table can be made of the sweep, or it is too long to be kept.
absl::StatusOr<std::string> TableToKeep(const v1::TableSpec& table, const v1::SweepSpec& sweep, std::string_view main_metric);

// Puts what the store keeps (empty: nothing) into the sweep, which has its specification; or why it cannot, as a sweep is none the worse
// for it.
void AddKeptTable(const std::string& kept, v1::Sweep& sweep);

}  // namespace longreach::service
