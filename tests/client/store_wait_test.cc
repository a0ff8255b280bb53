// For how long a command waits for a store that another one has. Times are arguments: nothing waits here.
#include "client/store_wait.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace longreach::client {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using namespace std::chrono_literals;

class StoreWaitTest : public ::testing::Test {
 protected:
  StoreWait::Time now_{};
  const StoreHolder check_{.address = "unix:/run/1", .for_a_moment = true};
  StoreWait changes_{60s, now_};
  StoreWait makes_{std::nullopt, now_};
};

TEST_F(StoreWaitTest, WhoWouldMakeTheStoreWaitsForAsLongAsAnotherWorksOnIt) {
  makes_.Found(check_, true, now_);
  const StoreWait::Time end = now_ + hours(5);
  for (; now_ < end; now_ += 30s) {
    makes_.StillThere(true, now_);
    ASSERT_FALSE(makes_.IsOver(now_));
    ASSERT_TRUE(makes_.IsEarly(now_)) << "no scheduler is started meanwhile";
    ASSERT_TRUE(makes_.IsWorthIt(true, now_));
  }
  // It has ended, and others come before this one: they have their ten minutes from then on.
  for (int i = 0; i < 9; ++i, now_ += minutes(1)) {
    makes_.Found({.address = "unix:/run/2" + std::to_string(i), .for_a_moment = true}, false, now_);
    ASSERT_FALSE(makes_.IsOver(now_)) << i;
  }
  now_ += minutes(2);
  makes_.Found({.address = "unix:/run/30", .for_a_moment = true}, false, now_);
  EXPECT_TRUE(makes_.IsOver(now_));
}

TEST_F(StoreWaitTest, NothingIsWaitedForWithoutEnd) {
  makes_.Found(check_, true, now_);
  now_ += hours(6) + 1s;

  makes_.StillThere(true, now_);

  EXPECT_TRUE(makes_.IsOver(now_));
  EXPECT_FALSE(makes_.IsEarly(now_));
}

TEST_F(StoreWaitTest, OneThatHasNotSaidWhereItListensIsWaitedForForAMinute) {
  makes_.Found({.address = "", .for_a_moment = true}, false, now_);
  EXPECT_FALSE(makes_.IsOver(now_ + 60s));
  EXPECT_TRUE(makes_.IsOver(now_ + 61s));
}

TEST_F(StoreWaitTest, OneThatListensNoMoreIsWaitedForForAMinuteFromThenOn) {
  makes_.Found(check_, true, now_);
  now_ += minutes(20);
  makes_.StillThere(true, now_);

  makes_.StillThere(false, now_ + 1s);

  EXPECT_FALSE(makes_.IsOver(now_ + 60s));
  EXPECT_TRUE(makes_.IsOver(now_ + 61s));
}

TEST_F(StoreWaitTest, WhoOnlyChangesSomethingAsksItsSchedulerBehindAMinute) {
  changes_.Found(check_, true, now_);
  now_ += 59s;
  changes_.StillThere(true, now_);
  EXPECT_TRUE(changes_.IsWorthIt(true, now_));
  EXPECT_TRUE(changes_.IsEarly(now_));
  EXPECT_FALSE(changes_.IsLong(true, now_));

  now_ += 1s;

  EXPECT_FALSE(changes_.IsWorthIt(true, now_));
  EXPECT_FALSE(changes_.IsEarly(now_));
}

TEST_F(StoreWaitTest, OneWhoKeepsTheStoreIsWaitedForOnlyAsLongAsAKilledOneMayHoldIt) {
  for (StoreWait* wait : {&changes_, &makes_}) {
    const StoreHolder run{.address = "unix:/run/1"};
    wait->Found(run, true, now_);
    EXPECT_FALSE(wait->IsWorthIt(true, now_));
    EXPECT_FALSE(wait->IsEarly(now_));

    wait->Found(run, false, now_);

    EXPECT_TRUE(wait->IsWorthIt(false, now_));
    EXPECT_FALSE(wait->IsOver(now_ + 2s));
    EXPECT_TRUE(wait->IsOver(now_ + 3s));
  }
}

TEST_F(StoreWaitTest, ALongWaitIsToldOnceAndHasLongerPauses) {
  makes_.Found(check_, true, now_);
  EXPECT_FALSE(makes_.IsLong(true, now_ + 59s));
  EXPECT_EQ(makes_.Pause(now_ + 59s), milliseconds(100));
  EXPECT_TRUE(makes_.IsLong(true, now_ + 60s));
  EXPECT_FALSE(makes_.IsLong(false, now_ + 60s)) << "nobody is known to work on it";
  EXPECT_EQ(makes_.Pause(now_ + 60s), milliseconds(1000));
}

}  // namespace
}  // namespace longreach::client
