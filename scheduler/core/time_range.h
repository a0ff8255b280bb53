// When a sweep will be done, and how far off that may be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/types/words.h"
#include "scheduler/core/pack_paces.h"

namespace longreach::core {

// A running pack, as far as it is the sweep's.
struct RunningPack {
  PackKind kind{};
  std::string worker{};
  int members = 0;
  AttemptPhase phase = AttemptPhase::kStarting;
  int step = 0;
  int steps = 0;                // More than 0.
  double steps_per_second = 0;  // Of each member; 0: nobody knows yet.
};

// Jobs that nobody trains yet, in the order in which they will be leased.
struct OpenJobs {
  PackKind kind{};
  double steps = 0;  // Of each job, those that are still to be made.
  double jobs = 0;
};

// Seconds; all 0: not known.
struct TimeRange {
  double usual = 0;
  double low = 0;
  double high = 0;
  // The worker that gets on with most of it at a time, and `usual` if there were another one like it. Empty: not known, or nothing waits for a worker.
  std::string fastest{};
  double usual_with_another = 0;
};

// The time until all of that is done by the workers that train it now, with the range in which it falls in about nine of ten cases. The rest of the sweep is
// played many times: each play draws anew what is not known (how long packs of tasks, encodings, systems and workers take that were not measured, how
// well those are known that were, how packs differ that are alike), and gives each pack to the worker that is free first. So the last packs, beside
// which other workers have nothing to do, count as they will. The same numbers are drawn each time, so that the range moves only with what is known.
//
// Not known before five packs of the sweep have ended, and while none runs.
TimeRange TimeRangeOf(std::span<const EndedPack> ended, std::span<const RunningPack> held, std::span<const OpenJobs> open, double jobs_a_pack);

}  // namespace longreach::core
