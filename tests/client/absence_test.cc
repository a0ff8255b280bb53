#include "client/absence.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace longreach::client {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::chrono::steady_clock::time_point kBegin{1000s};

TEST(AbsenceTest, PausesGrowUpToThreeSeconds) {
  Absence absence(600s);
  for (const int pause : {200, 400, 800, 1600, 3000, 3000}) EXPECT_EQ(absence.Miss(kBegin), milliseconds(pause));
}

TEST(AbsenceTest, ItIsGivenUpOnceItHasLastedForThatLong) {
  Absence absence(10s);
  EXPECT_FALSE(absence.lasts());
  EXPECT_TRUE(absence.Miss(kBegin));
  EXPECT_TRUE(absence.lasts());
  EXPECT_TRUE(absence.Miss(kBegin + milliseconds(9999)));
  EXPECT_FALSE(absence.Miss(kBegin + 10s));
}

TEST(AbsenceTest, WhoeverComesBackIsWaitedForAnewTheNextTime) {
  Absence absence(10s);
  EXPECT_FALSE(absence.End()) << "it was not missed";
  absence.Miss(kBegin);
  absence.Miss(kBegin + 9s);
  EXPECT_TRUE(absence.End());
  EXPECT_FALSE(absence.lasts());
  EXPECT_FALSE(absence.End());
  EXPECT_EQ(absence.Miss(kBegin + 20s), milliseconds(200));
  EXPECT_TRUE(absence.Miss(kBegin + 29s));
}

TEST(AbsenceTest, WhoWaitsForNobodyTriesOnce) { EXPECT_FALSE(Absence(0s).Miss(kBegin)); }

}  // namespace
}  // namespace longreach::client
