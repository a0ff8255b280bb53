// How far an attempt is, as lines of its log: for who follows it, and for who looks afterwards where it was when something broke.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

// The members' losses since the last line. Those of one update say little: its length is drawn, and long sequences are harder.
class RecentLosses {
 public:
  void Add(std::span<const LossPoint> points);
  bool empty() const { return sums_.empty(); }
  // The mean of each member's points, and they begin anew.
  std::vector<double> Take();

 private:
  std::map<int, std::pair<double, int>> sums_;  // By member, with the number of its points.
};

// "step 300 of 3000, loss 0.5312 to 0.6124, 44.2 updates/s": the least and the largest of the losses, of which there are some. The speed is left
// out where it is 0.
std::string TrainedLine(int step, int steps, std::span<const double> losses, double steps_per_second);

// "tested 2 of 5 lengths".
std::string TestedLine(int done, int of);

// "step 200 of 2000, accuracy 0.5312 to 0.6124 over 3 lengths", of members that were tested while they were trained: the least and the largest of their
// means over the lengths. There is one at least.
std::string CurveLine(int step, int steps, const std::string& metric, std::span<const double> scores, std::span<const int> lengths);

}  // namespace longreach::trainer
