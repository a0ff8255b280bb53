// How many updates a GPU is handed at once.
#pragma once

#include <algorithm>

namespace longreach::trainer {

// As many as it does in a moment: so many that it seldom waits for the host, so few that a worker that is asked to stop, or that shows
// signs of life, does so soon. Results do not depend on it.
class Handover {
 public:
  static constexpr int kMost = 32;
  static constexpr double kMomentS = 0.5;

  // The next time.
  int updates() const { return updates_; }
  // So many took so long, from the first one's begin to the last one's end.
  void Took(int updates, double seconds) {
    const double in_a_moment = seconds > 0 ? kMomentS * updates / seconds : kMost;
    updates_ = static_cast<int>(std::clamp<double>(in_a_moment, 1, kMost));
  }

 private:
  int updates_ = 4;  // Nothing is known yet.
};

}  // namespace longreach::trainer
