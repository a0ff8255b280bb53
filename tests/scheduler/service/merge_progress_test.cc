// What a merge that takes long says of itself.
#include "scheduler/service/merge_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace longreach::service {
namespace {

using store::MergeStep;
using ::testing::IsEmpty;

class SetClock final : public Clock {
 public:
  WallTime Wall() const override { return WallTime(); }
  SteadyTime Steady() const override { return now; }
  SteadyTime now{std::chrono::seconds(1000)};
};

TEST(MergeProgressTest, SaysHowFarItIsEveryTenSecondsAtMost) {
  SetClock clock;
  std::vector<std::string> said;
  const store::TellMerge tell = SayingHowFar(clock, "/far/müller\n.db", [&](const std::string& line) { said.push_back(line); });

  for (int second = 0; second < 10; ++second, clock.now += std::chrono::seconds(1)) tell({.part = MergeStep::Part::kFiles, .done = second * 1e8, .of = 5e9});
  EXPECT_THAT(said, IsEmpty()) << "a merge that has ended by then says nothing";
  for (int second = 10; second < 25; ++second, clock.now += std::chrono::seconds(1)) tell({.part = MergeStep::Part::kFiles, .done = second * 1e8, .of = 5e9});
  clock.now += std::chrono::seconds(10);
  tell({.part = MergeStep::Part::kJobs, .done = 50, .of = 10000});

  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0].find('\n'), std::string::npos) << "a line is one";
  EXPECT_TRUE(said[0].ends_with(": 1000 of 5000 MB of files are here")) << said[0];
  EXPECT_TRUE(said[1].ends_with(": 2000 of 5000 MB of files are here")) << said[1];
  EXPECT_TRUE(said[2].starts_with("merging '/far/müller\\x0a.db'") && said[2].ends_with(": 50 of 10000 jobs are taken over")) << said[2];
}

}  // namespace
}  // namespace longreach::service
