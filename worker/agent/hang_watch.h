// When a silent trainer counts as hung.
#pragma once

#include <algorithm>

namespace longreach::agent {

// Fed with the trainer's signs of life and with the time that the agent has watched. Time in which the agent itself
// stood still (a suspended machine, SIGSTOP) does not count: one Watched() adds at most two of its periods.
class HangWatch {
 public:
  // How many times the usual a trainer may be silent, and how many times the floor where nothing is usual yet.
  static constexpr double kOfUsual = 20, kOfFloor = 10;

  explicit HangWatch(double floor_s) : floor_s_(floor_s) {}

  double period_s() const { return floor_s_ / 12; }

  void Start() {
    silent_s_ = 0;
    usual_s_ = 0;
  }

  // `usual_s`: what the next step, batch or file may be compared with; 0: nothing yet.
  void Alive(double usual_s) {
    silent_s_ = 0;
    usual_s_ = usual_s;
  }
  void Alive() { silent_s_ = 0; }

  void Watched(double elapsed_s) { silent_s_ += std::min(elapsed_s, 2 * period_s()); }

  // The first step or batch of a phase has nothing to be compared with, and loads and compiles besides.
  double limit_s() const { return usual_s_ > 0 ? std::max(floor_s_, kOfUsual * usual_s_) : kOfFloor * floor_s_; }
  double silent_s() const { return silent_s_; }
  bool hung() const { return silent_s_ > limit_s(); }
  // For longer than it usually is: not hung yet.
  bool silent() const { return silent_s_ > std::max(floor_s_ / 2, 2 * usual_s_); }

 private:
  double floor_s_;
  double silent_s_ = 0;
  double usual_s_ = 0;
};

}  // namespace longreach::agent
