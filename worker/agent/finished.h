// Attempts that have ended and whose files are not handed in yet: on disk, so that a worker that ends before hands them in at its next
// start. Each lies in its attempt's folder.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "longreach/v1/trainer_pipe.pb.h"
#include "proto/base/status.h"
#include "worker/agent/attempt.h"

namespace longreach::agent {

// What is kept of an attempt beside its files: report, points, and which file is what.
v1::FinishedAttempt FinishedOf(const Attempt& attempt);
// After OK it is on disk in the attempt's folder, beside the files, which the trainer has synced. RESOURCE_EXHAUSTED: the disk is full.
absl::Status KeepFinished(const std::filesystem::path& folder, const v1::FinishedAttempt& finished);

// The attempt that KeepFinished() has kept in this folder, at the stage kHandingIn. NOT_FOUND: none. DATA_LOSS: it cannot be read.
absl::StatusOr<std::shared_ptr<Attempt>> ReadFinished(const std::filesystem::path& folder);

// Removes folders of attempts in `attempts` in which nothing is kept and no checkpoint was left (left_checkpoint.h), and gives the others. What cannot be removed costs space, no more.
std::vector<std::filesystem::path> RemoveUnfinished(const std::filesystem::path& attempts);

}  // namespace longreach::agent
