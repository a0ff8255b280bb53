// Errors that name a field of a request where the user typed an option for it.
#pragma once

#include <string>
#include <vector>

#include "proto/base/status.h"

namespace longreach::client {

// "table.only: unknown axis 'foo'" is "--only: unknown axis 'foo'" for who typed --only; a table's fields come from files as well, and
// keep their names where the option was not given. `options`: the names of those that were, "step-bins". Only the first line is looked at.
absl::Status NameGivenOptions(const absl::Status& error, const std::vector<std::string>& options);

}  // namespace longreach::client
