// The files that a lease names, brought to this machine.
#pragma once

#include <filesystem>
#include <stop_token>

#include "longreach/v1/trainer_pipe.pb.h"
#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "worker/agent/file_cache.h"
#include "worker/agent/transfers.h"

namespace longreach::agent {

// Members, specifications and paths of a pack whose files lie in `folder` afterwards: from the cache, else from the
// scheduler. Blocks; runs on a thread of its own. A checkpoint that is gone is replaced by the one before, for all
// members (they must resume at one step), and after that by a start from nothing.
// NOT_FOUND, DATA_LOSS: initial weights that are gone (IsGone). CANCELLED: `stop` asked. Others: a file cannot be had here, and may be
// elsewhere; FAILED_PRECONDITION: for want of room (IsOfThisDisk).
absl::StatusOr<v1::StartPack> Fetch(const v1::Lease& lease, const std::filesystem::path& folder, const FileCache& cache,
                                    Transfers& transfers, std::stop_token stop);

}  // namespace longreach::agent
