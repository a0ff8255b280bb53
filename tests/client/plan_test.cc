// What `longreach plan` says of a sweep's time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

class PlanTest : public WithFakeScheduler {
 protected:
  // What is printed of a sweep that takes so many seconds, between `low` and `high`.
  std::string Planned(double seconds, double low, double high) {
    scheduler_.plan.set_hours(seconds / 3600);
    scheduler_.plan.set_hours_low(low / 3600);
    scheduler_.plan.set_hours_high(high / 3600);
    return Run({"plan", "table-b1"}).out;
  }
};

TEST_F(PlanTest, OfMinutesBothEndsOfTheRangeAreTold) {
  EXPECT_THAT(Planned(600, 300, 1200), HasSubstr("  time           about 10 min on the workers at hand (5 min to 20 min)\n"));
}

TEST_F(PlanTest, NoSweepTakesZeroSeconds) {
  EXPECT_THAT(Planned(0.2, 0.1, 0.4), HasSubstr("  time           less than a second on the workers at hand\n"));
  EXPECT_THAT(Planned(0.2, 0.1, 3), HasSubstr("  time           less than a second on the workers at hand (0 s to 3 s)\n"));
  EXPECT_THAT(Planned(2, 1, 3), HasSubstr("  time           about 2 s on the workers at hand (1 s to 3 s)\n"));
}

}  // namespace
}  // namespace longreach::client
