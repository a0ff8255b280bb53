// WatchSweep: a sweep's state, now and at each change.
#pragma once

#include <chrono>
#include <functional>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/grpc_support.h"
#include "scheduler/service/live_board.h"
#include "store/store.h"

namespace longreach::service {

// Looks at the sweep every so often and writes what has changed, until it has no open job; when its last attempt ends, at once.
// Ends with what `admitted`, which is asked before each look, says of its caller. Deletes itself.
grpc::ServerWriteReactor<v1::SweepUpdate>* StartWatch(const v1::GetSweepRequest& request, std::chrono::milliseconds between_looks,
                                                      std::function<absl::Status()> admitted, LiveBoard& board, store::Store& store, Workforce& workforce);

}  // namespace longreach::service
