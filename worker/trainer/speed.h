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

  // Tests between updates have taken so long, and come again after so many updates, 0: it was a part of them alone, which says nothing of the others.
  void Tested(Clock::duration took, int again_after);

  // Updates in a second, of which tests between them take their usual share: what is left of a training is left at this speed, whether its last seconds
  // had a test in them or not. 0: nothing worth telling is known yet, as what has been made until now took the time of a start.
  double per_second() const { return per_second_ > 0 ? 1 / (1 / per_second_ + tests_s_) : 0; }

 private:
  const int steps_;
  std::optional<Clock::time_point> since_;
  int from_ = 0;
  bool settled_ = false;  // A whole window has gone by.
  double per_second_ = 0;  // Without tests.
  double tests_s_ = 0;     // Of the last ones, for each update.
};

}  // namespace longreach::trainer
