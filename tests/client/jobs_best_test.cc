// `longreach jobs --best`: which jobs have the best scores.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "proto/base/text.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

class JobsBestTest : public WithFakeScheduler {
 protected:
  // Jobs "a", "b", ... with these scores, one a page.
  void SetScores(const std::vector<double>& scores) {
    const v1::Job any = scheduler_.jobs.jobs(0);
    scheduler_.jobs.clear_jobs();
    for (size_t i = 0; i < scores.size(); ++i) {
      v1::Job& job = *scheduler_.jobs.add_jobs();
      job = any;
      job.set_id(std::string(1, static_cast<char>('a' + i)));
      job.set_score(scores[i]);
    }
  }
  void SetKind(const std::string& kind) { scheduler_.sweep.mutable_spec()->set_experiment(kind); }
  std::string Best(const std::string& count) {
    const Outcome outcome = Run({"jobs", "last", "--best", count, "--quiet"});
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    return Join(Split(outcome.out, '\n'), " ");
  }
};

TEST_F(JobsBestTest, TheBestComeFirstAndOfEqualOnesTheFirst) {
  SetKind("algorithmic");
  SetScores({0.5, 0.75, 0.25, 0.75, 1});
  EXPECT_EQ(Best("4"), "e b d a ");
  EXPECT_EQ(Best("1"), "e ");
  EXPECT_EQ(Best("9"), "e b d a c ");
  EXPECT_EQ(scheduler_.jobs_request.state(), "succeeded");
}

TEST_F(JobsBestTest, OfALossTheLowestIsBest) {
  SetKind("language");
  SetScores({0.5, 0.75, 0.25});
  EXPECT_EQ(Best("2"), "c a ");
}

TEST_F(JobsBestTest, JobsWithoutAScoreAreNone) {
  SetKind("algorithmic");
  SetScores({0.5, std::nan(""), 0.25});
  scheduler_.jobs.mutable_jobs(0)->clear_score();
  EXPECT_EQ(Best("2"), "c ");
}

TEST_F(JobsBestTest, WhereNoneHasAScoreThatIsSaid) {
  SetKind("algorithmic");
  SetScores({std::nan("")});
  EXPECT_EQ(Run({"jobs", "last", "--best", "2"}).err, "no job that is asked for has a score yet\n");
}

TEST_F(JobsBestTest, WhatIsNotFinishedMayBeBetter) {
  SetKind("algorithmic");
  SetScores({0.5});
  EXPECT_EQ(Run({"jobs", "last", "--best", "2"}).err, "");
  scheduler_.sweep.mutable_counts()->set_leased(1);
  EXPECT_EQ(Run({"jobs", "last", "--best", "2"}).err, "note: 1 job of the sweep is not finished, and may be better\n");
  scheduler_.sweep.mutable_counts()->set_queued(2);
  EXPECT_EQ(Run({"jobs", "last", "--best", "2", "-o", "csv"}).err, "note: 3 jobs of the sweep are not finished, and may be better\n");
}

TEST_F(JobsBestTest, EveryFormatHasTheSame) {
  SetKind("algorithmic");
  SetScores({0.5, 0.75, 0.25});
  const nlohmann::json jobs = nlohmann::json::parse(Run({"jobs", "last", "--best", "2", "-o", "json", "--only", "seed=0"}).out)["jobs"];
  ASSERT_EQ(jobs.size(), 2);
  EXPECT_EQ(jobs[0]["id"], "b");
  EXPECT_EQ(jobs[1]["score"], 0.5);
  EXPECT_EQ(scheduler_.jobs_request.only(0), "seed=0");
  const std::string csv = Run({"jobs", "last", "--best", "2", "-o", "csv"}).out;
  EXPECT_LT(csv.find("\nb,"), csv.find("\na,"));
  EXPECT_EQ(csv.find("\nc,"), std::string::npos);
}

TEST_F(JobsBestTest, WhatHasNoBestIsRefused) {
  SetKind("of a newer scheduler");
  const Outcome unknown = Run({"jobs", "last", "--best", "2"});
  EXPECT_EQ(unknown.code, kUsage);
  EXPECT_THAT(unknown.err, HasSubstr("--best: of the experiment kind 'of a newer scheduler' neither higher nor lower scores are better"));
  EXPECT_EQ(Run({"jobs", "last", "--best", "2", "--limit", "2"}).code, kUsage);
  EXPECT_EQ(Run({"jobs", "last", "--best", "2", "--state", "failed"}).code, kUsage);
  EXPECT_EQ(Run({"jobs", "last", "--best", "0"}).code, kUsage);
}

}  // namespace
}  // namespace longreach::client
