// Puts right which jobs are members of sweeps, and at which position, as their specifications have them: for store::Mend(), where the check found something of that (check_members.h).
#pragma once

#include "proto/base/status.h"
#include "store/repair.h"
#include "store/sql/connection.h"

namespace longreach::service {

// Of each sweep all of its members or none are put right. It is left, for the check to tell, where
//   - its id does not say that its specification is what was submitted, or this program does not expand that as it was;
//   - a job that belongs there is not in the store: no job is made here, and none is taken for another;
//   - none of its jobs is one that this program makes of its specification: another version may have made all of them otherwise;
//   - one of its members belongs neither there nor in any other sweep, so that no sweep would have it and its result any more.
// Jobs, results and files are not touched. Who is wanted and what is counted the caller puts right after that.
absl::Status MendMembers(sql::Transaction& tx, store::Mended& mended);

}  // namespace longreach::service
