#include "scheduler/service/access/excess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/types/wire_limits.h"
#include "scheduler/service/limits.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMessage = kMaxMessageBytes + kMaxHeaderBytes;

TEST(ExcessTest, NobodyMayHaveFarMoreCallsOpenThanTheLimit) {
  constexpr uint64_t kFlood = 15 * kMaxCallsOfConnection;

  EXPECT_THAT(Excess({.calls_open = kFlood, .calls_at_most = kFlood}), HasSubstr("30000 calls open"));
  EXPECT_THAT(Excess({.calls_open = kFlood, .calls_at_most = kFlood, .admitted = true}), HasSubstr("30000 calls open"));
}

TEST(ExcessTest, AllCallsThatTheLimitAdmitsMayBeOpenTwiceWhenTheirCallerGaveThemUp) {
  constexpr uint64_t kTwice = 2 * kMaxCallsOfConnection;

  EXPECT_EQ(Excess({.calls_open = kTwice, .calls_at_most = kTwice}), "");
}

TEST(ExcessTest, WhoeverWasAdmittedMayGiveUpMoreWhileHandlersAreHeldUp) {
  constexpr uint64_t kMany = 5 * kMaxCallsOfConnection;

  EXPECT_NE(Excess({.calls_open = kMany, .calls_at_most = kMany}), "");
  EXPECT_EQ(Excess({.calls_open = kMany, .calls_at_most = kMany, .admitted = true}), "");
}

TEST(ExcessTest, MessagesAtTheSameTimeMayBeAsLargeAsMessagesMayBe) {
  EXPECT_EQ(Excess({.calls_open = 1, .calls_at_most = 1, .bytes_without_progress = kMessage}), "");
  EXPECT_EQ(Excess({.calls_open = 500, .calls_at_most = 500, .bytes_without_progress = 500 * kMessage}), "");
}

TEST(ExcessTest, WhatIsStillUnderWayOfCallsThatEndedIsForgiven) {
  EXPECT_EQ(Excess({.calls_open = 0, .calls_at_most = 20, .bytes_without_progress = 20 * kMessage}), "");
}

TEST(ExcessTest, WithoutProgressThereIsAnEndToBytesForEverybody) {
  EXPECT_THAT(Excess({.calls_open = 1, .calls_at_most = 1, .bytes_without_progress = 3 * kMessage}), HasSubstr("no message or call complete"));
  EXPECT_NE(Excess({.calls_open = 1, .calls_at_most = 1, .admitted = true, .bytes_without_progress = 3 * kMessage}), "");
  EXPECT_NE(Excess({.bytes_without_progress = kMessage}), "") << "no call at all";
}

}  // namespace
}  // namespace longreach::service
