// FollowLog: what the running attempt of a job prints, as it comes.
#pragma once

#include <chrono>
#include <functional>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/grpc_support.h"
#include "store/store.h"

namespace longreach::service {

// Writes what there is and then what comes, until the attempt ends. Ends with what `admitted`, which is asked again every `between_looks`, says of its caller.
// Deletes itself.
grpc::ServerWriteReactor<v1::LogPart>* StartFollowing(const v1::GetJobRequest& request, std::chrono::milliseconds between_looks,
                                                      std::function<absl::Status()> admitted, Engine& engine, store::Store& store, Workforce& workforce);

}  // namespace longreach::service
