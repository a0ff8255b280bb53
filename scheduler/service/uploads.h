// Who an uploaded file belongs to.
#pragma once

#include <vector>

#include "longreach/v1/worker.pb.h"
#include "store/attempts.h"

namespace longreach::service {

// The members of an attempt that a header names, in its order.
// ABORTED: the worker does not hold the attempt (any more); INVALID_ARGUMENT: a job is no member of it, or has fewer steps than the header says.
absl::StatusOr<std::vector<store::AttemptMember>> MembersOfUpload(sql::Connection& db, const v1::UploadHeader& header);

}  // namespace longreach::service
