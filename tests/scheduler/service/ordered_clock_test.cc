#include "scheduler/service/ordered_clock.h"

#include <gtest/gtest.h>

namespace longreach::service {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class MachineClock final : public Clock {
 public:
  WallTime Wall() const override { return wall; }
  SteadyTime Steady() const override { return steady; }
  void Advance(std::chrono::microseconds by) {
    wall += by;
    steady += by;
  }
  WallTime wall{seconds(1'800'000'000)};
  SteadyTime steady{seconds(5)};
};

TEST(OrderedClockTest, IsTheMachinesClockAsLongAsNobodySetsIt) {
  MachineClock machine;
  const OrderedClock clock(machine);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(clock.Wall(), machine.wall);
    EXPECT_EQ(clock.Steady(), machine.steady);
    machine.Advance(seconds(7));
  }
}

TEST(OrderedClockTest, FollowsAClockThatIsSetForward) {
  MachineClock machine;
  const OrderedClock clock(machine);
  machine.wall += hours(24);
  EXPECT_EQ(clock.Wall(), machine.wall);
}

TEST(OrderedClockTest, GoesOnByTheSteadyClockWhenTheWallClockIsSetBack) {
  MachineClock machine;
  const OrderedClock clock(machine);
  const WallTime before = clock.Wall();
  machine.wall -= hours(24);
  EXPECT_EQ(clock.Wall(), before);
  machine.Advance(seconds(10));
  EXPECT_EQ(clock.Wall(), before + seconds(10));

  machine.wall += hours(24) + seconds(3);
  EXPECT_EQ(clock.Wall(), machine.wall);
}

}  // namespace
}  // namespace longreach::service
