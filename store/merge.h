// The part of a merge that writes: inside of the store only; callers use MergeSource (maintenance.h).
#pragma once

#include "store/maintenance.h"

namespace longreach::store {

// FAILED_PRECONDITION: what the two have cannot be in one store, or `theirs` is not at rest. DATA_LOSS: rows of `theirs` cannot be taken over.
absl::Status CheckMerge(sql::Connection& theirs, sql::Connection& ours);

// Everything of `theirs` that `ours` lacks. The rows of `theirs` are sound (CheckRows) and not written while this runs. `lacking`: hashes of files
// that could not be copied; what rows say of them is taken over, so that another merge can bring them, but no checkpoint. As CheckMerge. `tell` is given the jobs.
absl::StatusOr<MergeReport> MergeRows(sql::Connection& theirs, sql::Transaction& ours, const std::set<std::string>& lacking, const TellMerge& tell = {});

}  // namespace longreach::store
