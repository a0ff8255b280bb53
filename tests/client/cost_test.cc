// `longreach cost`: what it prints of the time that devices have spent.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

class CostTest : public WithFakeScheduler {
 protected:
  // Both jobs of the sweep were in one attempt of 400 s.
  CostTest() {
    v1::AttemptInfo& attempt = scheduler_.attempts.emplace_back();
    attempt.set_attempt(7);
    attempt.set_worker("0123456789");
    attempt.set_device("NVIDIA H200");
    attempt.set_members(2);
    attempt.set_outcome("succeeded");
    attempt.mutable_started_at()->set_seconds(1'700'000'000);
    attempt.mutable_ended_at()->set_seconds(1'700'000'400);
  }
};

TEST_F(CostTest, ARowForEachKindOfDevice) {
  const Outcome outcome = Run({"cost", "last"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out,
            "table-b1: time of devices, 2 of 2 jobs done\n"
            "\n"
            "DEVICE       JOBS  ATTEMPTS  RESULTS     TIME  OF RESULTS     EACH\n"
            "NVIDIA H200     2         1        2  6.7 min     6.7 min  3.3 min\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(CostTest, AttemptsAreAskedForInPagesAndNoJobByItself) {
  ASSERT_EQ(Run({"cost", "last"}).code, kDone);
  EXPECT_EQ((*scheduler_.calls_of.Lock())["ListAttempts"], 2) << "once for each page";
  EXPECT_EQ((*scheduler_.calls_of.Lock())["GetJob"], 0);
  EXPECT_EQ(scheduler_.attempts_request.sweep(), scheduler_.sweep.id());
  EXPECT_FALSE(scheduler_.attempts_request.whole()) << "files and specifications are of no use here";
}

TEST_F(CostTest, ASchedulerThatDoesNotKnowTheCallIsOfAnotherVersion) {
  scheduler_.refusals["ListAttempts"] = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  const Outcome outcome = Run({"cost", "last"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("does not know this call"));
  EXPECT_THAT(outcome.err, HasSubstr("start a scheduler of this client's version ('longreach version' says which it is)"));
}

TEST_F(CostTest, TimeOfAPageThatDoesNotComeIsNotLeftOut) {
  scheduler_.behind_first_page = grpc::Status(grpc::StatusCode::INTERNAL, "the disk is gone");
  const Outcome outcome = Run({"cost", "last"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.out, "");
}

TEST_F(CostTest, WorkersOnOneGpuHaveItsTimeTogetherAndThoseThatDoNotSayWhichAreNamed) {
  v1::AttemptInfo other = scheduler_.attempts.front();
  other.set_attempt(8);
  other.set_worker("9876543210");
  other.set_members(1);
  scheduler_.attempts.front().set_members(1);
  scheduler_.attempts_of[scheduler_.jobs.jobs(1).id()] = {other};

  const Outcome unknown = Run({"cost", "last"});
  EXPECT_THAT(unknown.out, HasSubstr("2         2        2  13.3 min    13.3 min  6.7 min\n"));
  EXPECT_EQ(unknown.err, "note: 2 attempts are of workers that do not say which device of its kind they have: each of these is counted as a device of its own\n");

  scheduler_.attempts.front().set_device_id("GPU-1");
  other.set_device_id("GPU-1");
  scheduler_.attempts_of[scheduler_.jobs.jobs(1).id()] = {other};
  const Outcome known = Run({"cost", "last"});
  EXPECT_THAT(known.out, HasSubstr("2         2        2  6.7 min     6.7 min  3.3 min\n"));
  EXPECT_EQ(known.err, "");
}

TEST_F(CostTest, LongTimesAreHoursAndShortOnesAreNotNothing) {
  google::protobuf::Timestamp& end = *scheduler_.attempts.front().mutable_ended_at();
  end.set_seconds(1'700'000'000 + 250 * 3600);
  EXPECT_THAT(Run({"cost", "last"}).out, HasSubstr("2  250.0 h     250.0 h  125.0 h\n"));
  end.set_seconds(1'700'000'000);
  end.set_nanos(64'000'000);
  EXPECT_THAT(Run({"cost", "last"}).out, HasSubstr("2  64.0 ms     64.0 ms  32.0 ms\n"));
}

TEST_F(CostTest, ByAnAxisThereIsARowForEachOfItsValuesAndOneForAll) {
  const nlohmann::json answer = nlohmann::json::parse(Run({"cost", "last", "--by", "encoding,seed", "-o", "json"}).out);
  const nlohmann::json& rows = answer["rows"];
  ASSERT_EQ(rows.size(), 2) << rows;
  EXPECT_EQ(rows[1], nlohmann::json::parse(R"({"encoding": "rope:randomized", "seed": 1, "device": "NVIDIA H200", "jobs": 1, "attempts": 1, "results": 1, "seconds": 200,
                                               "result_seconds": 200, "seconds_per_result": 200})"));
  EXPECT_EQ(answer["total"], nlohmann::json::parse(R"({"jobs": 2, "attempts": 1, "results": 2, "seconds": 400, "result_seconds": 400, "seconds_per_result": 200})"))
      << "both are of one attempt";
  EXPECT_THAT(Run({"cost", "last", "--by", "encoding,seed"}).out, HasSubstr("\nall "));
  EXPECT_EQ(Run({"cost", "last", "--by", "encoding,seed", "-o", "csv"}).out,
            "encoding,seed,device,jobs,attempts,results,seconds,result_seconds,seconds_per_result\n"
            "rope:randomized,0,NVIDIA H200,1,1,1,200,200,200\n"
            "rope:randomized,1,NVIDIA H200,1,1,1,200,200,200\n")
      << "who adds up a column counts nothing twice";
}

TEST_F(CostTest, WhatIsNotCountedOrNotDoneIsSaid) {
  scheduler_.sweep.mutable_spec()->add_inputs()->set_name("weights");
  EXPECT_EQ(Run({"cost", "last"}).err, "note: jobs that make inputs are counted here where they are the sweep's own alone\n");

  // The scheduler's clock says 1,800,000,000.
  scheduler_.sweep.clear_spec();
  scheduler_.attempts.front().clear_ended_at();
  scheduler_.attempts.front().mutable_started_at()->set_seconds(1'799'999'990);
  scheduler_.attempts.front().set_outcome("");
  const Outcome runs = Run({"cost", "last"});
  EXPECT_THAT(runs.out, HasSubstr("2         1        0  10.0 s       0.0 s     -\n"));
  EXPECT_EQ(runs.err, "note: 1 attempt has not ended, and is counted until its worker was last heard of\n");
  // Each job has one of its own.
  v1::AttemptInfo another = scheduler_.attempts.front();
  another.set_attempt(8);
  scheduler_.attempts_of[scheduler_.jobs.jobs(1).id()] = {another};
  EXPECT_THAT(Run({"cost", "last"}).err, HasSubstr("note: 2 attempts have not ended, and are counted until their workers were last heard of\n"));
  scheduler_.attempts_of.clear();

  scheduler_.attempts.clear();
  const Outcome none = Run({"cost", "last"});
  EXPECT_EQ(none.code, kDone);
  EXPECT_THAT(none.err, HasSubstr("none of its jobs has been begun; 'longreach explain JOB"));
  const nlohmann::json nothing = nlohmann::json::parse(Run({"cost", "last", "-o", "json"}).out);
  EXPECT_TRUE(nothing["rows"].empty());
  EXPECT_EQ(nothing["total"]["seconds"], 0);
  EXPECT_TRUE(nothing["total"]["seconds_per_result"].is_null());
}

TEST_F(CostTest, HowMuchIsOfLostAttemptsIsSaid) {
  scheduler_.attempts.front().set_device_id("GPU-1");
  v1::AttemptInfo& lost = scheduler_.attempts.emplace_back(v1::AttemptInfo(scheduler_.attempts.front()));
  lost.set_attempt(6);
  lost.set_outcome("lost");
  lost.mutable_started_at()->set_seconds(1'699'990'000);
  lost.mutable_ended_at()->set_seconds(1'699'993'600);
  // Its worker has come back, and made the results.
  scheduler_.workers.mutable_workers(0)->mutable_seen_at()->set_seconds(1'700'000'400);
  const Outcome outcome = Run({"cost", "last"});
  EXPECT_THAT(outcome.out, HasSubstr("2         2        2  66.7 min     6.7 min  3.3 min\n"));
  EXPECT_EQ(outcome.err, "note: 60.0 min of all TIME is of 1 attempt that was lost, counted until that was noticed: when its worker fell silent is not known\n");

  // It has not: then that is known.
  lost.set_worker("another");
  lost.set_device_id("GPU-2");
  v1::WorkerInfo& gone = *scheduler_.workers.add_workers();
  gone.set_id("another");
  gone.mutable_seen_at()->set_seconds(1'699'990'010);
  const Outcome known = Run({"cost", "last"});
  EXPECT_THAT(known.out, HasSubstr("6.8 min     6.7 min  3.3 min\n"));
  EXPECT_EQ(known.err, "");
}

TEST_F(CostTest, AnAttemptWithoutAnEndIsCountedUntilItsWorkerWasLastHeardOf) {
  // It was killed together with the scheduler, some 1,157 days before somebody looks.
  scheduler_.attempts.front().clear_ended_at();
  scheduler_.attempts.front().set_outcome("");
  scheduler_.workers.mutable_workers(0)->mutable_seen_at()->set_seconds(1'700'000'060);
  EXPECT_EQ(nlohmann::json::parse(Run({"cost", "last", "-o", "json"}).out)["rows"][0]["seconds"], 60);
}

TEST_F(CostTest, AxesThatAreNoneAreRefused) {
  const Outcome unknown = Run({"cost", "last", "--by", "lenght"});
  EXPECT_EQ(unknown.code, kUsage);
  EXPECT_THAT(unknown.err, HasSubstr("--by: unknown value 'lenght'"));
  EXPECT_THAT(Run({"cost", "last", "--by", "seed,seed"}).err, HasSubstr("--by names an axis twice"));
  EXPECT_THAT(Run({"cost", "last", "--by", "seed, seed"}).err, HasSubstr("--by names an axis twice"));
  EXPECT_THAT(Run({"cost", "last", "--by", "seed, "}).err, HasSubstr("--by: is empty"));
  EXPECT_EQ(Run({"cost", "last", "--by", "model.layers"}).err,
            "error: --by: 'model.layers' is a setting, and rows are of axes alone\n"
            "  there are: system, task, encoding, learning_rate, seed; where systems differ in that setting, 'system' has a row for each of them\n");
}

TEST_F(CostTest, AxesMayHaveBlanksAroundThem) {
  EXPECT_EQ(Run({"cost", "last", "--by", "encoding, seed", "-o", "csv"}).out, Run({"cost", "last", "--by", "encoding,seed", "-o", "csv"}).out);
  EXPECT_EQ(Run({"cost", "last", "--by", " encoding , seed"}).code, kDone);
}

}  // namespace
}  // namespace longreach::client
