#include "scheduler/service/query_attempts.h"

#include <gmock/gmock.h>

#include <span>
#include <string>
#include <vector>

#include "scheduler/service/named_jobs.h"
#include "scheduler/service/query_jobs.h"
#include "scheduler/service/query_measurements.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class QueryAttemptsTest : public QueryFixture {
 protected:
  absl::StatusOr<v1::ListAttemptsResponse> List(const v1::ListAttemptsRequest& request, const AttemptLimits& limits = {}) {
    store::Snapshot snapshot = Read();
    return ListAttempts(snapshot.db(), request, board_.Read(), limits);
  }

  // All pages; how many jobs each had goes into sizes_.
  std::vector<v1::JobAttempts> All(v1::ListAttemptsRequest request, const AttemptLimits& limits = {}) {
    std::vector<v1::JobAttempts> all;
    sizes_.clear();
    do {
      const absl::StatusOr<v1::ListAttemptsResponse> page = List(request, limits);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      all.insert(all.end(), page->jobs().begin(), page->jobs().end());
      sizes_.push_back(page->jobs_size());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return all;
  }
  static std::vector<std::string> IdsOf(const std::vector<v1::JobAttempts>& all) {
    std::vector<std::string> ids;
    for (const v1::JobAttempts& one : all) ids.push_back(one.job().id());
    return ids;
  }

  // Of 16 jobs the first three were begun: two have a result, the third one was given back and runs again.
  Made ThreeBegun() {
    Made sweep = AddSweep(SmallSweep("s"));
    AddWorker("w1", "box");
    const std::span<const int64_t> jobs(sweep.jobs);
    const int64_t first = Lease("w1", jobs.first(3));
    PutLog(first, jobs[0], "hello\n");
    Succeed(first, jobs.first(2), std::vector{0.5, 0.75});
    GiveBack(first, jobs.subspan(2, 1));
    End(first, Outcome::kSucceeded);
    Lease("w1", jobs.subspan(2, 1), "1.1");
    return sweep;
  }

  std::vector<int> sizes_;
};

v1::ListAttemptsRequest AttemptsOfSweep(const std::vector<std::string>& only = {}) {
  v1::ListAttemptsRequest request;
  request.set_sweep("s");
  for (const std::string& one : only) request.add_only(one);
  return request;
}

v1::ListAttemptsRequest AttemptsOfJobs(const std::vector<std::string>& ids) {
  v1::ListAttemptsRequest request;
  for (const std::string& id : ids) request.add_jobs(id);
  return request;
}

TEST_F(QueryAttemptsTest, JobsThatWereBegunHaveWhatIsSaidOfEachByItself) {
  const Made sweep = ThreeBegun();

  v1::ListAttemptsRequest request = AttemptsOfSweep();
  request.set_whole(true);
  const std::vector<v1::JobAttempts> all = All(request);

  ASSERT_THAT(IdsOf(all), ElementsAre(sweep.ids[0], sweep.ids[1], sweep.ids[2]));
  for (const v1::JobAttempts& one : all) {
    store::Snapshot snapshot = Read();
    v1::GetJobRequest by_itself;
    by_itself.set_job(one.job().id());
    const absl::StatusOr<v1::GetJobResponse> job = GetJob(snapshot.db(), by_itself, board_.Read());
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(one.job().SerializeAsString(), job->job().SerializeAsString());
    EXPECT_EQ(one.spec().SerializeAsString(), job->spec().SerializeAsString());
    ASSERT_EQ(one.attempts_size(), job->attempts_size());
    for (int i = 0; i < one.attempts_size(); ++i) EXPECT_EQ(one.attempts(i).SerializeAsString(), job->attempts(i).SerializeAsString());
    ASSERT_EQ(one.artifacts_size(), job->artifacts_size());
    for (int i = 0; i < one.artifacts_size(); ++i) EXPECT_EQ(one.artifacts(i).SerializeAsString(), job->artifacts(i).SerializeAsString());
  }
  EXPECT_EQ(all[0].artifacts_size(), 1);
  EXPECT_EQ(all[2].attempts_size(), 2);
}

TEST_F(QueryAttemptsTest, SpecificationsAndFilesComeOnlyWhereTheyAreAskedFor) {
  ThreeBegun();
  for (const v1::JobAttempts& one : All(AttemptsOfSweep())) {
    EXPECT_FALSE(one.has_spec());
    EXPECT_TRUE(one.artifacts().empty());
  }
}

TEST_F(QueryAttemptsTest, AnAttemptSaysWhichDeviceOfItsKindItHad) {
  const Made sweep = ThreeBegun();
  Write([&](sql::Transaction& tx) { return tx.Run("UPDATE attempts SET device_id = 'GPU-1' WHERE build = '1.1'").status(); });
  const std::vector<v1::JobAttempts> all = All(AttemptsOfSweep());
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].attempts(0).device_id(), "GPU-1");
  EXPECT_EQ(all[2].attempts(1).device_id(), "");
}

TEST_F(QueryAttemptsTest, PagesOfAnySizeHaveTheSameJobs) {
  const Made sweep = ThreeBegun();
  v1::ListAttemptsRequest request = AttemptsOfSweep();
  request.set_limit(2);
  EXPECT_THAT(IdsOf(All(request)), ElementsAre(sweep.ids[0], sweep.ids[1], sweep.ids[2]));
  EXPECT_THAT(sizes_, ElementsAre(2, 1));
  EXPECT_THAT(IdsOf(All(AttemptsOfSweep(), {.jobs = 1})), ElementsAre(sweep.ids[0], sweep.ids[1], sweep.ids[2]));
  EXPECT_THAT(IdsOf(All(AttemptsOfSweep(), {.bytes = 1})), ElementsAre(sweep.ids[0], sweep.ids[1], sweep.ids[2])) << "one fits always";
  EXPECT_THAT(IdsOf(All(AttemptsOfSweep(), {.looked_at = 1})), ElementsAre(sweep.ids[0], sweep.ids[1], sweep.ids[2]));
  EXPECT_EQ(sizes_.size(), 16U) << "a page ends also where nothing was begun";
  request.set_limit(1000);
  EXPECT_EQ(All(request, {.jobs = 2}).size(), 3U) << "a larger limit is taken for the largest";
  EXPECT_EQ(sizes_.front(), 2);
}

TEST_F(QueryAttemptsTest, WhatIsAskedForNarrowsTheJobs) {
  const Made sweep = ThreeBegun();
  EXPECT_THAT(IdsOf(All(AttemptsOfSweep({"seed=1"}))), ElementsAre(sweep.ids[1]));
  EXPECT_THAT(std::string(List(AttemptsOfSweep({"seed=9"})).status().message()), HasSubstr("9"));
  EXPECT_EQ(List(AttemptsOfSweep({"length=50"})).status().code(), absl::StatusCode::kInvalidArgument) << "jobs have several";
}

TEST_F(QueryAttemptsTest, JobsThatAreNamedComeInTheirOrderWithoutThoseThatAreNotThere) {
  const Made sweep = ThreeBegun();
  const std::string missing(64, '0');
  v1::ListAttemptsRequest request = AttemptsOfJobs({sweep.ids[2], missing, sweep.ids[7], sweep.ids[0]});
  EXPECT_THAT(IdsOf(All(request)), ElementsAre(sweep.ids[2], sweep.ids[0])) << "nobody has begun the third one";
  request.set_limit(1);
  EXPECT_THAT(IdsOf(All(request)), ElementsAre(sweep.ids[2], sweep.ids[0]));
  EXPECT_THAT(IdsOf(All(AttemptsOfJobs({missing}))), IsEmpty());
  EXPECT_EQ(All(AttemptsOfJobs({sweep.ids[1]}))[0].job().score(), 0.75);
}

TEST_F(QueryAttemptsTest, ValuesOfJobsThatAreNamedComeInTheirOrder) {
  const Made sweep = ThreeBegun();
  v1::ListMeasurementsRequest request;
  for (const std::string& id : {sweep.ids[1], std::string(64, '0'), sweep.ids[2], sweep.ids[0]}) request.add_jobs(id);
  // Three values each; a page ends within a job.
  for (const int limit : {0, 1, 2}) {
    request.set_limit(limit);
    request.clear_page_token();
    std::vector<std::string> rows;
    do {
      store::Snapshot snapshot = Read();
      const absl::StatusOr<v1::ListMeasurementsResponse> page = ListMeasurements(snapshot.db(), request);
      ASSERT_TRUE(page.ok()) << page.status();
      for (const v1::JobMeasurements& one : page->jobs()) {
        for (const v1::Measurement& value : one.measurements()) rows.push_back(one.job().id().substr(0, 8) + " " + value.metric() + " " + std::to_string(value.length()));
      }
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    const std::string second = sweep.ids[1].substr(0, 8), first = sweep.ids[0].substr(0, 8);
    EXPECT_THAT(rows, ElementsAre(second + " accuracy 0", second + " accuracy 50", second + " loss 0", first + " accuracy 0", first + " accuracy 50", first + " loss 0"));
  }
}

TEST_F(QueryAttemptsTest, WhatCannotBeAskedIsRefused) {
  const Made sweep = ThreeBegun();
  const auto refused = [&](const v1::ListAttemptsRequest& request) {
    const absl::Status status = List(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  v1::ListAttemptsRequest request = AttemptsOfJobs({sweep.ids[0]});
  request.set_sweep("s");
  EXPECT_THAT(refused(request), HasSubstr("one of them at a time"));
  request.clear_sweep();
  request.add_only("seed=1");
  EXPECT_THAT(refused(request), HasSubstr("only: it is of a sweep's jobs"));
  EXPECT_THAT(refused(AttemptsOfJobs({sweep.ids[0].substr(0, 8)})), HasSubstr("no whole id"));
  EXPECT_THAT(refused(AttemptsOfJobs(std::vector<std::string>(kMaxNamedJobs + 1, sweep.ids[0]))), HasSubstr("name at most 1000"));
  request = AttemptsOfSweep();
  request.set_limit(-1);
  EXPECT_THAT(refused(request), HasSubstr("limit: -1"));
  request = AttemptsOfSweep();
  for (const char* token : {"x", "-1"}) {
    request.set_page_token(token);
    EXPECT_THAT(refused(request), HasSubstr("page"));
  }
  v1::ListMeasurementsRequest both;
  both.set_job(sweep.ids[0]);
  both.add_jobs(sweep.ids[1]);
  store::Snapshot snapshot = Read();
  EXPECT_EQ(ListMeasurements(snapshot.db(), both).status().code(), absl::StatusCode::kInvalidArgument);
  v1::ListAttemptsRequest nothing;
  EXPECT_FALSE(List(nothing).ok());
}

}  // namespace
}  // namespace longreach::service
