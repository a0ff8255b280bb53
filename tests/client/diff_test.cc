// `longreach diff`: jobs of a scheduler beside those of another store, whose scheduler is a script that leads to canned answers.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/client/embedded_fixture.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

class DiffTest : public EmbeddedTest {
 protected:
  DiffTest() {
    for (FakeScheduler* scheduler : {&here_, &fake_}) {
      scheduler->sweep.set_name("first");
      for (const v1::Job& job : scheduler->jobs.jobs()) {
        v1::JobMeasurements& values = *scheduler->measurements.add_jobs();
        *values.mutable_job() = job;
        v1::Measurement& value = *values.add_measurements();
        value.set_metric("accuracy");
        value.set_value(0.5);
      }
      v1::AttemptInfo& attempt = scheduler->attempts.emplace_back();
      attempt.set_outcome("succeeded");
      attempt.set_engine("lanes-avx512");
      attempt.set_device("AMD EPYC, AVX-512");
    }
    MakeStore();
    SetScheduler(Listens());
  }

  Outcome Diff(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"diff", "first", store(), "--scheduler", here_.address()});
    return EmbeddedTest::Run(more);
  }
  void ChangeOther() {
    for (v1::JobMeasurements& values : *fake_.measurements.mutable_jobs()) values.mutable_measurements(0)->set_value(0.75);
    fake_.attempts.front().set_engine("lanes-avx2");
  }

  FakeScheduler here_;
};

TEST_F(DiffTest, TheSameBitsAreCounted) {
  const Outcome outcome = Diff();
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "first and " + store() + ": 2 jobs with a result in both, 2 of them the same bits\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(DiffTest, OtherValuesAreListedWithWhatMayExplainThem) {
  ChangeOther();
  const Outcome outcome = Diff();
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.out, HasSubstr(": 2 jobs with a result in both, 0 of them the same bits\n\nJOB "));
  EXPECT_THAT(outcome.out, HasSubstr("bbbbbbbb  even_pairs  rope:randomized         0.0003     1  0.875  0.875             1       1  no\n"));
  EXPECT_EQ(outcome.err, "of 2 jobs: other engines (lanes-avx2 and lanes-avx512) add in other orders\n");
  EXPECT_EQ(Diff({"--quiet"}).out, here_.jobs.jobs(0).id() + "\n" + here_.jobs.jobs(1).id() + "\n");
}

TEST_F(DiffTest, FilesThatDifferAreADifferenceThoughAllValuesAreTheSame) {
  v1::ArtifactInfo& series = fake_.artifacts.emplace_back();
  series.set_kind("series");
  series.set_sha256(std::string(64, 'c'));
  const nlohmann::json answer = nlohmann::json::parse(Diff({"-o", "json"}).out);
  EXPECT_EQ(answer["different"], 2);
  EXPECT_EQ(answer["jobs"][0]["measurements"], 0);
  EXPECT_EQ(answer["jobs"][0]["losses"], 0);
  EXPECT_EQ(answer["jobs"][0]["series_differ"], true);
}

TEST_F(DiffTest, WhatNothingExplainsIsSaid) {
  ChangeOther();
  fake_.attempts = here_.attempts;
  EXPECT_EQ(Diff().err, "nothing that is recorded explains it; 'longreach verify JOB' trains one again, and says which of the two it is\n");
}

TEST_F(DiffTest, WhatExplainsSomeJobsIsNotSaidOfTheOthers) {
  ChangeOther();
  fake_.attempts_of[here_.jobs.jobs(1).id()] = here_.attempts;
  EXPECT_EQ(Diff().err,
            "of 1 job: other engines (lanes-avx2 and lanes-avx512) add in other orders\n"
            "of 1 job: nothing that is recorded explains it; 'longreach verify JOB' trains one again, and says which of the two it is\n");
  EXPECT_EQ(nlohmann::json::parse(Diff({"-o", "json"}).out)["unexplained"], 1);
}

TEST_F(DiffTest, ProgramsGetAllOfIt) {
  ChangeOther();
  const nlohmann::json answer = nlohmann::json::parse(Diff({"-o", "json"}).out);
  EXPECT_EQ(answer["same"], 0);
  EXPECT_EQ(answer["different"], 2);
  EXPECT_EQ(answer["neither"], 0);
  EXPECT_EQ(answer["jobs"][1]["job"], here_.jobs.jobs(1).id());
  EXPECT_EQ(answer["jobs"][1]["measurements"], 1);
  EXPECT_EQ(answer["jobs"][1]["series_differ"], false);
  EXPECT_EQ(answer["reasons"].size(), 1);
}

TEST_F(DiffTest, JobsWithoutAResultInBothAreCountedApart) {
  fake_.jobs.mutable_jobs(0)->set_state("queued");
  here_.jobs.mutable_jobs(1)->set_state("failed");
  const Outcome none = Diff();
  EXPECT_EQ(none.code, kFailed) << "nothing is known to be the same";
  EXPECT_EQ(none.err, "note: jobs without a result in both: 1 has one only here, 1 has one only in " + store() + "\nnothing was compared: no job that is asked for has a result in both\n");

  fake_.jobs.mutable_jobs(0)->set_state("succeeded");
  const Outcome both = Diff();
  EXPECT_EQ(both.code, kDone);
  EXPECT_EQ(both.err, "note: jobs without a result in both: 1 has one only in " + store() + "\n");

  fake_.refusals = {{"GetSweep", grpc::Status(grpc::StatusCode::NOT_FOUND, "there is none")}};
  fake_.lacks_named_jobs = true;
  EXPECT_THAT(Diff().err, HasSubstr("note: jobs without a result in both: 1 has one only here, 1 has none in either\n"));
}

TEST_F(DiffTest, WhereNoJobHasAResultNoneIsCalledAnotherThanThoseThatWereCompared) {
  here_.jobs.mutable_jobs(0)->set_state("queued");
  here_.jobs.mutable_jobs(1)->set_state("queued");
  fake_.refusals = {{"GetSweep", grpc::Status(grpc::StatusCode::NOT_FOUND, "there is none")}};
  fake_.lacks_named_jobs = true;
  EXPECT_EQ(Diff().err, "note: jobs without a result in both: 2 have none in either\nnothing was compared: no job that is asked for has a result in both\n");
}

TEST_F(DiffTest, AllIsAskedForInPagesWhereAStoreHasTheSweep) {
  ASSERT_EQ(Diff().code, kDone);
  for (FakeScheduler* scheduler : {&here_, &fake_}) {
    EXPECT_EQ((*scheduler->calls_of.Lock())["GetJob"], 0);
    EXPECT_EQ((*scheduler->calls_of.Lock())["ListAttempts"], 2) << "once for each page";
    EXPECT_EQ(scheduler->attempts_request.sweep(), here_.sweep.id());
    EXPECT_TRUE(scheduler->attempts_request.whole());
    EXPECT_EQ(scheduler->measurements_request.sweep(), here_.sweep.id());
    EXPECT_EQ(scheduler->measurements_request.job(), "");
  }
}

TEST_F(DiffTest, AJobIsComparedWithItselfWhateverOthersPagesHave) {
  // The first job of both has no result here, and the second one other values than the first.
  here_.jobs.mutable_jobs(0)->set_state("failed");
  for (FakeScheduler* scheduler : {&here_, &fake_}) scheduler->measurements.mutable_jobs(1)->mutable_measurements(0)->set_value(0.25);
  EXPECT_EQ(Diff().code, kDone);
  fake_.measurements.mutable_jobs(1)->mutable_measurements(0)->set_value(0.125);
  EXPECT_EQ(Diff({"--quiet"}).out, here_.jobs.jobs(1).id() + "\n");
  // A value that one of them lacks is another one.
  fake_.measurements.mutable_jobs()->RemoveLast();
  EXPECT_EQ(Diff({"--quiet"}).out, here_.jobs.jobs(1).id() + "\n");
}

TEST_F(DiffTest, ValuesThatGoOnInTheNextPageAreCompared) {
  for (FakeScheduler* scheduler : {&here_, &fake_}) {
    v1::JobMeasurements more = scheduler->measurements.jobs(0);
    more.mutable_measurements(0)->set_metric("loss");
    *scheduler->measurements.add_jobs() = more;
    scheduler->measurements.mutable_jobs()->SwapElements(1, 2);
  }
  EXPECT_EQ(nlohmann::json::parse(Diff({"-o", "json"}).out)["same"], 2);
  fake_.measurements.mutable_jobs(1)->mutable_measurements(0)->set_value(9);
  const nlohmann::json answer = nlohmann::json::parse(Diff({"-o", "json"}).out);
  EXPECT_EQ(answer["same"], 1);
  EXPECT_EQ(answer["jobs"][0]["job"], here_.jobs.jobs(0).id());
  EXPECT_EQ(answer["jobs"][0]["measurements"], 1);
}

TEST_F(DiffTest, AStoreWithoutTheSweepIsAskedForTheJobsByName) {
  fake_.refusals = {{"GetSweep", grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no such sweep")}};
  EXPECT_EQ(nlohmann::json::parse(Diff({"-o", "json"}).out)["same"], 2);
  for (const auto& names : {fake_.measurements_request.jobs(), fake_.attempts_request.jobs()}) {
    EXPECT_THAT(names, ::testing::ElementsAre(here_.jobs.jobs(0).id(), here_.jobs.jobs(1).id()));
  }
  EXPECT_EQ(fake_.attempts_request.sweep(), "");
  EXPECT_TRUE(here_.measurements_request.jobs().empty());
  EXPECT_TRUE(here_.attempts_request.jobs().empty());

  // So is one that has not written all of its jobs yet, as another sweep may have them.
  fake_.refusals.clear();
  fake_.jobs.mutable_jobs()->RemoveLast();
  fake_.measurements_request.clear_jobs();
  Diff();
  EXPECT_EQ(fake_.measurements_request.jobs_size(), 1);

  fake_.refusals = {{"GetSweep", grpc::Status(grpc::StatusCode::INTERNAL, "the disk is gone")}};
  const Outcome broken = Diff();
  EXPECT_EQ(broken.code, kFailed);
  EXPECT_EQ(broken.out, "");
}

TEST_F(DiffTest, MoreJobsThanCanBeNamedInOneCallAreAskedForInSeveral) {
  // A job of the second thousand differs; answers have a job each.
  for (FakeScheduler* scheduler : {&here_, &fake_}) {
    const v1::Job first = scheduler->jobs.jobs(0);
    const v1::JobMeasurements values = scheduler->measurements.jobs(0);
    scheduler->jobs.clear_jobs();
    scheduler->measurements.clear_jobs();
    for (int number = 0; number < 1001; ++number) {
      v1::Job& job = *scheduler->jobs.add_jobs() = first;
      job.set_id(std::string(60, 'b') + std::to_string(1000 + number));
    }
    *scheduler->measurements.add_jobs() = values;
    *scheduler->measurements.mutable_jobs(0)->mutable_job() = scheduler->jobs.jobs(1000);
  }
  fake_.measurements.mutable_jobs(0)->mutable_measurements(0)->set_value(0.75);
  fake_.refusals = {{"GetSweep", grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no such sweep")}};

  EXPECT_EQ(Diff({"--quiet"}).out, here_.jobs.jobs(1000).id() + "\n");
  EXPECT_EQ(fake_.attempts_request.jobs_size(), 1) << "what the first call had no room for";
}

TEST_F(DiffTest, WhatCannotBeAskedIsNoDifference) {
  for (const bool by_name : {false, true}) {
    fake_.refusals = {{"ListAttempts", grpc::Status(grpc::StatusCode::INTERNAL, "the disk is gone")}};
    if (by_name) fake_.refusals["GetSweep"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no such sweep");
    const Outcome broken = Diff();
    EXPECT_EQ(broken.code, kFailed);
    EXPECT_EQ(broken.out, "");
    EXPECT_THAT(broken.err, HasSubstr("the disk is gone"));
  }
  fake_.refusals.clear();
  here_.behind_first_page = grpc::Status(grpc::StatusCode::INTERNAL, "the disk is gone");
  EXPECT_EQ(Diff().out, "");
}

TEST_F(DiffTest, ASchedulerThatDoesNotKnowTheCallIsOfAnotherVersion) {
  here_.refusals = {{"ListAttempts", grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "")}};
  const Outcome outcome = Diff();
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("start a scheduler of this client's version"));
}

TEST_F(DiffTest, AStoreIsNotComparedWithItself) {
  const Outcome outcome = EmbeddedTest::Run({"diff", "first", store(), "--store", store()});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("is the store that is looked into, too"));
}

TEST_F(DiffTest, AStoreIsNotComparedWithItselfThroughItsScheduler) {
  SetScheduler("echo held at " + here_.address() + "\necho \"error: store 'test.db' is held by another scheduler\" >&2\nexit 1\n");
  const Outcome outcome = Diff();
  EXPECT_EQ(outcome.code, kUsage) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("'" + store() + "' is the store that is looked into, too"));

  SetScheduler("echo held at " + fake_.address() + "\necho \"error: store 'test.db' is held by another scheduler\" >&2\nexit 1\n");
  EXPECT_EQ(Diff().code, kDone) << "another one's scheduler is asked";
}

TEST_F(DiffTest, WhoNamesASecondSweepIsToldWhatComparesTwo) {
  const Outcome outcome = EmbeddedTest::Run({"diff", "first", "second", "--scheduler", here_.address()});
  EXPECT_EQ(outcome.code, kNotFound);
  EXPECT_EQ(outcome.err, "error: there is no store 'second'\n  name the other store's file; of two sweeps in one store, 'longreach compare first second' says by how much they differ\n");
}

TEST_F(DiffTest, AVariableThatWasNeverSetIsNoStore) {
  const Outcome outcome = EmbeddedTest::Run({"diff", "first", "", "--scheduler", here_.address()});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("OTHER: is empty"));
}

}  // namespace
}  // namespace longreach::client
