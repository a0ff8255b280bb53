// How long the steps, batches and files of a pack usually take: what its trainer's silence is compared with (hang_watch.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include "worker/agent/hang_watch.h"

namespace longreach::agent {

class UsualTimes {
 public:
  // Each phase has parts of one kind: its steps, its batches, its files.
  static constexpr size_t kPhases = 4;

  // As the agent's watch has it.
  explicit UsualTimes(double hang_floor_s) : hang_floor_s_(hang_floor_s) {}

  // One part has ended, computed with so many threads. `told_s`: what the agent had been told last that is usual.
  void Took(size_t phase, int threads, double seconds, double told_s) {
    // With an agent that watched it would have been taken for hung: both stood still (SIGSTOP of all that a batch system has started), and it says nothing.
    if (seconds > Patience(told_s)) return;
    Timing& timing = timings_[std::max(threads, 1)][phase];
    timing.total_s += seconds;
    timing.squares += seconds * seconds;
  }

  // For what comes next with so many threads. That may be a step, a batch or a file, so the longest of what is usual counts. 0: of this phase nothing has
  // ended yet.
  double Of(size_t phase, int threads) const {
    if (UsualOf(phase, threads) == 0) return 0;
    double usual_s = 0;
    for (size_t i = 0; i < kPhases; ++i) usual_s = std::max(usual_s, UsualOf(i, threads));
    return usual_s;
  }

 private:
  // How long the agent waits once it has been told what is usual.
  double Patience(double usual_s) const {
    HangWatch watch(hang_floor_s_);
    watch.Alive(usual_s);
    return watch.limit_s();
  }

  struct Timing {
    double total_s = 0;
    double squares = 0;

    // How long what is under way at any moment takes, in the mean, and not how long any part does: a layer takes a minute with a long prompt, and milliseconds
    // with each of the hundreds of tokens that are the answer.
    double usual_s() const { return total_s > 0 ? squares / total_s : 0; }
  };

  // Where none was timed with so many threads, what others took, and longer by as much as they had more: a pack that has one of 64 threads
  // from now on, since others have begun beside it, is slow and not hung.
  double UsualOf(size_t phase, int threads) const {
    const int now = std::max(threads, 1);
    double usual_s = 0;
    for (const auto& [then, timings] : timings_) {
      const double its_s = timings[phase].usual_s();
      if (then == now && its_s > 0) return its_s;
      usual_s = std::max(usual_s, its_s * std::max(1.0, static_cast<double>(then) / now));
    }
    return usual_s;
  }

  double hang_floor_s_;
  std::map<int, std::array<Timing, kPhases>> timings_;  // By threads.
};

}  // namespace longreach::agent
