#include "client/absence.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace longreach::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::chrono::steady_clock::time_point kBegin{seconds(1000)};

TEST(AbsenceTest, PausesGrowUpToThreeSeconds) {
  Absence absence(seconds(600));
  for (const int pause : {200, 400, 800, 1600, 3000, 3000}) EXPECT_EQ(absence.Miss(kBegin), milliseconds(pause));
}

TEST(AbsenceTest, ItIsGivenUpOnceItHasLastedForThatLong) {
  Absence absence(seconds(10));
  EXPECT_FALSE(absence.lasts());
  EXPECT_TRUE(absence.Miss(kBegin));
  EXPECT_TRUE(absence.lasts());
  EXPECT_TRUE(absence.Miss(kBegin + milliseconds(9999)));
  EXPECT_FALSE(absence.Miss(kBegin + seconds(10)));
}

TEST(AbsenceTest, WhoeverComesBackIsWaitedForAnewTheNextTime) {
  Absence absence(seconds(10));
  EXPECT_FALSE(absence.End()) << "it was not missed";
  absence.Miss(kBegin);
  absence.Miss(kBegin + seconds(9));
  EXPECT_TRUE(absence.End());
  EXPECT_FALSE(absence.lasts());
  EXPECT_FALSE(absence.End());
  EXPECT_EQ(absence.Miss(kBegin + seconds(20)), milliseconds(200));
  EXPECT_TRUE(absence.Miss(kBegin + seconds(29)));
}

TEST(AbsenceTest, WhoWaitsForNobodyTriesOnce) { EXPECT_FALSE(Absence(seconds(0)).Miss(kBegin)); }

}  // namespace
}  // namespace longreach::client
