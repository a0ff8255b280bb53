// Reports of finished attempts, on disk until the scheduler has acknowledged them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"

namespace longreach::agent {

class Outbox {
 public:
  // Reads what an earlier process left. A file that is no report is renamed to *.unreadable and logged, because nobody
  // can do anything about it later; the attempt counts as lost then.
  static absl::StatusOr<Outbox> Open(const std::filesystem::path& folder);

  // After OK the report is on disk. RESOURCE_EXHAUSTED when the disk is full: the report is kept in memory all the same.
  absl::Status Add(const v1::AttemptReport& report);
  // Forgets a report; of no effect when there is none.
  void Remove(uint64_t attempt);

  // Ascending by attempt.
  const std::map<uint64_t, v1::AttemptReport>& reports() const { return reports_; }

 private:
  explicit Outbox(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path FileOf(uint64_t attempt) const;

  std::filesystem::path folder_;
  std::map<uint64_t, v1::AttemptReport> reports_;
};

}  // namespace longreach::agent
