// The schema: numbered files in schema/, compiled in, applied forward only, one transaction each.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "store/sql/connection.h"

namespace longreach::store {

// The version that this program writes.
int SchemaVersion();

// Marks a file as ours in its header ("LRch").
inline constexpr int kApplicationId = 0x4c526368;

// The embedded files, ascending by version; the n-th is version n + 1.
std::span<const std::string_view> Migrations();
// The ledger checks (schema/check.sql).
std::string_view CheckSql();

// The schema version of an open database; 0: it is empty. FAILED_PRECONDITION: of a newer version or of another program.
absl::StatusOr<int> FoundVersion(sql::Connection& db);

// Brings a database up to date; the version it had. An older file is first copied to FILE.vN.backup (an existing one is kept).
absl::StatusOr<int> Migrate(sql::Connection& db);

}  // namespace longreach::store
