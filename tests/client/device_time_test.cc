#include "client/commands/device_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longreach::client {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(DeviceSecondsTest, AnAttemptThatIsAloneHasItsDevicesTime) {
  EXPECT_THAT(DeviceSeconds({{1, {"a", 100, 130}}, {2, {"b", 110, 120}}, {3, {"a", 130, 131}}}),
              ElementsAre(Pair(1, DoubleEq(30)), Pair(2, DoubleEq(10)), Pair(3, DoubleEq(1))));
}

TEST(DeviceSecondsTest, WhatIsTrainedOnADeviceAtATimeHasEqualParts) {
  // Attempt 1 is alone for 10 s, with attempt 2 for 20 s, with 2 and 3 for 6 s; then 3 is alone for 4 s.
  EXPECT_THAT(DeviceSeconds({{1, {"a", 0, 36}}, {2, {"a", 10, 36}}, {3, {"a", 30, 40}}}),
              ElementsAre(Pair(1, DoubleEq(10 + 10 + 2)), Pair(2, DoubleEq(10 + 2)), Pair(3, DoubleEq(2 + 4))));
}

TEST(DeviceSecondsTest, NoTimeIsSpentWhileADeviceHasNone) {
  EXPECT_THAT(DeviceSeconds({{1, {"a", 0, 1}}, {2, {"a", 100, 102}}}), ElementsAre(Pair(1, DoubleEq(1)), Pair(2, DoubleEq(2))));
}

TEST(DeviceSecondsTest, AClockThatWasSetBackMakesNoTimeNegative) {
  EXPECT_THAT(DeviceSeconds({{1, {"a", 50, 40}}, {2, {"a", 50, 50}}, {3, {"a", 45, 47}}}),
              ElementsAre(Pair(1, DoubleEq(0)), Pair(2, DoubleEq(0)), Pair(3, DoubleEq(2))));
}

v1::AttemptInfo AttemptFor(uint64_t number, int64_t start_s, int64_t end_s, const std::string& outcome, int members = 2) {
  v1::AttemptInfo attempt;
  attempt.set_attempt(number);
  attempt.set_worker("w");
  attempt.set_device("GPU");
  attempt.set_members(members);
  attempt.set_outcome(outcome);
  attempt.mutable_started_at()->set_seconds(start_s);
  if (end_s > 0) attempt.mutable_ended_at()->set_seconds(end_s);
  return attempt;
}

google::protobuf::RepeatedPtrField<v1::AttemptInfo> JobOfAttempts(const std::vector<v1::AttemptInfo>& attempts) { return {attempts.begin(), attempts.end()}; }

TEST(DeviceTimeTest, APackIsDividedAmongItsJobs) {
  DeviceTime time(1000);
  // The pack's third job is another sweep's, and its second one was given up and trained again.
  const v1::AttemptInfo pack = AttemptFor(1, 10, 40, "succeeded", 3);
  v1::AttemptInfo dropped = pack;
  dropped.set_outcome("dropped");
  time.Add({"rope"}, JobOfAttempts({pack}));
  time.Add({"alibi"}, JobOfAttempts({dropped, AttemptFor(2, 50, 55, "succeeded", 1)}));
  time.Add({"none"}, JobOfAttempts({}));

  const std::vector<SpentTime> rows = time.Rows();

  ASSERT_THAT(rows, SizeIs(2)) << "a job that was not begun has no device";
  EXPECT_THAT(rows[0].values, ElementsAre("alibi", "GPU"));
  EXPECT_EQ(rows[0].jobs, 1);
  EXPECT_EQ(rows[0].attempts, 2);
  EXPECT_EQ(rows[0].results, 1);
  EXPECT_DOUBLE_EQ(rows[0].seconds, 10 + 5);
  EXPECT_DOUBLE_EQ(rows[0].result_seconds, 5);
  EXPECT_THAT(rows[1].values, ElementsAre("rope", "GPU"));
  EXPECT_DOUBLE_EQ(rows[1].seconds, 10);
  const SpentTime total = time.Total();
  EXPECT_EQ(total.jobs, 2);
  EXPECT_EQ(total.attempts, 2) << "two jobs are of one";
  EXPECT_EQ(total.results, 2);
  EXPECT_DOUBLE_EQ(total.seconds, 25);
  EXPECT_DOUBLE_EQ(total.result_seconds, 15);
}

TEST(DeviceTimeTest, AJobOnTwoDevicesIsInTwoRowsAndCountedOnce) {
  DeviceTime time(1000);
  v1::AttemptInfo elsewhere = AttemptFor(1, 0, 10, "given_back", 1);
  elsewhere.set_device("CPU");
  elsewhere.set_worker("other");
  time.Add({}, JobOfAttempts({elsewhere, AttemptFor(2, 10, 12, "succeeded", 1)}));

  const std::vector<SpentTime> rows = time.Rows();

  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows[0].values, ElementsAre("CPU"));
  EXPECT_EQ(rows[0].results, 0);
  EXPECT_EQ(rows[1].results, 1);
  EXPECT_EQ(time.Total().jobs, 1);
  EXPECT_DOUBLE_EQ(time.Total().seconds, 12);
}

v1::AttemptInfo AttemptOn(const std::string& device_id, const std::string& worker, uint64_t number, int64_t start_s, int64_t end_s) {
  v1::AttemptInfo attempt = AttemptFor(number, start_s, end_s, "succeeded", 1);
  attempt.set_worker(worker);
  attempt.set_device_id(device_id);
  return attempt;
}

TEST(DeviceTimeTest, WorkersOnOneDeviceHaveItsTimeTogether) {
  DeviceTime time(1000);
  // Two workers on one GPU for 100 s, the second one alone for 20 s more; a third one on another GPU of that kind.
  time.Add({"rope"}, JobOfAttempts({AttemptOn("GPU-1", "a", 1, 0, 100)}));
  time.Add({"alibi"}, JobOfAttempts({AttemptOn("GPU-1", "b", 2, 0, 120)}));
  time.Add({"none"}, JobOfAttempts({AttemptOn("GPU-2", "c", 3, 0, 100)}));

  const std::vector<SpentTime> rows = time.Rows();

  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0].values, ElementsAre("alibi", "GPU"));
  EXPECT_DOUBLE_EQ(rows[0].seconds, 50 + 20);
  EXPECT_DOUBLE_EQ(rows[1].seconds, 100);
  EXPECT_DOUBLE_EQ(rows[2].seconds, 50);
  EXPECT_DOUBLE_EQ(time.Total().seconds, 120 + 100);
  EXPECT_EQ(time.OnUnknownDevices(), 0);
}

TEST(DeviceTimeTest, AWorkerThatIsStartedOnAnotherDeviceHasThatOnesTime) {
  DeviceTime time(1000);
  time.Add({}, JobOfAttempts({AttemptOn("GPU-1", "a", 1, 0, 100)}));
  time.Add({}, JobOfAttempts({AttemptOn("GPU-2", "a", 2, 50, 150)}));  // Its lease was lost meanwhile, and noticed later.
  EXPECT_DOUBLE_EQ(time.Total().seconds, 200);
}

TEST(DeviceTimeTest, AWorkerThatDoesNotSayWhichDeviceItHasIsOneByItself) {
  DeviceTime time(1000);
  time.Add({}, JobOfAttempts({AttemptOn("", "a", 1, 0, 100)}));
  time.Add({}, JobOfAttempts({AttemptOn("", "a", 2, 0, 100)}));
  EXPECT_DOUBLE_EQ(time.Total().seconds, 100);
  EXPECT_EQ(time.OnUnknownDevices(), 0) << "there is no other that it could share a device with";

  time.Add({}, JobOfAttempts({AttemptOn("", "b", 3, 0, 100), AttemptOn("GPU-1", "c", 4, 0, 100)}));
  EXPECT_DOUBLE_EQ(time.Total().seconds, 300);
  EXPECT_EQ(time.OnUnknownDevices(), 3);
}

TEST(DeviceTimeTest, WhatRunsIsCountedUntilNow) {
  DeviceTime time(1000);
  time.Add({}, JobOfAttempts({AttemptFor(1, 900, 0, "", 2)}));
  time.Add({}, JobOfAttempts({AttemptFor(1, 900, 0, "", 2)}));
  EXPECT_EQ(time.running(), 1);
  EXPECT_DOUBLE_EQ(time.Total().seconds, 100);
  EXPECT_EQ(time.Total().results, 0);
}

TEST(DeviceTimeTest, WhatHasNoEndIsCountedUntilItsWorkerWasLastHeardOf) {
  const auto seconds_where_seen = [](double seen_s) {
    DeviceTime time(1000, {{"w", seen_s}, {"other", 999}});
    time.Add({}, JobOfAttempts({AttemptFor(1, 900, 0, "", 1), AttemptFor(2, 100, 200, "lost", 1)}));
    return time.Total().seconds - 100;
  };
  EXPECT_DOUBLE_EQ(seconds_where_seen(930), 30);
  EXPECT_DOUBLE_EQ(seconds_where_seen(1003), 100) << "by another clock, or since it was asked what time it is";
  EXPECT_DOUBLE_EQ(seconds_where_seen(500), 0);
}

TEST(DeviceTimeTest, WhatWasLostEndedWhenItsWorkerFellSilent) {
  // It was noticed 15 s later, or once a scheduler was started again.
  for (const int64_t noticed_s : {145, 90'000}) {
    DeviceTime time(100'000, {{"w", 130}});
    time.Add({}, JobOfAttempts({AttemptFor(1, 100, noticed_s, "lost", 1), AttemptFor(2, 110, 120, "failed", 1)}));
    EXPECT_DOUBLE_EQ(time.Total().seconds, 30);
    EXPECT_EQ(time.Total().attempts, 2);
    EXPECT_EQ(time.Unsure().attempts, 0);
  }
  // What ended otherwise did so when it says, whatever was heard of its worker.
  DeviceTime ended(100'000, {{"w", 130}});
  ended.Add({}, JobOfAttempts({AttemptFor(1, 100, 145, "succeeded", 1)}));
  EXPECT_DOUBLE_EQ(ended.Total().seconds, 45);
}

TEST(DeviceTimeTest, WhatWasLostWithAWorkerThatCameBackIsUnsure) {
  DeviceTime time(1000, {{"w", 990}});
  time.Add({"a"}, JobOfAttempts({AttemptFor(1, 100, 200, "lost", 2), AttemptFor(3, 300, 310, "succeeded", 1)}));
  time.Add({"b"}, JobOfAttempts({AttemptFor(1, 100, 200, "lost", 2)}));
  EXPECT_DOUBLE_EQ(time.Total().seconds, 110);
  EXPECT_EQ(time.Unsure().attempts, 1);
  EXPECT_DOUBLE_EQ(time.Unsure().seconds, 100);

  DeviceTime forgotten(1000);
  forgotten.Add({}, JobOfAttempts({AttemptFor(1, 100, 200, "lost", 1)}));
  EXPECT_EQ(forgotten.Unsure().attempts, 1) << "nobody knows of this worker any more";
}

TEST(DeviceTimeTest, WithoutAttemptsThereIsNothing) {
  DeviceTime time(1000);
  time.Add({}, JobOfAttempts({}));
  EXPECT_THAT(time.Rows(), IsEmpty());
  EXPECT_EQ(time.Total().jobs, 0);
}

}  // namespace
}  // namespace longreach::client
