// What `longreach doctor` makes of the scheduler's clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <vector>

#include "client/doctor/check.h"
#include "client/doctor/scheduler.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

// As it says by itself, without a time.
SchedulerSeen SilentOfTime() {
  SchedulerSeen seen{.address = "far:7070", .named = true, .answered = {}, .info = {}, .seconds = 0.0015};
  seen.info.set_protocol(1);
  return seen;
}

Check ClockOf(const SchedulerSeen& seen) {
  std::vector<Check> checks = JudgeScheduler(seen, "0.1.0 (abc)", 1);
  EXPECT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks.back().name, "clock");
  return checks.back();
}

// A scheduler's that is ahead of ours by so many seconds, and looked at it in the middle of a call that took `seconds`.
Check ClockThatIs(double ahead, double seconds) {
  SchedulerSeen seen = SilentOfTime();
  seen.seconds = seconds;
  constexpr int64_t kNow = 1'800'000'000;
  const double asked_at = kNow + 0.5 - ahead - seconds / 2;
  seen.asked_at = WallTime(std::chrono::microseconds(static_cast<int64_t>(asked_at * 1e6)));
  seen.info.mutable_now()->set_seconds(kNow);
  seen.info.mutable_now()->set_nanos(500'000'000);
  return ClockOf(seen);
}

TEST(DoctorClockTest, HalfAMinuteMakesTheDifference) {
  const Check well = ClockThatIs(0, 0.002), slow = ClockThatIs(-29, 0.002), ahead = ClockThatIs(31, 0.002), behind = ClockThatIs(-7200, 0.002);
  EXPECT_EQ(well.state, CheckState::kOk);
  EXPECT_EQ(well.seen, "the scheduler's and this machine's are less than 1 s apart");
  EXPECT_EQ(well.advice, "");
  EXPECT_EQ(slow.state, CheckState::kOk);
  EXPECT_EQ(slow.seen, "the scheduler's and this machine's are less than 30 s apart");
  EXPECT_EQ(ahead.state, CheckState::kWarning);
  EXPECT_EQ(ahead.seen, "the scheduler's is 31 s ahead of this machine's");
  EXPECT_THAT(ahead.advice, HasSubstr("no lease depends on them"));
  EXPECT_EQ(behind.state, CheckState::kWarning);
  EXPECT_EQ(behind.seen, "the scheduler's is 2 h 0 min behind this machine's");
}

TEST(DoctorClockTest, WhatASlowCallMayHaveTakenIsNoDifference) {
  EXPECT_EQ(ClockThatIs(33, 8).state, CheckState::kOk);
  EXPECT_EQ(ClockThatIs(-33, 8).state, CheckState::kOk);
  EXPECT_EQ(ClockThatIs(33.5, 8).seen, "the scheduler's and this machine's are less than 38 s apart");
  EXPECT_EQ(ClockThatIs(35, 8).state, CheckState::kWarning);
  EXPECT_EQ(ClockThatIs(-35, 8).state, CheckState::kWarning);
}

TEST(DoctorClockTest, IsNotAskedWhereItCannotDifferOrIsNotTold) {
  SchedulerSeen seen = SilentOfTime();
  EXPECT_EQ(ClockOf(seen).state, CheckState::kNotAsked) << "an older scheduler";
  seen.info.mutable_now()->set_seconds(1'800'000'000);
  EXPECT_EQ(ClockOf(seen).state, CheckState::kWarning);
  seen.address = "unix:/run/longreach.sock";
  EXPECT_EQ(ClockOf(seen).state, CheckState::kNotAsked);
  seen = SilentOfTime();
  seen.answered = absl::UnavailableError("no scheduler at far:7070");
  for (const bool named : {true, false}) {
    seen.named = named;
    EXPECT_EQ(ClockOf(seen).state, CheckState::kNotAsked);
  }
}

TEST(DoctorClockTest, ATimeThatIsNoneIsFarAway) {
  SchedulerSeen seen = SilentOfTime();
  seen.info.mutable_now()->set_seconds(std::numeric_limits<int64_t>::min());
  seen.info.mutable_now()->set_nanos(-1);
  EXPECT_EQ(ClockOf(seen).state, CheckState::kWarning);
}

}  // namespace
}  // namespace longreach::client
