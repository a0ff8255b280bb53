// Which store a file is (schema/007_identity.sql).
#pragma once

#include <string>

#include "store/sql/connection.h"

namespace longreach::store {

// 32 hexadecimal digits: drawn when the store was made, and the same in its copies and backups.
absl::StatusOr<std::string> Identity(sql::Connection& db);

}  // namespace longreach::store
