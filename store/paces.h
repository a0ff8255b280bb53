// What tells how long the rest of a sweep takes: packs of it that have ended, and jobs of it that are to be leased. Neither costs more of a larger sweep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/sql/connection.h"

namespace longreach::store {

// An attempt at jobs of a sweep that trained them from the first step to the result. What it says of a job is that of its first one.
struct EndedPart {
  std::string worker{};  // Its id.
  int members = 0;       // Of the whole pack.
  double seconds = 0;    // More than 0.
  std::string task{};
  std::string encoding{};
  bool randomized = false;
  int steps = 0;         // More than 0.
  int64_t position = 0;  // In the sweep's order of expansion.
};
// Those among the last `look_back` attempts of the store, the newest first.
absl::StatusOr<std::vector<EndedPart>> EndedInSweep(sql::Connection& db, int64_t sweep, int look_back);

struct QueuedJob {
  std::string task{};
  std::string encoding{};
  bool randomized = false;
  int steps = 0;
  int64_t position = 0;
};
// Of `most` members at equal distances from the first to the last of `members`, or of all where they are fewer, those that are queued; in order of expansion.
absl::StatusOr<std::vector<QueuedJob>> SomeQueuedJobs(sql::Connection& db, int64_t sweep, int64_t members, int most);

}  // namespace longreach::store
