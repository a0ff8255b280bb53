// Checkpoints that the trainer of an earlier process had written when that was killed or its machine lost power: of their attempt nothing was
// kept (finished.h), and hours may lie in them that the scheduler does not have.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "proto/base/status.h"
#include "worker/agent/attempt.h"

namespace longreach::agent {

// Whether an attempt's folder has one, whatever is in it.
bool HasCheckpoint(const std::filesystem::path& folder);

// The attempt, lost and at the stage kHandingIn, without what only its checkpoint says. NOT_FOUND: the folder has none, or is no attempt's.
absl::StatusOr<std::shared_ptr<Attempt>> ReadLost(const std::filesystem::path& folder);

struct LeftCheckpoint {
  Checkpoint checkpoint;
  std::vector<std::string> jobs;  // Along the member axis.
};

// The furthest one, of those that are whole. Reads all of it. NOT_FOUND with what is wrong with each: none is.
absl::StatusOr<LeftCheckpoint> NewestWholeCheckpoint(const std::filesystem::path& folder);

}  // namespace longreach::agent
