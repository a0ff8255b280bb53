// What a file that holds parts of several jobs says of itself: Longreach's own trainer writes the jobs, in the order of the member axis, into the header of each
// checkpoint and of weights (worker/trainer/checkpoint). A row that says otherwise would give a job another one's parameters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "proto/base/status.h"

namespace longreach::store {

struct PackFile {
  std::string kind{};             // A word of ArtifactKind.
  std::optional<int64_t> step{};  // Updates done.
  std::vector<std::string> jobs{};

  // Where a job is, if it is there once.
  std::optional<int> MemberOf(const std::string& job) const;
};

// Reads no more than the header. Nothing: the file is not of our trainer, so that it says nothing that is known here; another trainer may write what it likes.
std::optional<PackFile> ReadPackFile(const std::filesystem::path& file);

// Whether two such files have the same tensors, bit for bit, for a job, wherever each says that it has it. Nothing: one of them is not there, cannot be read, is not of our trainer or has no such part.
// UNAVAILABLE: a stop was requested.
absl::StatusOr<std::optional<bool>> HaveSamePart(const std::filesystem::path& one, const std::filesystem::path& other, const std::string& job, const std::stop_token& stop);

}  // namespace longreach::store
