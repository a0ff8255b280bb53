// The schema: numbered files in schema/, compiled in, applied forward only, one transaction each; to a new file all in one.
#pragma once

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

// The schema version of an open database; 0: it is empty. FAILED_PRECONDITION: newer than `newest`, or of another program.
absl::StatusOr<int> FoundVersion(sql::Connection& db, int newest = SchemaVersion());

// Brings a database up to date; the version it had. An older file is first copied to FILE.vN.backup (with .2, .3, ..
// behind it if there are others, which are kept; not if the last of them is the same). A migration that fails leaves the file at the version before it, and a new one empty. Tests give other migrations.
absl::StatusOr<int> Migrate(sql::Connection& db, std::span<const std::string_view> migrations = Migrations());

}  // namespace longreach::store
