#include "tests/faults/storage/later_migrations.h"

#include <vector>

#include "store/migrate.h"

namespace longreach::faults {
namespace {

constexpr std::string_view kColumn =
    "ALTER TABLE sweeps ADD COLUMN note TEXT NOT NULL DEFAULT '';\n"
    "UPDATE sweeps SET note = 'of ' || name";

constexpr std::string_view kTable =
    "CREATE TABLE scores(job INTEGER NOT NULL REFERENCES jobs(num), length INTEGER NOT NULL, value REAL NOT NULL,\n"
    "  PRIMARY KEY (job, length)) STRICT, WITHOUT ROWID;\n"
    "INSERT INTO scores SELECT job, length, value FROM measurements WHERE metric = 'accuracy' AND slice = '';\n"
    "UPDATE jobs SET failure = failure";

constexpr std::string_view kIndex = "CREATE INDEX jobs_by_task ON jobs(task, encoding)";

}  // namespace

std::span<const std::string_view> LaterMigrations() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> migrations(store::Migrations().begin(), store::Migrations().end());
    migrations.insert(migrations.end(), {kColumn, kTable, kIndex});
    return migrations;
  }();
  return all;
}

}  // namespace longreach::faults
