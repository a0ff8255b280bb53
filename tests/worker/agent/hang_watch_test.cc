#include "worker/agent/hang_watch.h"

#include <gtest/gtest.h>

namespace longreach::agent {
namespace {

// Watches for so many seconds in the watch's own periods.
void Watch(HangWatch& watch, double seconds) {
  for (double watched = 0; watched < seconds; watched += watch.period_s()) watch.Watched(watch.period_s());
}

TEST(HangWatchTest, GivesFastStepsTheFloor) {
  HangWatch watch(60);
  watch.Start();
  watch.Alive(/*usual_s=*/0.01);

  Watch(watch, 55);
  EXPECT_FALSE(watch.hung());
  Watch(watch, 10);
  EXPECT_TRUE(watch.hung());
}

TEST(HangWatchTest, GivesSlowStepsTwentyTimesTheUsual) {
  HangWatch watch(60);
  watch.Start();
  watch.Alive(/*usual_s=*/30);

  Watch(watch, 590);
  EXPECT_FALSE(watch.hung());
  Watch(watch, 15);
  EXPECT_TRUE(watch.hung());
}

TEST(HangWatchTest, GivesTheFirstStepOfAPhaseTenTimesTheFloor) {
  HangWatch watch(60);
  watch.Start();

  Watch(watch, 590);
  EXPECT_FALSE(watch.hung());
  Watch(watch, 15);
  EXPECT_TRUE(watch.hung());
}

TEST(HangWatchTest, StartsAgainAtEachSignOfLife) {
  HangWatch watch(60);
  watch.Start();
  for (int i = 0; i < 10; ++i) {
    watch.Alive(0.01);
    Watch(watch, 50);
    EXPECT_FALSE(watch.hung());
  }
}

TEST(HangWatchTest, GivesAStepAfterACheckpointWhatItHadBefore) {
  HangWatch watch(60);
  watch.Start();
  watch.Alive(/*usual_s=*/30);
  Watch(watch, 500);

  watch.Alive();  // The checkpoint is written.

  Watch(watch, 500);
  EXPECT_FALSE(watch.hung());
}

TEST(HangWatchTest, IsSilentBeforeItIsHungAndNotWithinItsUsualPace) {
  HangWatch quick(60), slow(60);
  quick.Start();
  slow.Start();
  quick.Alive(/*usual_s=*/0.01);
  slow.Alive(/*usual_s=*/40);

  Watch(quick, 50);
  Watch(slow, 70);

  EXPECT_TRUE(quick.silent());
  EXPECT_FALSE(quick.hung());
  EXPECT_FALSE(slow.silent());
  Watch(slow, 30);
  EXPECT_TRUE(slow.silent());
}

TEST(HangWatchTest, DoesNotCountTimeInWhichNobodyWatched) {
  HangWatch watch(60);
  watch.Start();
  watch.Alive(0.01);

  watch.Watched(/*elapsed_s=*/3600);  // The machine was suspended.

  EXPECT_FALSE(watch.hung());
}

}  // namespace
}  // namespace longreach::agent
