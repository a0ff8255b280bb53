// What `longreach run` says where results find no room on a disk.
#include "client/slow_writing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

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
  std::string After(std::chrono::seconds since_begin, const std::vector<std::string>& phases) {
    return news_.Of(WithPhases(phases), " --store s.db", SlowWriting::Clock::time_point(std::chrono::hours(1)) + since_begin);
  }
  SlowWriting news_;
};

TEST_F(SlowWritingTest, AsksForTheDiskOnceAllThatRunsHasBeenWritingForLong) {
  EXPECT_EQ(After(0s, {"uploading", "uploading"}), "");
  EXPECT_EQ(After(29s, {"uploading", "uploading"}), "");

  const std::string told = After(30s, {"uploading", "uploading"});

  EXPECT_THAT(told, HasSubstr("has not been written for 30 s: is the disk full"));
  EXPECT_THAT(told, HasSubstr("'longreach logs JOB --follow --store s.db'"));
  EXPECT_EQ(After(60s, {"uploading", "uploading"}), "") << "once is enough";
}

TEST_F(SlowWritingTest, SaysNothingWhileSomethingIsComputedOrOthersBegin) {
  EXPECT_EQ(After(0s, {"uploading", "training"}), "");
  EXPECT_EQ(After(40s, {"uploading", "training"}), "");
  EXPECT_EQ(After(50s, {"uploading", "uploading"}), "") << "the second has only begun to write";
  EXPECT_EQ(After(60s, {}), "") << "nothing runs";
  EXPECT_EQ(After(90s, {"uploading", "uploading"}), "") << "counted from here";
}

TEST_F(SlowWritingTest, SaysItAgainOfWhatComesLater) {
  EXPECT_EQ(After(0s, {"uploading"}), "");
  EXPECT_NE(After(30s, {"uploading"}), "");
  EXPECT_EQ(After(31s, {"training"}), "");
  EXPECT_EQ(After(40s, {"uploading"}), "");

  EXPECT_NE(After(70s, {"uploading"}), "");
}

}  // namespace
}  // namespace longreach::client
