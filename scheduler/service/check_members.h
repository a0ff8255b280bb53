// Whether the members of a sweep are the jobs that its specification makes, each at its position: by that a table says of which system a value is, and whose values are in it at all.
#pragma once

#include "proto/base/status.h"
#include "store/maintenance.h"
#include "store/sql/connection.h"

namespace longreach::service {

// Adds what contradicts specifications (Concern::kMembers): a member that is another job than its sweep's specification makes there, members that are lacking or too many. For CheckRows(), whose
// ids of sweeps say that the specifications are those that were submitted. Costs as much as planning all sweeps: some 5 us a job, and memory for none of them.
//
// A specification is expanded as it was stored, with the revisions of then. What this program does not expand so any more is not compared, and neither is a job that differs from the expected one
// in settings alone, unless the rest of the store shows that it came there otherwise: another version may have made it of the same text. Both are remarks.
absl::Status CheckMembers(sql::Connection& db, store::CheckReport& report);

}  // namespace longreach::service
