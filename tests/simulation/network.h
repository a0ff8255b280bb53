// The network between machines: messages are lost, repeated, reordered and delayed, and cut off in one direction or both.
#pragma once

#include <functional>
#include <set>
#include <utility>

#include "tests/simulation/world.h"

namespace longreach::simulation {

class Network {
 public:
  explicit Network(World& world) : world_(world) {}

  struct Weather {
    double loss = 0;
    double repeat = 0;
    double late = 0;          // Part of messages that take up to `latest`.
    double mean_s = 0.01;
    double latest_s = 30;
  };
  void Set(const Weather& weather) { weather_ = weather; }

  enum class Way { kToScheduler, kFromScheduler };
  // A machine's messages of one direction vanish until Heal().
  void Cut(int machine, Way way) { cut_.insert({machine, way}); }
  void Heal(int machine) {
    cut_.erase({machine, Way::kToScheduler});
    cut_.erase({machine, Way::kFromScheduler});
  }

  // `arrive` happens never, once or twice.
  void Send(int machine, Way way, const std::function<void()>& arrive) {
    if (cut_.contains({machine, way})) return world_.Count("fault: message lost in a partition");
    if (world_.dice.Chance(weather_.loss)) return world_.Count("fault: message lost");
    if (world_.dice.Chance(weather_.repeat)) {
      world_.Count("fault: message repeated");
      world_.After(Delay(), arrive);
    }
    world_.After(Delay(), arrive);
  }

 private:
  Duration Delay() {
    if (world_.dice.Chance(weather_.late)) {
      world_.Count("fault: message delayed");
      return Seconds(weather_.latest_s * world_.dice.Part());
    }
    return Seconds(weather_.mean_s * 2 * world_.dice.Part());
  }

  World& world_;
  Weather weather_;
  std::set<std::pair<int, Way>> cut_;
};

}  // namespace longreach::simulation
