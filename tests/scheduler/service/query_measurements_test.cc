#include "scheduler/service/query_measurements.h"

#include <gmock/gmock.h>

#include <span>
#include <string>
#include <vector>

#include "proto/base/text.h"
#include "tests/scheduler/service/query_fixture.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class QueryMeasurementsTest : public QueryFixture {
 protected:
  absl::StatusOr<v1::ListMeasurementsResponse> List(const v1::ListMeasurementsRequest& request, const MeasurementLimits& limits = {}) {
    store::Snapshot snapshot = Read();
    return ListMeasurements(snapshot.db(), request, limits);
  }
  absl::Status Refused(const v1::ListMeasurementsRequest& request) { return List(request).status(); }

  // All pages, as rows "seed task/encoding@learning_rate metric length slice value"; how many each had goes into sizes_.
  std::vector<std::string> Rows(v1::ListMeasurementsRequest request, const MeasurementLimits& limits = {}) {
    std::vector<std::string> rows;
    sizes_.clear();
    do {
      const absl::StatusOr<v1::ListMeasurementsResponse> page = List(request, limits);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      const size_t before = rows.size();
      for (const v1::JobMeasurements& one : page->jobs()) {
        const v1::Job& job = one.job();
        const std::string name = std::to_string(job.seed()) + " " + job.task() + "/" + job.encoding() + "@" + ShortestNumber(job.learning_rate());
        if (job.diverged()) rows.push_back(name + " diverged");
        for (const v1::Measurement& value : one.measurements()) {
          rows.push_back(name + " " + value.metric() + " " + std::to_string(value.length()) + " " + value.slice() + " " + ShortestNumber(value.value()));
        }
      }
      sizes_.push_back(static_cast<int>(rows.size() - before));
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return rows;
  }

  // Of the first four jobs two have values, one diverged and one failed; the others are queued.
  Made FourJobs() {
    Made sweep = AddSweep(SmallSweep("s"));
    AddWorker("w1", "box");
    const std::span<const int64_t> jobs(sweep.jobs);
    const int64_t attempt = Lease("w1", jobs.first(4));
    // Not in the order of the sweep.
    Succeed(attempt, jobs.subspan(1, 1), std::vector{0.75});
    Succeed(attempt, jobs.first(1), std::vector{0.5});
    Diverge(attempt, jobs[2], 40);
    Fail(attempt, jobs[3], "out of memory");
    End(attempt, Outcome::kSucceeded);
    return sweep;
  }
  void Complete(int64_t job, const std::vector<store::Measurement>& measurements) {
    const int64_t attempt = Lease("w1", std::vector{job});
    Write([&](sql::Transaction& tx) {
      store::JobResult result;
      result.measurements = measurements;
      return store::CompleteJob(tx, job, attempt, result);
    });
    End(attempt, Outcome::kSucceeded);
  }

  std::vector<int> sizes_;
};

v1::ListMeasurementsRequest Of(const std::string& sweep) {
  v1::ListMeasurementsRequest request;
  request.set_sweep(sweep);
  return request;
}

v1::ListMeasurementsRequest Only(const std::vector<std::string>& only) {
  v1::ListMeasurementsRequest request = Of("s");
  for (const std::string& one : only) request.add_only(one);
  return request;
}

const std::vector<std::string> kRows = {
    "0 even_pairs/rope@0.0001 accuracy 0  0.5",  "0 even_pairs/rope@0.0001 accuracy 50  0.25",  "0 even_pairs/rope@0.0001 loss 0  0.5",
    "1 even_pairs/rope@0.0001 accuracy 0  0.75", "1 even_pairs/rope@0.0001 accuracy 50  0.375", "1 even_pairs/rope@0.0001 loss 0  0.25",
    "0 even_pairs/rope@0.0003 diverged"};

TEST_F(QueryMeasurementsTest, SucceededJobsHaveTheirValuesInTheOrderOfTheSweep) {
  const Made sweep = FourJobs();

  EXPECT_EQ(Rows(Of("last")), kRows);
  EXPECT_THAT(sizes_, ElementsAre(7));
  EXPECT_EQ(List(Of("s"))->jobs(1).job().id(), sweep.ids[1]);
}

TEST_F(QueryMeasurementsTest, PagesOfAnySizeHaveTheSameRows) {
  FourJobs();
  v1::ListMeasurementsRequest request = Of("s");
  request.set_limit(2);
  EXPECT_EQ(Rows(request), kRows);
  EXPECT_THAT(sizes_, ElementsAre(2, 2, 2, 1)) << "a page ends within a job";
  request.set_limit(7);
  EXPECT_EQ(Rows(request), kRows);
  EXPECT_THAT(sizes_, ElementsAre(7)) << "a page that ends with the last value is the last page";

  EXPECT_EQ(Rows(Of("s"), {.values = 3}), kRows);
  EXPECT_THAT(sizes_, ElementsAre(3, 3, 1));
  request.set_limit(1000);
  EXPECT_EQ(Rows(request, {.values = 3}), kRows) << "a larger limit is taken for the largest";
  EXPECT_THAT(sizes_, ElementsAre(3, 3, 1));
  EXPECT_EQ(Rows(Of("s"), {.bytes = 1}), kRows);
  EXPECT_THAT(sizes_, ElementsAre(1, 1, 1, 1, 1, 1, 1)) << "one fits always";
  EXPECT_EQ(Rows(Of("s"), {.jobs = 1}), kRows);
  EXPECT_THAT(sizes_, ElementsAre(3, 3, 1));
}

TEST_F(QueryMeasurementsTest, APageWithoutRowsIsNotTheLastWhereJobsAreLeft) {
  FourJobs();
  EXPECT_THAT(Rows(Only({"learning_rate=3e-4"}), {.jobs = 1}), ElementsAre(kRows[6]));
  EXPECT_THAT(sizes_, ElementsAre(0, 0, 1));
}

TEST_F(QueryMeasurementsTest, WhatIsAskedForNarrowsTheRows) {
  FourJobs();
  v1::ListMeasurementsRequest request = Of("s");
  request.set_metric("accuracy");
  EXPECT_THAT(Rows(request), ElementsAre(kRows[0], kRows[1], kRows[3], kRows[4], kRows[6]));
  request.set_length(50);
  EXPECT_THAT(Rows(request), ElementsAre(kRows[1], kRows[4], kRows[6]));
  request.set_limit(1);
  EXPECT_THAT(Rows(request), ElementsAre(kRows[1], kRows[4], kRows[6]));
  request.set_length(0);
  EXPECT_THAT(Rows(request), ElementsAre(kRows[0], kRows[3], kRows[6]));
  request.set_slice("depth=3");
  EXPECT_THAT(Rows(request), ElementsAre(kRows[6])) << "in no slice; the job that diverged is there all the same";
  request.set_slice("");
  EXPECT_THAT(Rows(request), ElementsAre(kRows[0], kRows[3], kRows[6])) << "the score";
  request.set_metric("loss");
  EXPECT_THAT(Rows(request), ElementsAre(kRows[2], kRows[5], kRows[6])) << "of another metric";
  request.clear_metric();
  request.clear_slice();
  EXPECT_THAT(Rows(request), ElementsAre(kRows[0], kRows[2], kRows[3], kRows[5], kRows[6])) << "of any metric";
  request.set_length(51);
  EXPECT_THAT(Rows(request), ElementsAre(kRows[6]));
  request.set_metric("loss");
  request.clear_length();
  EXPECT_THAT(Rows(request), ElementsAre(kRows[2], kRows[5], kRows[6])) << "of any length";

  EXPECT_THAT(Rows(Only({"seed=1"})), ElementsAre(kRows[3], kRows[4], kRows[5]));
  EXPECT_THAT(Rows(Only({"seed=0", "learning_rate=1e-4"})), ElementsAre(kRows[0], kRows[1], kRows[2]));
}

TEST_F(QueryMeasurementsTest, SlicesAreChosenByWhatTheyName) {
  const Made sweep = AddSweep(SmallSweep("s"));
  AddWorker("w1", "box");
  Complete(sweep.jobs[0], {{"loss", 0, "", 1}, {"loss", 0, "layer=0,head=1", 2}, {"loss", 0, "layer=1,head=1", 3}, {"loss", 8, "layer=1,head=2", 4}});
  const std::string job = "0 even_pairs/rope@0.0001 loss ";

  EXPECT_THAT(Rows(Only({"layer=1"})), ElementsAre(job + "0 layer=1,head=1 3", job + "8 layer=1,head=2 4"));
  EXPECT_THAT(Rows(Only({"layer=1", "head=1"})), ElementsAre(job + "0 layer=1,head=1 3"));
  EXPECT_THAT(Rows(Only({"layer=all"})), ElementsAre(job + "0  1")) << "what names no layer";
  EXPECT_THAT(Rows(Only({"layer=7"})), IsEmpty());
  v1::ListMeasurementsRequest request = Of("s");
  request.set_slice("");
  EXPECT_THAT(Rows(request), ElementsAre(job + "0  1"));
  request.set_slice("layer=0,head=1");
  EXPECT_THAT(Rows(request), ElementsAre(job + "0 layer=0,head=1 2"));
  request.set_metric("loss");
  EXPECT_THAT(Rows(request), ElementsAre(job + "0 layer=0,head=1 2"));
  request.clear_slice();
  EXPECT_THAT(Rows(request), ElementsAre(job + "0  1", job + "0 layer=0,head=1 2", job + "0 layer=1,head=1 3", job + "8 layer=1,head=2 4"));
  request.set_length(8);
  EXPECT_THAT(Rows(request), ElementsAre(job + "8 layer=1,head=2 4"));
  request.set_metric("accuracy");
  request.set_length(0);
  request.set_slice("");
  EXPECT_THAT(Rows(request), IsEmpty()) << "it has no score";
  request = Only({"layer=1"});
  request.set_limit(1);
  EXPECT_THAT(Rows(request), ElementsAre(job + "0 layer=1,head=1 3", job + "8 layer=1,head=2 4"));
}

TEST_F(QueryMeasurementsTest, JobsNameTheirSystem) {
  v1::SweepSpec spec = SmallSweep("s");
  spec.mutable_axes()->clear_encoding();
  for (const char* encoding : {"alibi", "rope"}) {
    v1::System& system = *spec.add_systems();
    system.set_name(std::string("with-") + encoding);
    system.mutable_with()->mutable_axes()->add_encoding(encoding);
  }
  const Made sweep = AddSweep(spec);
  AddWorker("w1", "box");
  Complete(sweep.jobs.front(), {{"loss", 0, "", 1}});
  Complete(sweep.jobs.back(), {{"loss", 0, "", 2}});

  const absl::StatusOr<v1::ListMeasurementsResponse> page = List(Only({"system=with-rope"}));

  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->jobs_size(), 1);
  EXPECT_EQ(page->jobs(0).job().id(), sweep.ids.back());
  EXPECT_THAT(page->jobs(0).job().systems(), ElementsAre("with-rope"));
  EXPECT_THAT(std::string(Refused(Only({"system=with-roep"})).message()), HasSubstr("only: unknown system 'with-roep'\n  did you mean 'with-rope'?"));
}

TEST_F(QueryMeasurementsTest, OnlyNamesLengthsWithoutWhatIsOverAllOfThem) {
  FourJobs();
  EXPECT_THAT(Rows(Only({"length=0..100", "seed=0..1"})), ElementsAre(kRows[1], kRows[4], kRows[6]));
  EXPECT_THAT(Rows(Only({"length=50", "seed=1..9"})), ElementsAre(kRows[4]));
  EXPECT_THAT(Rows(Only({"length=51..60"})), ElementsAre(kRows[6]));
  EXPECT_THAT(std::string(Refused(Only({"seed=7..9"})).message()), HasSubstr("only: unknown seed '7..9'"));
  v1::ListMeasurementsRequest both = Only({"length=50"});
  both.set_length(0);
  EXPECT_THAT(std::string(Refused(both).message()), HasSubstr("length: 0, and only names lengths"));
}

TEST_F(QueryMeasurementsTest, ASweepOfWhichNothingIsDoneHasOneEmptyPage) {
  AddSweep(SmallSweep("s"));
  EXPECT_THAT(Rows(Of("s")), IsEmpty());
  EXPECT_THAT(sizes_, ElementsAre(0));
  EXPECT_THAT(Rows(Only({"task=parity_check"})), IsEmpty()) << "there are such jobs";
}

TEST_F(QueryMeasurementsTest, OneJobHasItsValuesWhateverSweepItIsIn) {
  const Made sweep = FourJobs();
  v1::ListMeasurementsRequest request;
  request.set_job(sweep.ids[1].substr(0, 12));
  EXPECT_EQ(Rows(request), std::vector(kRows.begin() + 3, kRows.begin() + 6));
  request.set_limit(2);
  EXPECT_EQ(Rows(request), std::vector(kRows.begin() + 3, kRows.begin() + 6));
  EXPECT_THAT(sizes_, ElementsAre(2, 1)) << "a page ends within the job";
  request.set_metric("accuracy");
  request.set_length(50);
  EXPECT_THAT(Rows(request), ElementsAre(kRows[4]));
}

TEST_F(QueryMeasurementsTest, OneJobThatDivergedOrIsNotDoneHasNoValues) {
  const Made sweep = FourJobs();
  v1::ListMeasurementsRequest request;
  request.set_job(sweep.ids[2]);
  EXPECT_THAT(Rows(request), ElementsAre(kRows[6]));
  for (const std::string& id : {sweep.ids[3], sweep.ids[4]}) {  // Failed; queued.
    request.set_job(id);
    EXPECT_THAT(Rows(request), IsEmpty());
  }
}

TEST_F(QueryMeasurementsTest, OneJobIsAskedForByItself) {
  const Made sweep = FourJobs();
  v1::ListMeasurementsRequest request = Of("s");
  request.set_job(sweep.ids[0]);
  EXPECT_THAT(Refused(request).message(), HasSubstr("sweep and job: one of them at a time"));
  request.clear_sweep();
  request.add_only("seed=0");
  EXPECT_THAT(Refused(request).message(), HasSubstr("only: it is of a sweep's jobs"));
  request.clear_only();
  request.set_job(std::string(64, '0'));
  EXPECT_EQ(Refused(request).code(), absl::StatusCode::kNotFound);
}

TEST_F(QueryMeasurementsTest, UnknownWordsNumbersAndTokensAreRefused) {
  FourJobs();
  v1::ListMeasurementsRequest request = Of("s");
  request.set_metric("acuracy");
  EXPECT_EQ(Refused(request).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Refused(request).message()), HasSubstr("metric: unknown metric 'acuracy'\n  did you mean 'accuracy'?"));
  request = Of("s");
  request.set_length(-1);
  EXPECT_EQ(Refused(request).code(), absl::StatusCode::kInvalidArgument);
  request = Of("s");
  request.set_limit(-1);
  EXPECT_EQ(Refused(request).code(), absl::StatusCode::kInvalidArgument);
  request = Of("s");
  for (const char* token : {"x", "1", "1.", ".1", "1.x", "-1.0", "1.-1", "1.2.3", "99999999999999999999.0"}) {
    request.set_page_token(token);
    EXPECT_EQ(Refused(request).code(), absl::StatusCode::kInvalidArgument) << token;
  }
  EXPECT_THAT(std::string(Refused(Only({"task=even_pears"})).message()), HasSubstr("only: unknown task 'even_pears'\n  did you mean 'even_pairs'?"));
  EXPECT_THAT(std::string(Refused(Only({"encoding=rotary"})).message()), HasSubstr("only: unknown encoding 'rotary'\n  did you mean 'rope'? known are "));
  EXPECT_THAT(std::string(Refused(Only({"tsk=even_pairs"})).message()), HasSubstr("only: unknown axis 'tsk'"));
  EXPECT_THAT(std::string(Refused(Only({"seed=0", "seed=1"})).message()), HasSubstr("only: 'seed' is there twice"));
  EXPECT_EQ(Refused(Only({"seed"})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Refused(Of("nowhere")).code(), absl::StatusCode::kNotFound);
}

TEST_F(QueryMeasurementsTest, ATokenBehindTheLastJobGivesTheLastPage) {
  FourJobs();
  v1::ListMeasurementsRequest request = Of("s");
  request.set_page_token("9223372036854775807.9223372036854775807");
  EXPECT_THAT(Rows(request), IsEmpty());
  request.set_page_token("0.9223372036854775807");
  EXPECT_THAT(Rows(request), ElementsAre(kRows[3], kRows[4], kRows[5], kRows[6]));
}

TEST_F(QueryMeasurementsTest, EndsOnceAStopIsRequested) {
  AddSweep(LongSweep("s"));
  std::stop_source stop;
  stop.request_stop();
  store::Snapshot snapshot = Read();
  v1::ListMeasurementsRequest request;
  request.set_sweep("s");
  EXPECT_EQ(ListMeasurements(snapshot.db(), request, {}, stop.get_token()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(ListMeasurements(snapshot.db(), request).ok());
}

}  // namespace
}  // namespace longreach::service
