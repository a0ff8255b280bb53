// How fast a pack is trained: of the last seconds, and nothing before that is known.
#pragma once

#include <chrono>
#include <optional>

namespace longreach::trainer {

class Speed {
 public:
  using Clock = std::chrono::steady_clock;

  // `steps`: of the whole training.
  explicit Speed(int steps) : steps_(steps) {}

  // Updates have been made and their results are there: `step` of them so far. To be called once for all that were handed over together.
  void Made(int step, Clock::time_point now);

  // Updates in a second. 0: nothing worth telling is known yet, as what has been made until now took the time of a start.
  double per_second() const { return per_second_; }

 private:
  const int steps_;
  std::optional<Clock::time_point> since_;
  int from_ = 0;
  bool settled_ = false;  // A whole window has gone by.
  double per_second_ = 0;
};

}  // namespace longreach::trainer
