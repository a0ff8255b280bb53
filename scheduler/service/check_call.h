// Whether a worker's call can be what it says, before anything is looked up for it.
#pragma once

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"

namespace longreach::service {

// FAILED_PRECONDITION: it speaks another version of the protocol. INVALID_ARGUMENT, RESOURCE_EXHAUSTED: a field, with its value and what it may be.
absl::Status CheckCall(const v1::SynchronizeRequest& request);

}  // namespace longreach::service
