#include "client/commands/job_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Draw(std::vector<std::string> ids, size_t size, uint64_t draw) {
  JobSample sample(size, draw);
  for (const std::string& id : ids) sample.Add(id);
  EXPECT_EQ(sample.added(), static_cast<int64_t>(ids.size()));
  return sample.Drawn();
}

std::vector<std::string> Ids(int count) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) ids.push_back("job" + std::to_string(i));
  return ids;
}

TEST(JobSampleTest, TheSameDrawIsOfTheSameJobsInWhateverOrderTheyCome) {
  std::vector<std::string> ids = Ids(100);
  const std::vector<std::string> drawn = Draw(ids, 5, 0);
  ASSERT_EQ(drawn.size(), 5u);
  std::ranges::reverse(ids);
  EXPECT_EQ(Draw(ids, 5, 0), drawn);
  EXPECT_NE(Draw(ids, 5, 1), drawn);
  EXPECT_NE(drawn, Draw(Ids(5), 5, 0)) << "not the first ones";
}

TEST(JobSampleTest, AllAreDrawnWhereThereAreNoMore) {
  EXPECT_EQ(Draw(Ids(3), 5, 0).size(), 3u);
  EXPECT_TRUE(Draw({}, 5, 0).empty());
}

TEST(JobSampleTest, EachIsAsLikelyAsAnother) {
  std::map<std::string, int> drawn;
  for (uint64_t draw = 0; draw < 1000; ++draw) {
    for (const std::string& id : Draw(Ids(4), 2, draw)) ++drawn[id];
  }
  // Of 1,000 with probability 1/2: four standard deviations are 63.
  for (const std::string& id : Ids(4)) EXPECT_NEAR(drawn[id], 500, 63) << id;
}

TEST(JobSampleTest, OneThatComesLaterTakesThePlaceOfOneAtMost) {
  const std::vector<std::string> before = Draw(Ids(100), 10, 7);
  const std::vector<std::string> after = Draw(Ids(101), 10, 7);
  EXPECT_GE(std::ranges::count_if(after, [&before](const std::string& id) { return std::ranges::find(before, id) != before.end(); }), 9);
}

using VerifySampleTest = WithFakeScheduler;

TEST_F(VerifySampleTest, IsOfFinishedJobsAndNeedsSome) {
  scheduler_.jobs.clear_jobs();

  const Outcome none = Run({"verify", "--sample", "2", "--sweep", "table-b1"});

  EXPECT_EQ(none.code, kFailed);
  EXPECT_THAT(none.err, HasSubstr("has no finished job to verify"));
  EXPECT_EQ(scheduler_.jobs_request.state(), "succeeded");
}

TEST_F(VerifySampleTest, JobsAreNamedOrDrawn) {
  EXPECT_THAT(Run({"verify"}).err, HasSubstr("error: no job is named\n  name some, or let '--sample N' draw N finished jobs of the last sweep\n"));
  EXPECT_THAT(Run({"verify", "1f3a", "--sample", "2"}).err, HasSubstr("--sample: draws jobs, and 1f3a is named\n"));
  EXPECT_THAT(Run({"verify", "1f3a", "--sweep", "b1"}).err, HasSubstr("--sweep: says what --sample draws from, which is not given\n"));
  EXPECT_THAT(Run({"verify", "1f3a", "--draw", "2"}).err, HasSubstr("--draw: says what --sample draws, which is not given\n"));
  EXPECT_EQ(Run({"verify", "--sample", "0"}).code, kUsage);
  EXPECT_EQ(scheduler_.calls, 0);
}

}  // namespace
}  // namespace longreach::client
