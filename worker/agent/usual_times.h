// How long the steps, batches and files of a pack usually take: what its trainer's silence is compared with (hang_watch.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace longreach::agent {

class UsualTimes {
 public:
  // Each phase has parts of one kind: its steps, its batches, its files.
  static constexpr size_t kPhases = 4;

  // One part has ended, computed with so many threads.
  void Took(size_t phase, int threads, double seconds) {
    Timing& timing = timings_[std::max(threads, 1)][phase];
    timing.total_s += seconds;
    ++timing.count;
  }

  // For what comes next with so many threads. That may be a step, a batch or a file, so the longest of the mean times counts. 0: of this phase nothing has
  // ended yet.
  double Of(size_t phase, int threads) const {
    if (MeanOf(phase, threads) == 0) return 0;
    double usual_s = 0;
    for (size_t i = 0; i < kPhases; ++i) usual_s = std::max(usual_s, MeanOf(i, threads));
    return usual_s;
  }

 private:
  struct Timing {
    double total_s = 0;
    int64_t count = 0;
  };

  // Where none was timed with so many threads, what others took, and longer by as much as they had more: a pack that has one of 64 threads
  // from now on, since others have begun beside it, is slow and not hung.
  double MeanOf(size_t phase, int threads) const {
    const int now = std::max(threads, 1);
    double mean_s = 0;
    for (const auto& [then, timings] : timings_) {
      const Timing& timing = timings[phase];
      if (timing.count == 0) continue;
      const double its_s = timing.total_s / static_cast<double>(timing.count);
      if (then == now) return its_s;
      mean_s = std::max(mean_s, its_s * std::max(1.0, static_cast<double>(then) / now));
    }
    return mean_s;
  }

  std::map<int, std::array<Timing, kPhases>> timings_;  // By threads.
};

}  // namespace longreach::agent
