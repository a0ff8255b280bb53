// The part of a merge that writes: inside of the store only; callers use MergeSource (maintenance.h).
#pragma once

#include "store/maintenance.h"

namespace longreach::store {

// FAILED_PRECONDITION: what the two have cannot be in one store, or `theirs` is not at rest.
absl::Status CheckMerge(sql::Connection& theirs, sql::Connection& ours);

// Everything of `theirs` that `ours` lacks. `theirs` is sound (Check) and is not written while this runs. As CheckMerge.
absl::StatusOr<MergeReport> MergeRows(sql::Connection& theirs, sql::Transaction& ours);

}  // namespace longreach::store
