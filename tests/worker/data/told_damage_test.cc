// What a worker says of a data set that is being copied, and of one that is whole again.
#include "worker/data/told_damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace longreach::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Texts(const std::vector<DamagedSet>& damaged) {
  std::vector<std::string> texts;
  for (const DamagedSet& one : damaged) texts.push_back(one.Text());
  return texts;
}

TEST(ToldDamageTest, AReasonThatChangesAtEveryLookIsToldOnceAMinute) {
  ToldDamage told;
  const ToldDamage::Time start{std::chrono::hours(1)};
  EXPECT_THAT(Texts(told.After({{"a", "has 1 bytes"}, {"b", "is missing"}}, start)), ElementsAre("a: has 1 bytes", "b: is missing"));

  EXPECT_THAT(Texts(told.After({{"a", "has 2 bytes"}, {"b", "is missing"}}, start + std::chrono::seconds(59))), ElementsAre("a: has 1 bytes", "b: is missing"));
  EXPECT_THAT(Texts(told.After({{"a", "has 3 bytes"}}, start + std::chrono::seconds(60))), ElementsAre("a: has 3 bytes"));
  EXPECT_THAT(Texts(told.After({{"a", "has 4 bytes"}}, start + std::chrono::seconds(119))), ElementsAre("a: has 3 bytes"));
}

TEST(ToldDamageTest, WhatIsWholeAgainIsForgottenAtOnce) {
  ToldDamage told;
  const ToldDamage::Time start{std::chrono::hours(1)};
  told.After({{"a", "is missing"}}, start);

  EXPECT_THAT(told.After({}, start + std::chrono::seconds(4)), IsEmpty());
  EXPECT_THAT(Texts(told.After({{"a", "has 2 bytes"}}, start + std::chrono::seconds(8))), ElementsAre("a: has 2 bytes"));
}

}  // namespace
}  // namespace longreach::data
