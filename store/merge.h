// The part of a merge that writes: inside of the store only; callers use MergeSource (maintenance.h).
#pragma once

#include "store/maintenance.h"

namespace longreach::store {

// Everything of `theirs` that `ours` lacks. `theirs` is sound (Check) and is not written while this runs.
absl::StatusOr<MergeReport> MergeRows(sql::Connection& theirs, sql::Transaction& ours);

}  // namespace longreach::store
