// What `longreach run` says where results find no room on a disk.
#include "client/slow_writing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace longreach::client {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

// Attempts 1, 2, ... in these phases.
v1::SweepUpdate WithPhases(const std::vector<std::string>& phases) {
  v1::SweepUpdate update;
  for (const std::string& phase : phases) {
    v1::RunningAttempt& attempt = *update.add_running();
    attempt.set_attempt(static_cast<uint32_t>(update.running_size()));
    attempt.set_phase(phase);
  }
  return update;
}

class SlowWritingTest : public ::testing::Test {
 protected:
  std::string After(seconds since_begin, const std::vector<std::string>& phases) {
    return news_.Of(WithPhases(phases), " --store s.db", SlowWriting::Clock::time_point(std::chrono::hours(1)) + since_begin);
  }
  SlowWriting news_;
};

TEST_F(SlowWritingTest, AsksForTheDiskOnceAllThatRunsHasBeenWritingForLong) {
  EXPECT_EQ(After(seconds(0), {"uploading", "uploading"}), "");
  EXPECT_EQ(After(seconds(29), {"uploading", "uploading"}), "");

  const std::string told = After(seconds(30), {"uploading", "uploading"});

  EXPECT_THAT(told, HasSubstr("has not been written for 30 s: is the disk full"));
  EXPECT_THAT(told, HasSubstr("'longreach logs JOB --follow --store s.db'"));
  EXPECT_EQ(After(seconds(60), {"uploading", "uploading"}), "") << "once is enough";
}

TEST_F(SlowWritingTest, SaysNothingWhileSomethingIsComputedOrOthersBegin) {
  EXPECT_EQ(After(seconds(0), {"uploading", "training"}), "");
  EXPECT_EQ(After(seconds(40), {"uploading", "training"}), "");
  EXPECT_EQ(After(seconds(50), {"uploading", "uploading"}), "") << "the second has only begun to write";
  EXPECT_EQ(After(seconds(60), {}), "") << "nothing runs";
  EXPECT_EQ(After(seconds(90), {"uploading", "uploading"}), "") << "counted from here";
}

TEST_F(SlowWritingTest, SaysItAgainOfWhatComesLater) {
  EXPECT_EQ(After(seconds(0), {"uploading"}), "");
  EXPECT_NE(After(seconds(30), {"uploading"}), "");
  EXPECT_EQ(After(seconds(31), {"training"}), "");
  EXPECT_EQ(After(seconds(40), {"uploading"}), "");

  EXPECT_NE(After(seconds(70), {"uploading"}), "");
}

}  // namespace
}  // namespace longreach::client
