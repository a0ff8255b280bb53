// Lists whose next page is asked for while one is written, and does not come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PagesTest : public WithFakeScheduler {
 protected:
  PagesTest() {
    scheduler_.sweep.mutable_spec()->set_experiment("algorithmic");
    for (const v1::Job& job : scheduler_.jobs.jobs()) {
      v1::JobMeasurements& of_job = *scheduler_.measurements.add_jobs();
      *of_job.mutable_job() = job;
      of_job.add_measurements()->set_value(0.5);
    }
    scheduler_.behind_first_page = grpc::Status(grpc::StatusCode::INTERNAL, "the store cannot be read");
  }
};

TEST_F(PagesTest, OneThatIsRefusedIsAnErrorWhateverIsPrinted) {
  for (const std::vector<std::string>& list : {std::vector<std::string>{"jobs", "last"}, {"results", "last", "--jobs"}, {"compare", "last", "--between", "seed=0,1"}}) {
    for (const char* format : {"json", "csv", "table"}) {
      std::vector<std::string> line = list;
      line.insert(line.end(), {"-o", format});

      const Outcome outcome = Run(line);

      EXPECT_EQ(outcome.code, kFailed) << list[0] << " as " << format;
      EXPECT_THAT(outcome.err, HasSubstr("the store cannot be read")) << list[0] << " as " << format;
      EXPECT_THAT(outcome.out, Not(HasSubstr("]}"))) << "whoever reads it must not take it for all";
    }
  }
}

TEST_F(PagesTest, NothingIsPrintedOfAListThatIsShownAsAWhole) {
  EXPECT_EQ(Run({"jobs", "last"}).out, "");
  EXPECT_EQ(Run({"results", "last", "--jobs"}).out, "");
  EXPECT_EQ(Run({"compare", "last", "--between", "seed=0,1"}).out, "");
}

TEST_F(PagesTest, OneThatNobodyWantsIsNotAskedFor) {
  const Outcome first = Run({"jobs", "last", "--limit", "1", "-o", "json"});

  EXPECT_EQ(first.code, kDone) << first.err;
  EXPECT_THAT(first.out, StartsWith("{\"schema\":\"longreach/v1\",\"jobs\":[{\"id\":\"bbbb"));
}

}  // namespace
}  // namespace longreach::client
