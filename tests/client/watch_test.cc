#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "client/output/json.h"
#include "client/pause_news.h"
#include "client/stuck.h"
#include "proto/base/text.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

class WatchTest : public WithFakeScheduler {
 protected:
  // A sweep of three jobs of which one failed, seen twice.
  void FailOneJob() {
    scheduler_.jobs.mutable_jobs(0)->set_state("failed");
    scheduler_.jobs.mutable_jobs(0)->set_failure("out of memory");
    v1::SweepUpdate update;
    *update.mutable_sweep() = scheduler_.sweep;
    update.mutable_sweep()->set_jobs(3);
    scheduler_.updates.push_back(update);
    update.mutable_sweep()->mutable_counts()->set_failed(1);
    update.set_finished(true);
    scheduler_.updates.push_back(update);
  }

  // A sweep one of whose jobs is ready, and none runs.
  void QueueOneJob() {
    v1::SweepUpdate update;
    *update.mutable_sweep() = scheduler_.sweep;
    update.mutable_sweep()->mutable_counts()->set_queued(1);
    scheduler_.updates.push_back(update);
  }

  // Runs a command against a sweep that never ends, and interrupts it once the scheduler has been asked.
  Outcome RunAndInterrupt(const std::vector<std::string>& arguments, int signal) {
    return RunAndInterrupt(arguments, signal, scheduler_.calls);
  }

  // The same, once a certain thing has been asked.
  Outcome RunAndInterrupt(const std::vector<std::string>& arguments, int signal, std::atomic<int>& asked) {
    scheduler_.watch_stays_open = true;
    asked = 0;
    // Without the client's handler the signal would end this test; it is in place once WatchSweep was called.
    std::atomic<bool> ended{false};
    std::thread sender([&] {
      while (asked == 0 && !ended) std::this_thread::yield();
      if (!ended) raise(signal);
    });
    const Outcome outcome = Run(arguments);
    ended = true;
    sender.join();
    return outcome;
  }
};

TEST_F(WatchTest, WhatLastStandsForIsKeptWhenTheSchedulerComesBack) {
  // One that shuts down may break a call off.
  for (const auto& [command, as] : {std::pair{"watch", grpc::StatusCode::UNAVAILABLE}, {"wait", grpc::StatusCode::UNAVAILABLE}, {"watch", grpc::StatusCode::CANCELLED}, {"wait", grpc::StatusCode::CANCELLED}}) {
    scheduler_.watched.clear();
    scheduler_.breaks_once = true;
    scheduler_.breaks_as = as;
    v1::SweepUpdate update;
    *update.mutable_sweep() = scheduler_.sweep;
    scheduler_.updates = {update};

    Run({command, "last"});

    ASSERT_EQ(scheduler_.watched.size(), 2u) << command;
    EXPECT_EQ(scheduler_.watched[0], "last");
    EXPECT_EQ(scheduler_.watched[1], scheduler_.sweep.id());
  }
}

TEST_F(WatchTest, AFailedJobIsTheExitCodeAndIsNamedWithItsReason) {
  FailOneJob();
  for (const std::string command : {"watch", "wait"}) {
    const Outcome outcome = Run({command, "last"});
    EXPECT_EQ(outcome.code, kFailed) << command;
    EXPECT_THAT(
        outcome.err,
        HasSubstr(
            "1 job of sweep table-b1 failed:\n  bbbbbbbb  even_pairs rope:randomized, learning rate 0.0003, seed 0: out of memory\n"));
    EXPECT_THAT(outcome.err, HasSubstr("'longreach logs bbbbbbbb --scheduler unix:"));
  }
}

TEST_F(WatchTest, AFailedJobWithoutALogIsNotSaidToHaveOne) {
  FailOneJob();
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "none");
  const Outcome outcome = Run({"wait", "last"});
  EXPECT_THAT(outcome.err, HasSubstr("'longreach explain bbbbbbbb --scheduler unix:"));
  EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("longreach logs")));
}

TEST_F(WatchTest, NoRetryIsNamedWhereWhatAJobBeginsWithHasDiverged) {
  FailOneJob();
  EXPECT_THAT(Run({"wait", "last"}).err, HasSubstr("queues the failed ones again\n"));
  scheduler_.jobs.mutable_jobs(0)->set_failure("input failed: weights (job 01234567 diverged)");
  const std::string in_vain = "with diverged, which is a result that no retry changes: it takes another learning rate or seed\n";

  const std::string alone = Run({"wait", "last"}).err;
  scheduler_.updates[1].mutable_sweep()->mutable_counts()->set_failed(2);
  const std::string one_of_two = Run({"wait", "last"}).err;

  EXPECT_THAT(alone, HasSubstr("' says what its input lacks\nwhat it begins " + in_vain));
  EXPECT_THAT(alone, ::testing::Not(HasSubstr("'longreach retry")));
  EXPECT_THAT(one_of_two, HasSubstr("queues the failed ones again\nwhat 1 of them begins " + in_vain));
}

TEST_F(WatchTest, ACancelledSweepIsToldToHaveBeenCancelledBySomebody) {
  v1::SweepUpdate update;
  *update.mutable_sweep() = scheduler_.sweep;
  update.mutable_sweep()->set_state("cancelled");
  update.mutable_sweep()->set_jobs(16);
  update.mutable_sweep()->mutable_counts()->set_succeeded(4);
  update.mutable_sweep()->mutable_counts()->set_cancelled(12);
  update.set_finished(true);
  scheduler_.updates.push_back(update);
  for (const std::string command : {"watch", "wait"}) {
    const Outcome outcome = Run({command, "last"});
    EXPECT_EQ(outcome.code, kFailed) << command;
    EXPECT_THAT(outcome.err, HasSubstr("sweep table-b1 was cancelled: 12 of its 16 jobs have no result; submit it again to go on\n")) << command;
  }
  // A scheduler refuses to retry jobs of such a sweep.
  scheduler_.updates[0].mutable_sweep()->mutable_counts()->set_failed(1);
  EXPECT_THAT(Run({"wait", "last"}).err, HasSubstr("; once it is submitted again, 'longreach retry aaaaaaaa "));
}

TEST_F(WatchTest, JobsThatWereCancelledAloneAreToldOfASweepThatIsNot) {
  v1::SweepUpdate update;
  *update.mutable_sweep() = scheduler_.sweep;
  update.mutable_sweep()->set_state("live");
  update.mutable_sweep()->set_jobs(16);
  update.mutable_sweep()->mutable_counts()->Clear();
  update.mutable_sweep()->mutable_counts()->set_succeeded(4);
  update.mutable_sweep()->mutable_counts()->set_cancelled(12);
  update.set_finished(true);
  scheduler_.updates.push_back(update);

  const Outcome outcome = Run({"wait", "last"});

  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("12 of the 16 jobs of sweep table-b1 were cancelled; 'longreach retry "));
}

TEST_F(WatchTest, TheOnlyJobOfASweepIsNotCounted) {
  v1::SweepUpdate update;
  *update.mutable_sweep() = scheduler_.sweep;
  update.mutable_sweep()->set_state("cancelled");
  update.mutable_sweep()->set_jobs(1);
  update.mutable_sweep()->mutable_counts()->Clear();
  update.mutable_sweep()->mutable_counts()->set_cancelled(1);
  update.set_finished(true);
  scheduler_.updates = {update};
  EXPECT_THAT(Run({"wait", "last"}).err, HasSubstr("sweep table-b1 was cancelled: its only job has no result; submit it again to go on\n"));
  scheduler_.updates[0].mutable_sweep()->set_state("live");
  EXPECT_THAT(Run({"wait", "last"}).err, HasSubstr("the only job of sweep table-b1 was cancelled; 'longreach retry "));
}

TEST_F(WatchTest, WatchAsJsonIsOneDocumentALine) {
  FailOneJob();
  const Outcome outcome = Run({"watch", "-o", "json"});
  const std::vector<std::string> lines = Split(Trim(outcome.out), '\n');
  ASSERT_GE(lines.size(), 1u);
  for (const std::string& line : lines) EXPECT_EQ(nlohmann::json::parse(line)["schema"], "longreach/v1");
  EXPECT_EQ(nlohmann::json::parse(lines.back())["finished"], true);
}

TEST_F(WatchTest, ATerminalThatKnowsNoWayBackGetsLines) {
  FailOneJob();
  const auto shown_on = [this](const std::string& terminal) {
    std::ostringstream out, err;
    Environment environment;
    environment.out = &out;
    environment.err = &err;
    environment.out_is_terminal = true;
    environment.variable = [&terminal](const char* name) { return name == std::string_view("TERM") ? terminal : std::string(); };
    EXPECT_EQ(RunClient({"watch", "--scheduler", scheduler_.address(), "--color", "never"}, environment), kFailed) << err.str();
    return out.str();
  };
  EXPECT_THAT(shown_on("xterm"), HasSubstr(" 66.6 %\n")) << "the block, which is drawn over where more comes";
  const std::string dumb = shown_on("dumb");
  EXPECT_EQ(dumb.find('%'), std::string::npos) << dumb;
  EXPECT_EQ(dumb.find('\x1b'), std::string::npos) << dumb;
  EXPECT_THAT(dumb, HasSubstr("table-b1: 2/3 done, 1 failed\n"));
}

TEST_F(WatchTest, WaitGivesUpAfterItsTime) {
  scheduler_.watch_stays_open = true;
  const Outcome outcome = Run({"wait", "last", "--timeout", "0"});
  EXPECT_EQ(outcome.code, kWaitTimedOut);
  EXPECT_EQ(outcome.out, "");
}

TEST_F(WatchTest, AnInterruptLeavesTheSweepAlone) {
  EXPECT_EQ(RunAndInterrupt({"watch"}, SIGINT).code, kInterrupted);
  EXPECT_EQ(RunAndInterrupt({"wait", "last"}, SIGTERM).code, 128 + SIGTERM);
}

TEST_F(WatchTest, WhoWaitsIsToldWhyNothingRuns) {
  scheduler_.stuck = true;
  QueueOneJob();
  for (const std::vector<std::string>& command : {std::vector<std::string>{"watch"}, {"wait"}, {"run", "table-b1"}}) {
    const Outcome outcome = RunAndInterrupt(command, SIGINT, scheduler_.explained);
    EXPECT_EQ(outcome.code, kInterrupted);
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr("job bbbbbbbb does not begin. no worker has task even_pairs\n"));
  }
}

// The scheduler does not know where it was asked from.
TEST_F(WatchTest, WhoWaitsIsToldCommandsThatFindTheSameScheduler) {
  scheduler_.stuck = true;
  scheduler_.reasons = {"It is ready.", "Attempts failed: 'longreach logs bbbbbbbb' shows why."};
  QueueOneJob();
  for (const std::vector<std::string>& command : {std::vector<std::string>{"watch"}, {"wait"}, {"run", "table-b1"}}) {
    const Outcome outcome = RunAndInterrupt(command, SIGINT, scheduler_.explained);
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr("'longreach logs bbbbbbbb --scheduler " + scheduler_.address()));
  }
}

// The reasons are words for people, and may change.
TEST_F(WatchTest, ThatDataAreLackingIsNoMatterOfWords) {
  Environment environment;
  environment.variable = [](const char*) { return std::string(); };
  Settings settings;
  settings.scheduler = scheduler_.address();
  settings.scheduler_named = true;
  Session session(environment, settings);
  const absl::StatusOr<Connection*> connection = session.Connect();
  ASSERT_TRUE(connection.ok()) << connection.status();
  v1::SweepUpdate update;
  update.mutable_sweep()->mutable_counts()->set_queued(1);
  scheduler_.stuck = true;

  scheduler_.reasons = {"It is ready.", "Worker 'a' does not get it: attempts failed (no such data set)."};
  StuckWatch of_failures(session, **connection);
  EXPECT_TRUE(of_failures.Ask(update));
  EXPECT_FALSE(of_failures.lacks_data());

  scheduler_.lacks_data = true;
  scheduler_.reasons = {"It is ready.", "Worker 'a' lacks the corpus 'novels'."};
  StuckWatch of_data(session, **connection);
  EXPECT_TRUE(of_data.Ask(update));
  EXPECT_TRUE(of_data.lacks_data());
  update.mutable_sweep()->mutable_counts()->set_queued(0);
  EXPECT_FALSE(of_data.Ask(update));
  EXPECT_FALSE(of_data.lacks_data()) << "it has begun";
}

TEST_F(WatchTest, WhoWaitsIsToldThatThereIsNoWorkerAndHowToStartOne) {
  scheduler_.no_worker = true;
  QueueOneJob();
  const std::string told = "nothing runs, for no worker is there: start one with 'longreach-worker run --scheduler " + scheduler_.address() + "'\n";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"watch"}, {"wait"}, {"run", "table-b1"}}) {
    const Outcome outcome = RunAndInterrupt(command, SIGINT, scheduler_.explained);
    EXPECT_EQ(outcome.code, kInterrupted);
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr(told));
  }
  scheduler_.watch_stays_open = false;
  EXPECT_THAT(Run({"status"}).out, HasSubstr(told));
}

// Its submission broke off, and the scheduler that is there now is of another version.
TEST_F(WatchTest, WhoLooksOrWaitsIsToldOfJobsThatDoNotCome) {
  v1::SweepUpdate update;
  *update.mutable_sweep() = scheduler_.sweep;
  update.mutable_sweep()->mutable_counts()->set_waiting(3);
  update.mutable_sweep()->mutable_counts()->set_queued(1);
  update.set_stalled("Of the sweep 'table-b1' 3 jobs are to come, or end it with 'longreach cancel aaaaaaaa'.");
  scheduler_.updates = {update};
  const std::string told = "Of the sweep 'table-b1' 3 jobs are to come, or end it with 'longreach cancel aaaaaaaa --scheduler " + scheduler_.address() + "'.\n";

  for (const char* command : {"watch", "wait"}) {
    const Outcome outcome = RunAndInterrupt({command}, SIGINT, scheduler_.explained);
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr(told)) << command;
  }
  scheduler_.watch_stays_open = false;
  EXPECT_THAT(Run({"status"}).out, HasSubstr(told));
  scheduler_.updates[0].clear_stalled();
  EXPECT_THAT(Run({"status"}).out, ::testing::Not(HasSubstr("to come")));
}

TEST_F(WatchTest, WhoWaitsForAPausedSweepIsToldSo) {
  scheduler_.sweep.set_state("paused");
  v1::SweepUpdate update;
  *update.mutable_sweep() = scheduler_.sweep;
  scheduler_.updates = {update};
  scheduler_.watch_stays_open = true;
  const Outcome outcome = Run({"wait", "--timeout", "3"});
  EXPECT_EQ(outcome.code, kWaitTimedOut);
  const std::string told = "the sweep is paused; 'longreach resume aaaaaaaa --scheduler unix:";
  EXPECT_THAT(outcome.err, HasSubstr(told));
  scheduler_.watch_stays_open = false;
  EXPECT_THAT(Run({"status"}).out, HasSubstr(told));
}

TEST_F(WatchTest, EachPauseIsToldAndEachTimeThatItGoesOn) {
  const Environment environment;
  Settings settings;
  settings.scheduler = scheduler_.address();
  settings.scheduler_named = true;
  Session session(environment, settings);
  PauseNews pauses(session);
  const auto news_of = [&](const char* state, bool finished = false) {
    v1::SweepUpdate update;
    *update.mutable_sweep() = scheduler_.sweep;
    update.mutable_sweep()->set_state(state);
    update.set_finished(finished);
    return pauses.Of(update);
  };
  const std::string paused = "the sweep is paused; 'longreach resume aaaaaaaa --scheduler " + scheduler_.address() + "' lets it go on";

  EXPECT_EQ(news_of("live"), "");
  EXPECT_EQ(news_of("paused"), paused);
  EXPECT_EQ(news_of("paused"), "");
  EXPECT_EQ(news_of("live"), "the sweep is resumed, and goes on");
  EXPECT_EQ(news_of("live"), "");
  EXPECT_EQ(news_of("paused"), paused);
  EXPECT_EQ(news_of("cancelled"), "") << "what is told at the end is told once";
  EXPECT_EQ(news_of("paused", /*finished=*/true), "") << "nobody waits any more";
}

TEST_F(WatchTest, RunWithRetryFailedQueuesFailedJobsAgain) {
  scheduler_.sweep.mutable_counts()->set_failed(2);
  Run({"run", "table-b1"});
  EXPECT_EQ(scheduler_.steered.action(), v1::SteerSweepRequest::ACTION_UNSPECIFIED);
  const Outcome outcome = Run({"run", "table-b1", "--retry-failed"});
  EXPECT_EQ(scheduler_.steered.action(), v1::SteerSweepRequest::ACTION_RETRY);
  EXPECT_EQ(scheduler_.steered.sweep(), scheduler_.sweep.id());
  EXPECT_THAT(outcome.err, HasSubstr("2 jobs that had failed run again\n"));
}

TEST_F(WatchTest, RunOnANamedSchedulerSubmitsWatchesAndPrintsTheTable) {
  const Outcome outcome = Run({"run", "table-b1", "--set", "seed=0"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(scheduler_.submitted.spec().axes().seed_size(), 1);
  EXPECT_THAT(outcome.out, HasSubstr("87.5"));
  EXPECT_EQ(scheduler_.table_request.table().published(), "table_b1");
}

TEST_F(WatchTest, RunResumesAPausedSweep) {
  scheduler_.sweep.set_state("paused");
  const Outcome outcome = Run({"run", "table-b1"});
  EXPECT_EQ(scheduler_.steered.action(), v1::SteerSweepRequest::ACTION_RESUME);
  EXPECT_THAT(outcome.err, HasSubstr("it was paused and goes on now"));
}

TEST_F(WatchTest, RunPrintsATableOfAFileAsTheFileSays) {
  const TempFolder folder;
  const std::string path = folder.Write(
      "mine.yaml", "axes: {task: even_pairs}\ntable: {rows: seed, aggregate: median, title: Mine}\n");
  const Outcome outcome = Run({"run", path, "-o", "json"});
  EXPECT_EQ(scheduler_.table_request.table().rows(), "seed");
  EXPECT_EQ(scheduler_.table_request.table().columns(), "encoding");
  EXPECT_EQ(scheduler_.table_request.table().title(), "Mine");
  EXPECT_EQ(scheduler_.submitted.table().title(), "Mine");
  EXPECT_EQ(scheduler_.submitted.table().columns(), "") << "kept as the file says it: with other rows these may be others";
  EXPECT_THAT(outcome.err, HasSubstr("'longreach results aaaaaaaa --scheduler " + scheduler_.address() + "' prints the table again")) << "the sweep keeps it";
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["sweep"]["jobs"], 2);
  EXPECT_EQ(json["table"]["cells"].size(), 1u);
}

TEST_F(WatchTest, RunWithAFailedJobPrintsTheTableAndFails) {
  FailOneJob();
  const Outcome outcome = Run({"run", "table-b1"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.out, HasSubstr("87.5"));
  EXPECT_THAT(outcome.err, HasSubstr("out of memory"));
}

// Else the end of the newest is taken for that of all.
TEST_F(WatchTest, WhereNoSweepIsNamedThoseThatAreOpenBesideTheNewestAreTold) {
  for (const auto& [id, name, state] : {std::tuple{'b', "open", "live"}, {'c', "paused", "paused"}, {'d', "done", "live"}, {'e', "cancelled", "cancelled"}}) {
    v1::Sweep& other = scheduler_.other_sweeps.emplace_back();
    other.set_id(std::string(64, id));
    other.set_name(name);
    other.set_state(state);
    other.set_jobs(1);
    if (std::string_view(name) == "done") other.mutable_counts()->set_succeeded(1);
    else other.mutable_counts()->set_queued(1);
  }
  const std::string told = "sweep table-b1 is the newest; 2 others are open: open, paused; 'longreach sweeps --scheduler " + scheduler_.address() + "' shows all of them\n";
  for (const char* command : {"status", "watch", "wait"}) {
    const Outcome unnamed = Run({command});
    EXPECT_EQ(unnamed.code, kDone) << command << unnamed.err;
    EXPECT_THAT(unnamed.out + unnamed.err, HasSubstr(told)) << command;
    for (const std::vector<std::string>& more : {std::vector<std::string>{"last"}, {"-o", "json"}, {"-q"}}) {
      std::vector<std::string> line = {command};
      line.insert(line.end(), more.begin(), more.end());
      const Outcome other = Run(line);
      EXPECT_THAT(other.out + other.err, ::testing::Not(HasSubstr("is the newest"))) << command << " " << more.front();
    }
  }
  // The same preset with other settings.
  scheduler_.other_sweeps[1].set_name("table-b1");
  EXPECT_THAT(Run({"wait"}).err, HasSubstr("sweep table-b1 (" + scheduler_.sweep.id().substr(0, 8) + ") is the newest; 2 others are open: open, table-b1 (cccccccc); "));
  scheduler_.other_sweeps.clear();
  EXPECT_THAT(Run({"wait"}).err, ::testing::Not(HasSubstr("is the newest")));
}

}  // namespace
}  // namespace longreach::client
