// What is asked before a command makes a store: a sweep that is refused then leaves no file behind. One that was made is never removed again, as somebody else
// may have opened it meanwhile.
#pragma once

#include <optional>
#include <vector>

#include "client/interrupt.h"
#include "client/session.h"
#include "client/spec/spec_reader.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// Where Connect(StoreUse::kCreate, embed_by_default) would make a store, the plans of the sweeps by an empty one in memory; else none. A sweep whose plan
// takes long is not refused, and has none.
absl::StatusOr<std::vector<v1::Plan>> PlansBeforeStore(const Session& session, bool embed_by_default, const std::vector<LoadedSweep>& sweeps);

// There too: that the worker's program is there, and takes these options and has its device on this machine; of several devices, one of them, as a run goes
// on with those that it has. INVALID_ARGUMENT: an option is none that it takes. An exit code: the user has ended it. On a CPU LibTorch is looked for and not loaded; where a store is there, nothing is tried.
absl::StatusOr<std::optional<int>> TryWorkerBeforeStore(const Session& session, bool embed_by_default, const WorkerOptions& options, const InterruptScope& interrupt);

}  // namespace longreach::client
