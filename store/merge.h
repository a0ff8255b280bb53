// The part of a merge that writes: inside of the store only; callers use MergeSource (maintenance.h).
#pragma once

#include <set>
#include <string>

#include "store/maintenance.h"

namespace longreach::store {

// FAILED_PRECONDITION: what the two have cannot be in one store, or `theirs` is not at rest. DATA_LOSS: rows of `theirs` cannot be taken over.
absl::Status CheckMerge(sql::Connection& theirs, sql::Connection& ours);

// Hashes of files that rows of the other store name.
struct FilesOfMerge {
  std::set<std::string> lacking{};  // Whole neither there nor here. What rows say of them is taken over, so that another merge can bring them, but no checkpoint.
  // They came for this merge, or for one that was not recorded: those that no row comes to name go again. Others that were here before may be named by a copy of the database.
  std::set<std::string> unsettled{};
};

// Everything of `theirs` that `ours` lacks. The rows of `theirs` are sound (CheckRows) and not written while this runs. As CheckMerge. `tell` is given the jobs.
absl::StatusOr<MergeReport> MergeRows(sql::Connection& theirs, sql::Transaction& ours, const FilesOfMerge& files, const TellMerge& tell = {});

}  // namespace longreach::store
