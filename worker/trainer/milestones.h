// How far an attempt is, as lines of its log: for who follows it, and for who looks afterwards where it was when something broke.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "worker/trainer/train.h"

namespace longreach::trainer {

// At each tenth of the way, and every ten minutes where that takes longer: a log holds a few hundred lines.
class Milestones {
 public:
  using Clock = std::chrono::steady_clock;

  // `done` of `of` were done before: there is no line of these.
  Milestones(int done, int of, Clock::time_point now) : of_(of), tenth_(TenthOf(done)), told_at_(now) {}

  // Whether `done`, which only grows, is worth a line now.
  bool Reached(int done, Clock::time_point now);

 private:
  int TenthOf(int done) const { return of_ > 0 ? static_cast<int>(int64_t{10} * done / of_) : 0; }

  const int of_;
  int tenth_;
  Clock::time_point told_at_;
};

// "step 300 of 3000, loss 0.5312 to 0.6124, 44.2 updates/s": the least and the largest loss of the points, which are not none. The speed is left
// out where it is 0.
std::string TrainedLine(int step, int steps, std::span<const LossPoint> points, double steps_per_second);

// "tested 2 of 5 lengths".
std::string TestedLine(int done, int of);

}  // namespace longreach::trainer
