// 'logs' of a job that runs, and 'logs --follow'.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/types/wire_limits.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LogsTest : public WithFakeScheduler {
 protected:
  // The job runs as attempt 7, which has printed this.
  void Print(const std::string& text, double skipped = 0) {
    scheduler_.jobs.mutable_jobs(0)->set_state("leased");
    v1::LogPart& part = scheduler_.log_parts.emplace_back();
    part.set_attempt(7);
    part.set_text(text);
    part.set_skipped_bytes(skipped);
  }
  // And ends, the job being in this state then.
  void End(const std::string& rest, const std::string& state) {
    Print(rest);
    scheduler_.log_parts.back().set_ended(true);
    scheduler_.state_behind_log = state;
  }
};

TEST_F(LogsTest, OfAJobThatRunsWhatItHasPrintedIsShown) {
  Print("step 1\nstep 2");
  scheduler_.log_stays_open = true;
  const Outcome outcome = Run({"logs", "bbbb"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "step 1\nstep 2\n");
  EXPECT_THAT(outcome.err, HasSubstr("attempt 7 runs, and has printed so much; 'longreach logs bbbb --follow --scheduler unix:"));
  EXPECT_EQ(Run({"logs", "bbbb", "-q"}).err, "");
  const nlohmann::json json = nlohmann::json::parse(Run({"logs", "bbbb", "-o", "json"}).out);
  EXPECT_EQ(json["attempt"], 7);
  EXPECT_EQ(json["text"], "step 1\nstep 2");
}

TEST_F(LogsTest, WhatIsLeftOutIsSaid) {
  Print("the end\n", 12345);
  EXPECT_THAT(Run({"logs", "bbbb"}).err, HasSubstr("so much (12,345 bytes at the beginning left out); "));
}

// Whoever reads logs need not know whether the attempt runs.
TEST_F(LogsTest, InJsonTheLogOfOneThatHasEndedHasWhatThatOfARunningOneHas) {
  scheduler_.log_attempt = 3;
  for (const std::vector<std::string>& command : {std::vector<std::string>{"logs", "bbbb", "-o", "json"}, {"logs", "bbbb", "--attempt", "3", "-o", "json"}, {"logs", "bbbb", "--follow", "-o", "json"}}) {
    const Outcome outcome = Run(command);
    EXPECT_EQ(nlohmann::json::parse(outcome.out),
              nlohmann::json::parse(R"({"schema":"longreach/v1","attempt":3,"text":"step 1\nstep 2","skipped_bytes":0,"ended":true})"))
        << outcome.err;
  }
  Print("step 1\n");
  const nlohmann::json running = nlohmann::json::parse(Run({"logs", "bbbb", "-o", "json"}).out);
  const nlohmann::json ended = nlohmann::json::parse(Run({"logs", "bbbb", "--attempt", "3", "-o", "json"}).out);
  EXPECT_EQ(running.size(), ended.size());
  for (const auto& [name, value] : running.items()) EXPECT_TRUE(ended.contains(name)) << name;
}

TEST_F(LogsTest, OfALogAsLongAsWhatIsKeptNobodyKnowsWhatCameBefore) {
  scheduler_.left_log = std::string(kLogBytes - 4, 'x');
  EXPECT_EQ(nlohmann::json::parse(Run({"logs", "bbbb", "-o", "json"}).out)["skipped_bytes"], 0);
  EXPECT_EQ(Run({"logs", "bbbb"}).err, "");
  // The first three bytes may have been the rest of a character.
  scheduler_.left_log = std::string(kLogBytes - 3, 'x');
  for (const bool follows : {false, true}) {
    std::vector<std::string> command = {"logs", "bbbb"};
    if (follows) command.emplace_back("--follow");
    EXPECT_THAT(Run(command).err, HasSubstr("of what attempt 0 has printed, this is the end: the last 64 KiB are kept\n"));
    command.insert(command.end(), {"-o", "json"});
    const nlohmann::json json = nlohmann::json::parse(Run(command).out);
    EXPECT_TRUE(json["skipped_bytes"].is_null()) << json["skipped_bytes"];
    EXPECT_EQ(json["ended"], true);
  }
}

TEST_F(LogsTest, AnAttemptThatHasPrintedNothingYetIsToldOf) {
  Print("");
  const Outcome outcome = Run({"logs", "bbbb"});
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("attempt 7 runs, and has printed nothing yet; "));
}

TEST_F(LogsTest, OneThatEndsJustThenHasLeftItsLog) {
  End("of the stream\n", "succeeded");
  const Outcome outcome = Run({"logs", "bbbb"});
  EXPECT_EQ(outcome.out, "step 1\nstep 2\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(LogsTest, FollowingGoesOnToTheEndAndSaysHowTheJobStands) {
  struct Case {
    std::string state;
    int code;
    std::string says;
  };
  for (const Case& one : {Case{"succeeded", kDone, "attempt 7 has ended: job bbbbbbbb has succeeded\n"},
                          Case{"failed", kFailed, "attempt 7 has ended: job bbbbbbbb has failed: out of memory\n"},
                          Case{"cancelled", kFailed, "attempt 7 has ended: job bbbbbbbb is cancelled\n"},
                          Case{"queued", kFailed, "attempt 7 has ended: job bbbbbbbb is queued again; 'longreach explain bbbbbbbb"},
                          Case{"leased", kFailed, "attempt 7 has ended: job bbbbbbbb runs again; 'longreach logs bbbbbbbb --follow"}}) {
    scheduler_.log_parts.clear();
    scheduler_.jobs.mutable_jobs(0)->set_failure("out of memory");
    Print("step 1\n");
    Print("step 2\n");
    End("finished", one.state);
    const Outcome outcome = Run({"logs", "bbbb", "--follow"});
    EXPECT_EQ(outcome.code, one.code) << one.state;
    EXPECT_EQ(outcome.out, "step 1\nstep 2\nfinished\n") << one.state;
    EXPECT_THAT(outcome.err, HasSubstr("this is what attempt 7 prints\n"));
    EXPECT_THAT(outcome.err, HasSubstr(one.says));
  }
  // That it failed is no talk.
  scheduler_.log_parts.clear();
  End("", "failed");
  EXPECT_EQ(Run({"logs", "bbbb", "-f", "-q"}).err, "attempt 7 has ended: job bbbbbbbb has failed: out of memory\n");
}

TEST_F(LogsTest, FollowingInJsonIsALineForEachPart) {
  Print("step 1\n", 10);
  End("finished\n", "succeeded");
  const Outcome outcome = Run({"logs", "bbbb", "-f", "-o", "json"});
  EXPECT_EQ(outcome.code, kDone);
  std::istringstream lines(outcome.out);
  std::vector<nlohmann::json> parts;
  for (std::string line; std::getline(lines, line);) parts.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(parts.size(), 2u) << outcome.out;
  EXPECT_EQ(parts[0]["text"], "step 1\n");
  EXPECT_EQ(parts[0]["skipped_bytes"], 10);
  EXPECT_EQ(parts[0]["ended"], false);
  EXPECT_EQ(parts[1]["text"], "finished\n");
  EXPECT_EQ(parts[1]["ended"], true);
}

TEST_F(LogsTest, WhatASlowReaderMissedIsSaid) {
  Print("step 1\n");
  Print("step 9\n", 49);
  End("", "succeeded");
  const Outcome outcome = Run({"logs", "bbbb", "-f"});
  EXPECT_EQ(outcome.out, "step 1\nstep 9\n");
  EXPECT_THAT(outcome.err, HasSubstr("49 bytes left out here\n"));
}

TEST_F(LogsTest, AStreamThatBrokeOffGoesOnWhereItWas) {
  Print("step 1\nstep 2\n");
  scheduler_.log_breaks = 1;
  Print("step 3\n");
  End("", "succeeded");
  const Outcome outcome = Run({"logs", "bbbb", "-f"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "step 1\nstep 2\nstep 3\n");
  EXPECT_EQ(scheduler_.followed, 2);
  EXPECT_THAT(outcome.err, HasSubstr("lost the scheduler at "));
  EXPECT_THAT(outcome.err, HasSubstr("the scheduler answers again\n"));
}

// A scheduler that shuts down does not begin every call that has come to it, and gRPC answers those with CANCELLED.
TEST_F(LogsTest, FollowingOutlastsASchedulerThatShutsDown) {
  Print("step 1\nstep 2\n");
  scheduler_.log_breaks = 1;
  scheduler_.breaks_as = grpc::StatusCode::CANCELLED;
  Print("step 3\n");
  End("", "succeeded");
  scheduler_.when_explained = [&] {
    scheduler_.refusals.erase("ExplainJob");
    if (scheduler_.explained == 2) scheduler_.refusals["ExplainJob"] = grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED");
  };
  const Outcome outcome = Run({"logs", "bbbb", "-f"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "step 1\nstep 2\nstep 3\n");
  EXPECT_GT(scheduler_.explained, 3);
  EXPECT_THAT(outcome.err, HasSubstr("lost the scheduler at "));
  EXPECT_THAT(outcome.err, HasSubstr("the scheduler answers again\n"));
}

TEST_F(LogsTest, ACallThatASchedulerBreaksOffIsRepeatedAndTheSchedulerNamedAtLast) {
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED");
  scheduler_.calls = 0;
  const Outcome outcome = Run({"logs", "bbbb"});
  EXPECT_EQ(outcome.code, kUnreachable) << outcome.err;
  EXPECT_GE(scheduler_.calls, 3);
  EXPECT_THAT(outcome.err, HasSubstr("error: lost the scheduler at "));
}

// Whoever puts the texts together has the log once.
TEST_F(LogsTest, InJsonAStreamThatBrokeOffGoesOnWhereItWasToo) {
  Print("step 1\nstep 2\n", 30);
  scheduler_.log_breaks = 1;
  Print("step 3\n");
  End("", "succeeded");
  const Outcome outcome = Run({"logs", "bbbb", "-f", "-o", "json"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(scheduler_.followed, 2);
  std::istringstream lines(outcome.out);
  std::string text;
  double skipped = 0;
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) {
    last = nlohmann::json::parse(line);
    text += last["text"].get<std::string>();
    skipped += last["skipped_bytes"].get<double>();
  }
  EXPECT_EQ(text, "step 1\nstep 2\nstep 3\n");
  EXPECT_EQ(skipped, 30);
  EXPECT_EQ(last["ended"], true);
}

TEST_F(LogsTest, CtrlCEndsFollowingAndNothingElse) {
  Print("step 1\n");
  scheduler_.log_stays_open = true;
  std::atomic<bool> ended{false};
  std::thread sender([&] {
    // The client's handler is in place once the log is followed.
    while (scheduler_.followed == 0 && !ended) std::this_thread::yield();
    if (!ended) raise(SIGINT);
  });
  const Outcome outcome = Run({"logs", "bbbb", "--follow"});
  ended = true;
  sender.join();
  EXPECT_EQ(outcome.code, kInterrupted);
}

// Else 'logs --follow | head' stays until the next line, for hours.
TEST_F(LogsTest, AReaderThatGoesAwayEndsFollowingAlsoWhileNothingIsPrinted) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  Print("step 1\n");
  scheduler_.log_stays_open = true;
  const auto follow = [&] {
    std::ostringstream out, err;
    Environment environment;
    environment.out = &out;
    environment.err = &err;
    environment.out_fd = pipe_fds[1];
    environment.variable = [](const char*) { return std::string(); };
    return RunClient({"logs", "bbbb", "--follow", "--scheduler", scheduler_.address()}, environment);
  };
  std::atomic<bool> ended{false};
  std::thread reader([&] {
    while (scheduler_.followed == 0 && !ended) std::this_thread::yield();
    close(pipe_fds[0]);
  });
  EXPECT_EQ(follow(), kReaderGone);
  ended = true;
  reader.join();

  // Nor is a job waited for that does not run yet.
  scheduler_.jobs.mutable_jobs(0)->set_state("queued");
  EXPECT_EQ(follow(), kReaderGone);
  close(pipe_fds[1]);
}

TEST_F(LogsTest, AJobThatDoesNotRunYetIsWaitedFor) {
  Print("step 1\n");
  End("", "succeeded");
  scheduler_.jobs.mutable_jobs(0)->set_state("queued");
  scheduler_.when_explained = [&] {
    if (scheduler_.explained == 1) scheduler_.jobs.mutable_jobs(0)->set_state("leased");
  };
  const Outcome outcome = Run({"logs", "bbbb", "--follow"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "step 1\n");
  EXPECT_THAT(outcome.err, HasSubstr("job bbbbbbbb is queued, and its log is followed once it runs. It is ready, and first in line."));
}

TEST_F(LogsTest, OfAJobThatIsDoneTheLastLogIsShownAtOnce) {
  const Outcome done = Run({"logs", "bbbb", "--follow"});
  EXPECT_EQ(done.code, kDone) << done.err;
  EXPECT_EQ(done.out, "step 1\nstep 2\n");
  EXPECT_THAT(done.err, HasSubstr("job bbbbbbbb has succeeded\n"));
  scheduler_.jobs.mutable_jobs(0)->set_state("failed");
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "none");
  const Outcome failed = Run({"logs", "bbbb", "--follow"});
  EXPECT_EQ(failed.code, kFailed);
  EXPECT_EQ(failed.out, "");
  EXPECT_THAT(failed.err, HasSubstr("job bbbbbbbb has failed: "));
}

TEST_F(LogsTest, WhatCannotBeFollowedIsRefusedWithTheReason) {
  scheduler_.jobs.mutable_jobs(0)->set_state("leased");
  const Outcome older = Run({"logs", "bbbb", "--follow"});
  EXPECT_EQ(older.code, kFailed);
  EXPECT_THAT(older.err, HasSubstr("does not know this call"));
  EXPECT_EQ(older.out, "");
  scheduler_.refusals["ExplainJob"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no job 'bbbb'");
  EXPECT_EQ(Run({"logs", "bbbb", "--follow"}).code, kNotFound);
}

// That it has left no log yet is no reason why what it prints is not shown.
TEST_F(LogsTest, WhyWhatARunningJobPrintsCannotBeHadIsSaidWhereItHasLeftNothing) {
  scheduler_.jobs.mutable_jobs(0)->set_state("leased");
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "no log yet");
  for (const auto code : {grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::FAILED_PRECONDITION}) {
    scheduler_.refusals["FollowLog"] = grpc::Status(code, "the reason");
    const Outcome refused = Run({"logs", "bbbb"});
    EXPECT_EQ(refused.code, kFailed);
    EXPECT_EQ(refused.err, "error: the reason\n");
  }
  scheduler_.jobs.mutable_jobs(0)->set_state("queued");
  EXPECT_EQ(Run({"logs", "bbbb"}).err, "error: no log yet\n") << "it does not run";
  EXPECT_EQ(Run({"logs", "bbbb"}).code, kNotFound);
  scheduler_.jobs.mutable_jobs(0)->set_state("leased");
  scheduler_.refusals.erase("GetLog");
  const Outcome older = Run({"logs", "bbbb"});
  EXPECT_EQ(older.code, kDone);
  EXPECT_THAT(older.err, HasSubstr("the one that runs now leaves its own when it ends"));
}

TEST_F(LogsTest, TheLogOfAnEarlierAttemptIsShownAlsoWhileAnotherRuns) {
  Print("of attempt 7\n");
  scheduler_.log_attempt = 3;
  const Outcome outcome = Run({"logs", "bbbb", "--attempt", "3"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "step 1\nstep 2\n");
  EXPECT_EQ(outcome.err, "") << "whose log it is was said by who asked";
  EXPECT_EQ(scheduler_.log_request.job(), "bbbb");
  EXPECT_EQ(scheduler_.log_request.attempt(), 3u);
  EXPECT_EQ(scheduler_.followed, 0);
  const nlohmann::json json = nlohmann::json::parse(Run({"logs", "bbbb", "--attempt", "3", "-o", "json"}).out);
  EXPECT_EQ(json["attempt"], 3);
  EXPECT_EQ(json["text"], "step 1\nstep 2");
  // Who names none asks for none.
  scheduler_.log_parts.clear();
  EXPECT_EQ(Run({"logs", "bbbb"}).code, kDone);
  EXPECT_FALSE(scheduler_.log_request.has_attempt());
}

TEST_F(LogsTest, OfTheAttemptThatRunsWhatItHasPrintedIsShown) {
  Print("of attempt 7\n");
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "it has not ended");
  const Outcome outcome = Run({"logs", "bbbb", "--attempt", "7"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "of attempt 7\n");
  EXPECT_THAT(outcome.err, HasSubstr("attempt 7 runs, and has printed so much; "));
}

TEST_F(LogsTest, AnAttemptThatEndsBetweenTwoQuestionsHasLeftItsLog) {
  Print("of attempt 7\n");
  scheduler_.log_attempt = 3;
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "it has not ended");
  scheduler_.when_followed = [&] { scheduler_.refusals.clear(); };
  const Outcome outcome = Run({"logs", "bbbb", "--attempt", "3"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.out, "step 1\nstep 2\n") << "and nothing of another attempt";
  EXPECT_EQ(outcome.err, "");
}

TEST_F(LogsTest, AnAttemptWhoseLogCannotBeHadIsRefusedWithTheReason) {
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::NOT_FOUND, "job 'bbbb' has no attempt 5; the job's attempts: 7, 3; those that have left a log: 3");
  const Outcome none = Run({"logs", "bbbb", "--attempt", "5"});
  EXPECT_EQ(none.code, kNotFound);
  EXPECT_EQ(none.err, "error: job 'bbbb' has no attempt 5; the job's attempts: 7, 3; those that have left a log: 3\n");
  // Of one that runs it is that why it cannot be followed.
  scheduler_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "it has not ended");
  scheduler_.refusals["FollowLog"] = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "as many are followed as may be");
  EXPECT_EQ(Run({"logs", "bbbb", "--attempt", "7"}).err, "error: as many are followed as may be\n");
  scheduler_.refusals["FollowLog"] = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "unknown");
  EXPECT_EQ(Run({"logs", "bbbb", "--attempt", "7"}).err, "error: it has not ended\n");
}

// It gives the newest log, whatever it is asked for.
TEST_F(LogsTest, TheLogOfAnotherAttemptIsNotTakenForTheOneThatWasNamed) {
  scheduler_.log_attempt = 9;
  const Outcome outcome = Run({"logs", "bbbb", "--attempt", "3"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("is of an older version, and gives the log of attempt 9 alone"));
}

TEST_F(LogsTest, AnAttemptIsANumberAndNotFollowed) {
  for (const char* word : {"seven", "-1", "7.5", "99999999999"}) {
    EXPECT_EQ(Run({"logs", "bbbb", "--attempt", word}).code, kUsage) << word;
  }
  const Outcome both = Run({"logs", "bbbb", "--attempt", "7", "--follow"});
  EXPECT_EQ(both.code, kUsage);
  EXPECT_THAT(both.err, HasSubstr("--follow and --attempt: one of them at a time"));
  EXPECT_EQ(scheduler_.calls, 0);
}

}  // namespace
}  // namespace longreach::client
