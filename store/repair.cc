#include "store/repair.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "store/artifacts.h"

namespace longreach::store {
namespace {

// So many lines of integrity_check tell what kind of damage there is.
constexpr int kLinesOfDamage = 1000;

// Of an index alone: the rows are there.
bool IsOfIndex(std::string_view line) {
  const auto has = [line](std::string_view words) { return line.find(words) != line.npos; };
  return has(" missing from index ") || has(" values differ from index ") || line.starts_with("wrong # of entries in index ") ||
         line.starts_with("non-unique entry in index ") || line.starts_with("rowid not at end-of-record for row ");
}

// Of a value that the schema does not admit: row and pages are whole. What is wrong with it the ledger's checks may say.
bool IsOfValue(std::string_view line) { return line.starts_with("CHECK constraint failed in ") || line.find(" value in ") != line.npos; }

absl::Status BeyondMending(std::string_view line) {
  return absl::DataLossError(fmt::format("the store's file is damaged beyond its indexes ({}), so that nothing that is read of it can be trusted; it was left as it is. Put the last copy that is "
                                         "sound in its place (docs/OPERATIONS.md, Restore), or see what sqlite3's '.recover' saves of it",
                                         line));
}

// What integrity_check says of indexes; DATA_LOSS for what lies deeper.
absl::StatusOr<std::vector<std::string>> DamageOfIndexes(sql::Connection& db) {
  ASSIGN_OR_RETURN(std::vector<std::string> lines, db.All<std::string>(fmt::format("PRAGMA integrity_check({})", kLinesOfDamage)));
  std::erase_if(lines, [](const std::string& line) { return line == "ok" || IsOfValue(line); });
  for (const std::string& line : lines) {
    if (!IsOfIndex(line)) return BeyondMending(line);
  }
  return lines;
}

// Of files that are to be removed, those that no row names.
absl::StatusOr<std::set<std::string>> Unused(sql::Connection& db) {
  ASSIGN_OR_RETURN(const std::vector<std::string> hashes,
                   db.All<std::string>("SELECT sha256 FROM unused_files AS u WHERE NOT EXISTS (SELECT 1 FROM artifacts AS f WHERE f.sha256 = u.sha256) ORDER BY sha256"));
  return std::set<std::string>(hashes.begin(), hashes.end());
}

}  // namespace

void LinesOfAKind::Add(std::string line) {
  if (++count_ <= kMostMended) told_.push_back(std::move(line));
}

void LinesOfAKind::Tell(Mended& mended) && {
  std::ranges::move(told_, std::back_inserter(mended.done));
  if (count_ > kMostMended) mended.done.push_back(fmt::format("... and {} more of this kind", count_ - kMostMended));
}

absl::StatusOr<int> Follow(sql::Transaction& tx, const MendingRule& rule, Mended& mended) {
  std::vector<int64_t> numbers;
  LinesOfAKind lines;
  {
    ASSIGN_OR_RETURN(sql::Rows rows, tx.Query(rule.find));
    while (rows.Next()) {
      numbers.push_back(rows.Get<int64_t>(0));
      lines.Add(rows.Get<std::string>(1));
    }
    RETURN_IF_ERROR(rows.status());
  }
  for (const int64_t number : numbers) {
    for (const std::string& mend : rule.mends) RETURN_IF_ERROR(tx.Run(mend, number).status());
  }
  std::move(lines).Tell(mended);
  return static_cast<int>(numbers.size());
}

absl::Status MendIndexes(sql::Transaction& tx, Mended& mended) {
  ASSIGN_OR_RETURN(const std::vector<std::string> before, DamageOfIndexes(tx));
  if (before.empty()) return absl::OkStatus();
  // Two rows with one key are no damage of an index: one of them should not be there.
  if (const absl::Status made = tx.Run("REINDEX").status(); !made.ok()) {
    return absl::IsAlreadyExists(made) || absl::IsInternal(made) ? BeyondMending(before.front()) : made;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> after, DamageOfIndexes(tx));
  if (!after.empty()) return BeyondMending(after.front());
  mended.indexes = true;
  mended.done.push_back(fmt::format("all indexes were made anew: {}", before.front()));
  return absl::OkStatus();
}

absl::StatusOr<Mended> Mend(sql::Transaction& tx, const CheckReport& found, const ArtifactFiles& files, WallTime now, const MendMore& more) {
  Mended mended;
  RETURN_IF_ERROR(MendIndexes(tx, mended));  // First: all else reads through them.
  if (more && found.Has(Concern::kMembers)) RETURN_IF_ERROR(more(tx, mended));  // Then: who is wanted and counted follows from that.
  ASSIGN_OR_RETURN(const std::set<std::string> unused, Unused(tx));
  RETURN_IF_ERROR(MendResults(tx, mended));
  RETURN_IF_ERROR(MendFiles(tx, found, files, mended));
  RETURN_IF_ERROR(MendWork(tx, now, mended));
  // Whose last row went just now would be removed otherwise.
  ASSIGN_OR_RETURN(const std::set<std::string> unused_now, Unused(tx));
  for (const std::string& hash : unused_now) {
    if (!unused.contains(hash)) RETURN_IF_ERROR(ForgetUnused(tx, hash));
  }
  return mended;
}

}  // namespace longreach::store
