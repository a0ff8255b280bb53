// What `longreach sweeps` and `longreach jobs` show besides their JSON, which commands_test.cc has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using SweepListTest = WithFakeScheduler;

TEST_F(SweepListTest, ColumnsOfZerosAreLeftOutForPeople) {
  EXPECT_THAT(Run({"sweeps"}).out, StartsWith("ID        NAME      STATE  PRIORITY  JOBS  DONE  SUBMITTED\naaaaaaaa  table-b1  live          0     2     2  -\n"));
  v1::Sweep& other = scheduler_.other_sweeps.emplace_back(scheduler_.sweep);
  other.mutable_counts()->set_failed(3);
  other.mutable_counts()->set_queued(4);
  EXPECT_THAT(Run({"sweeps"}).out, StartsWith("ID        NAME      STATE  PRIORITY  JOBS  DONE  QUEUED  FAILED  SUBMITTED\n"
                                              "aaaaaaaa  table-b1  live          0     2     2       0       0  -\n"
                                              "aaaaaaaa  table-b1  live          0     2     2       4       3  -\n"));
}

TEST_F(SweepListTest, FailuresOfJobsAreShownWhereThereAreAny) {
  EXPECT_THAT(Run({"jobs", "last"}).out, StartsWith("ID        TASK        ENCODING         LEARNING RATE  SEED  STATE      STEP    OF   SCORE\n"));
  scheduler_.jobs.mutable_jobs(0)->set_failures(2);
  EXPECT_THAT(Run({"jobs", "last"}).out, StartsWith("ID        TASK        ENCODING         LEARNING RATE  SEED  STATE      STEP    OF   SCORE  FAILURES\n"));
  scheduler_.jobs.mutable_jobs(1)->set_failure("out of memory");
  EXPECT_THAT(Run({"jobs", "last"}).out, HasSubstr("  SCORE  FAILURES  REASON\n"));
  EXPECT_THAT(Run({"jobs", "last"}).out, HasSubstr("         0  out of memory\n"));
}

TEST_F(SweepListTest, ProgramsHaveTheSameColumnsWhicheverSweepsThereAre) {
  EXPECT_THAT(Run({"sweeps", "-o", "csv"}).out, StartsWith("id,name,state,priority,jobs,succeeded,leased,queued,waiting,failed,cancelled,submitted_at\n"));
}

}  // namespace
}  // namespace longreach::client
