// Reports of finished attempts, on disk until the scheduler has acknowledged them. They are known at once; what writes or removes a file is
// given to the caller, who runs all of these in order, on whatever thread: a disk may stand still for longer than a lease is good for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"

namespace longreach::agent {

class Outbox {
 public:
  // Reads what an earlier process left. A file that is no report is renamed to *.unreadable and logged, because nobody
  // can do anything about it later; the attempt counts as lost then.
  static absl::StatusOr<Outbox> Open(const std::filesystem::path& folder);

  // After its OK the report is on disk. RESOURCE_EXHAUSTED when the disk is full: the report is kept in memory all the same.
  using Write = std::function<absl::Status()>;
  Write Add(const v1::AttemptReport& report);
  // The same of several (at least one) at the price of one: they share a file until the last of them is forgotten.
  Write AddAll(std::vector<v1::AttemptReport> reports);
  // Forgets a report, and gives what removes its file; null where there is none to remove.
  std::function<void()> Remove(uint64_t attempt);

  // Ascending by attempt.
  const std::map<uint64_t, v1::AttemptReport>& reports() const { return reports_; }

 private:
  explicit Outbox(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path FileOf(uint64_t attempt) const;
  std::filesystem::path SharedFileOf(uint64_t first) const;
  // Reads a file of several; false: it is none.
  bool ReadShared(const std::filesystem::path& file, const std::string& bytes);

  std::filesystem::path folder_;
  std::map<uint64_t, v1::AttemptReport> reports_;
  // A file of several reports, and how many of them are not forgotten.
  struct Shared {
    std::filesystem::path file;
    size_t left = 0;
  };
  std::map<uint64_t, std::shared_ptr<Shared>> shared_;  // By attempt; a report that is not here has its own file.
};

}  // namespace longreach::agent
