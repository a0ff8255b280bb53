#include "client/embedded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>

#include "tests/client/embedded_fixture.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(EmbeddedTest, ACommandWithAStoreStartsASchedulerAndStopsIt) {
  SetScheduler(Listens());
  MakeStore();

  const Outcome outcome = Run({"sweeps", "--store", store()});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(Contents("scheduler.calls"),
              HasSubstr("--store " + store() + " --listen unix:" + runtime_.path().string()));
  EXPECT_THAT(Contents("scheduler.calls"), HasSubstr("--until-stdin-closes"));
  EXPECT_EQ(Contents("ends"), "ended\n");
  EXPECT_TRUE(std::filesystem::is_empty(runtime_.path())) << "the socket's folder is removed";
}

TEST_F(EmbeddedTest, WhatASchedulerDoesBeforeItListensIsSaidWhereThatTakesLong) {
  // Until that was said.
  SetScheduler("echo progress: copying it\nwhile [ ! -e " + Path("told") + " ]; do :; done\n" + Listens());
  MakeStore();

  const Outcome outcome =
      RunCommandLine({"sweeps", "--store", store()}, {{"XDG_RUNTIME_DIR", runtime_.path().string()}}, binaries(), [this] { std::ofstream(Path("told")) << "now"; });

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("copying it\n"));

  SetScheduler("echo progress: copying it\n" + Listens());
  EXPECT_EQ(Run({"sweeps", "--store", store()}).code, kDone) << "nor is it taken for where it listens";
}

TEST_F(EmbeddedTest, LookingIntoAStoreThatIsNotThereMakesNone) {
  SetScheduler(Listens());
  const Outcome outcome = Run({"sweeps", "--store", store()});
  EXPECT_EQ(outcome.code, kNotFound);
  EXPECT_THAT(outcome.err, HasSubstr("there is no store '"));
  EXPECT_EQ(Contents("scheduler.calls"), "");
}

TEST_F(EmbeddedTest, AnEmptyFileIsNoStoreAndStaysAsItIs) {
  SetScheduler(Listens());
  std::ofstream(store()).flush();
  for (const char* command : {"sweeps", "status"}) {
    const Outcome outcome = Run({command, "--store", store()});
    EXPECT_EQ(outcome.code, kFailed);
    EXPECT_THAT(outcome.err, HasSubstr("test.db' is empty, and no store\n"));
  }
  EXPECT_EQ(Contents("scheduler.calls"), "");
}

TEST_F(EmbeddedTest, ACopyWillDoForCommandsThatOnlyLook) {
  SetScheduler(Listens());
  MakeStore();
  using Words = std::vector<std::string>;
  const auto call = [this](Words words) {
    words.insert(words.end(), {"--store", store()});
    Run(words);
    return LastLine("scheduler.calls");
  };
  for (const Words& looks : {Words{"sweeps"}, {"status"}, {"results", "b1"}, {"plan", "table-b1"}, {"store", "check"}}) EXPECT_THAT(call(looks), HasSubstr("--copy-to-read")) << looks[0];
  for (const Words& writes : {Words{"submit", "table-b1"}, {"pause", "b1"}, {"cancel", "b1"}, {"priority", "b1", "3"}, {"retry", "b1"}, {"store", "migrate"}, {"store", "merge", "other.db"}}) EXPECT_THAT(call(writes), Not(HasSubstr("--copy-to-read"))) << writes[0];
}

TEST_F(EmbeddedTest, PlanWithoutAStoreUsesMemory) {
  SetScheduler(Listens());
  EXPECT_EQ(Run({"plan", "table-b1", "-o", "json"}).code, kDone);
  EXPECT_EQ(Run({"plan", "table-b1", "--store", store()}).code, kDone);
  const std::string calls = Contents("scheduler.calls");
  EXPECT_EQ(calls.find("--store :memory:"), 0u);
  EXPECT_NE(calls.rfind("--store :memory:"), 0u) << "a store that is not there is planned as an empty one";
}

TEST_F(EmbeddedTest, ASchedulerThatRefusesIsQuotedAndTheExitCodeIsOne) {
  SetScheduler(
      "echo 'some log line' >&2\necho \"error: store 'test.db' is held by another scheduler\" >&2\nexit 1\n");
  MakeStore();
  const Outcome outcome = Run({"sweeps", "--store", store()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.err, "error: store 'test.db' is held by another scheduler\n");
  EXPECT_TRUE(std::filesystem::is_empty(runtime_.path()));
}

TEST_F(EmbeddedTest, ASchedulerThatEndsSilentlyIsReportedWithItsExitCode) {
  SetScheduler("exit 7\n");
  MakeStore();
  const Outcome outcome = Run({"sweeps", "--store", store()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("longreach-scheduler ended with exit code 7 and said nothing"));
}

TEST_F(EmbeddedTest, AMissingSchedulerIsNamed) {
  MakeStore();
  const Outcome outcome = Run({"sweeps", "--store", store()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("there is no program '" + Path("longreach-scheduler") + "'"));
}

TEST_F(EmbeddedTest, RunStartsAWorkerWithTheOptionsAndStopsItBeforeTheScheduler) {
  MakeStore();
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\necho worker ended >>" + Path("ends") + "\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);  // Something is left to do when it is submitted.
  v1::SweepUpdate update;
  *update.mutable_sweep() = fake_.sweep;
  update.mutable_sweep()->mutable_counts()->set_succeeded(2);
  update.set_finished(true);
  fake_.updates.push_back(update);

  const Outcome outcome = Run({"run", "table-b1", "--store", store(), "--threads", "2", "--packs", "3", "--pack-limit", "measured",
                               "--checkpoint-every-s", "1.5min", "--engine", "lanes-bf16"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(Contents("worker.calls"),
            "run --scheduler " + fake_.address() + " --state " + store() +
                ".worker --until-stdin-closes --engine lanes-bf16 --threads 2 --packs 3 --pack-limit measured --checkpoint-every-s 90\n");
  EXPECT_EQ(Contents("ends"), "worker ended\nended\n");
}

TEST_F(EmbeddedTest, RunStartsAWorkerForEachGpuThatIsNamed) {
  MakeStore();
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\necho worker ended >>" + Path("ends") + "\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);
  v1::SweepUpdate update;
  *update.mutable_sweep() = fake_.sweep;
  update.mutable_sweep()->mutable_counts()->set_succeeded(2);
  update.set_finished(true);
  fake_.updates.push_back(update);

  const Outcome outcome = Run({"run", "table-b1", "--store", store(), "--device", "cuda:2,0", "--threads", "3"});

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  for (const char* gpu : {"0", "2"}) {
    EXPECT_THAT(Contents("worker.calls"), HasSubstr(std::string(" --state ") + store() + ".worker-gpu-" + gpu + " --until-stdin-closes --device cuda:" + gpu + " --threads 3 --packs 3\n"));
  }
  EXPECT_EQ(Contents("ends"), "worker ended\nworker ended\nended\n") << "both before the scheduler";
  EXPECT_THAT(Run({"run", "table-b1", "--store", store(), "--device", "cuda:0,0"}).err, HasSubstr("numbers of GPUs, each once"));
}

TEST_F(EmbeddedTest, RunTrainsSeveralPacksOfSmallModelsAtATimeUnlessToldOtherwise) {
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);
  v1::SweepUpdate update;
  *update.mutable_sweep() = fake_.sweep;
  update.mutable_sweep()->mutable_counts()->set_succeeded(2);
  update.set_finished(true);
  fake_.updates.push_back(update);
  const struct {
    std::vector<std::string> arguments;
    std::string packs;
  } cases[] = {{{"table-b1", "--threads", "2"}, "2"},
               {{"table-b1", "--threads", "16"}, "2"},
               {{"table-b1", "--threads", "1"}, "1"},
               {{"table-b1", "--threads", "16", "--device", "cuda"}, "4"},
               {{"table-b1", "--threads", "16", "--device", "cuda:1"}, "4"},
               {{"table-b1", "--threads", "3", "--device", "cuda"}, "3"},
               {{"table-b1", "--threads", "16", "--device", "cuda", "--packs", "14"}, "14"},
               {{"table-b1", "--threads", "16", "--device", "cuda", "--engine", "resident"}, "30"},
               {{"table-b1", "--threads", "3", "--device", "cuda:0", "--engine", "resident-fp16"}, "30"},
               {{"table-b1", "--threads", "16", "--device", "cuda", "--engine", "resident", "--packs", "2"}, "2"},
               {{"table-b1", "--threads", "16", "--device", "cuda", "--engine", "spread"}, "4"},
               {{"quickstart-language", "--threads", "16", "--device", "cuda", "--engine", "resident"}, "1"},
               {{"table-b1", "--threads", "2", "--packs", "1"}, "1"},
               {{"quickstart-language", "--threads", "16", "--device", "cuda"}, "1"},
               {{"quickstart-language", "--threads", "2"}, "1"}};
  for (const auto& one : cases) {
    std::vector<std::string> arguments = {"run", "--store", store()};
    arguments.insert(arguments.end(), one.arguments.begin(), one.arguments.end());

    const Outcome outcome = Run(arguments);

    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    EXPECT_THAT(LastLine("worker.calls"), HasSubstr(" --packs " + one.packs + "\n")) << one.arguments[0];
  }
}

TEST_F(EmbeddedTest, RunTrainsOnePackAtATimeWhileALargeModelIsOpenInTheStore) {
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);
  v1::SweepUpdate update;
  *update.mutable_sweep() = fake_.sweep;
  update.mutable_sweep()->mutable_counts()->set_succeeded(2);
  update.set_finished(true);
  fake_.updates.push_back(update);
  v1::Sweep& other = fake_.other_sweeps.emplace_back();
  other.set_id("the other");
  const struct {
    std::string experiment, state;
    int queued;
    std::string packs;
  } cases[] = {{"llama", "live", 1, "1"}, {"llama", "live", 0, "2"}, {"llama", "paused", 1, "2"}, {"algorithmic", "live", 1, "2"}};
  for (const auto& one : cases) {
    other.mutable_spec()->set_experiment(one.experiment);
    other.set_state(one.state);
    other.mutable_counts()->set_queued(one.queued);

    const Outcome outcome = Run({"run", "table-b1", "--store", store(), "--threads", "2"});

    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    EXPECT_THAT(LastLine("worker.calls"), HasSubstr(" --packs " + one.packs)) << one.experiment << " " << one.state << " " << one.queued;
  }
}

TEST_F(EmbeddedTest, AStoreThatIsReadForLongBeforeTheSchedulerAnswersIsSpokenOf) {
  SetScheduler("while [ ! -e " + Path("said") + " ]; do :; done\n" + Listens());
  std::filesystem::create_directory(Path("my runs"));
  std::ofstream(Path("my runs/other.db")) << std::string(2000, 'x');
  MakeStore();

  const Outcome outcome = RunCommandLine({"store", "merge", Path("my runs/other.db"), "--store", store()}, {{"XDG_RUNTIME_DIR", runtime_.path().string()}}, binaries(),
                                         [this] { std::ofstream(Path("said")) << "now"; });

  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(outcome.err, "merging '" + Path("my runs/other.db") + "' (2.0 kB) into the store '" + store() + "' (7 bytes)\n") << "once";
}

TEST_F(EmbeddedTest, RunOfAFinishedSweepStartsNoWorker) {
  SetScheduler(Listens());
  MakeStore();  // Where none is, nothing is done.
  fake_.plan.set_done(fake_.plan.jobs());
  const Outcome outcome = Run({"run", "table-b1", "--store", store()});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("87.5"));
  EXPECT_EQ(Contents("worker.calls"), "");
}

TEST_F(EmbeddedTest, AWorkerThatDiesEndsTheRun) {
  MakeStore();
  SetScheduler(Listens());
  SetReadyWorker(UntilWatched() + "echo 'error: the GPU fell off the bus' >&2\nexit 1\n");
  fake_.sweep.mutable_counts()->set_succeeded(0);
  fake_.watch_stays_open = true;
  const Outcome outcome = Run({"run", "table-b1", "--store", store()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(
      outcome.err,
      HasSubstr(
          "error: the worker ended: the GPU fell off the bus\n  what was finished is kept in the store; the same command goes on\n"));
  EXPECT_EQ(Contents("ends"), "ended\n");
}

TEST_F(EmbeddedTest, AWorkerThatDoesNotLikeItsOptionsLeavesNoSweep) {
  MakeStore();
  SetScheduler(Listens());
  SetWorker("echo 'error: no GPU answers' >&2\nexit 1\n");
  fake_.sweep.mutable_counts()->set_succeeded(0);
  const Outcome outcome = Run({"run", "table-b1", "--store", store(), "--device", "cuda"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("error: the worker ended: no GPU answers\n  nothing was submitted; 'longreach-worker run --help' says"));
  EXPECT_TRUE(fake_.submitted.dry_run());
  EXPECT_EQ(Contents("ends"), "ended\n");
}

TEST_F(EmbeddedTest, AnOptionThatTheWorkerDoesNotTakeIsOneThatTheRunDoesNot) {
  MakeStore();
  SetScheduler(Listens());
  SetWorker("echo 'error: engine: no such one' >&2\nexit 2\n");
  fake_.sweep.mutable_counts()->set_succeeded(0);
  const Outcome outcome = Run({"run", "table-b1", "--store", store(), "--engine", "warp"});
  EXPECT_EQ(outcome.code, kUsage);
  EXPECT_THAT(outcome.err, HasSubstr("error: the worker ended: engine: no such one\n  nothing was submitted; 'longreach-worker run --help' says what a worker can be told\n"));
  EXPECT_TRUE(fake_.submitted.dry_run());
}

TEST_F(EmbeddedTest, AMissingWorkerEndsTheRun) {
  MakeStore();
  SetScheduler(Listens());
  fake_.sweep.mutable_counts()->set_succeeded(0);
  const Outcome outcome = Run({"run", "table-b1", "--store", store()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("LONGREACH_TRAINER=OFF"));
  EXPECT_EQ(Contents("ends"), "ended\n");
}

TEST_F(EmbeddedTest, OfSeveralWorkersTheLastThatDiesEndsTheRun) {
  MakeStore();
  SetScheduler(Listens());
  SetWorker("case \"$*\" in *cuda:1*) echo 'error: no GPU answers' >&2; exit 1 ;; esac\necho ready\n" + UntilWatched() +
            "echo 'attempt 3: taken' >&2\nkill -9 $$\n");
  fake_.sweep.mutable_counts()->set_succeeded(0);
  fake_.watch_stays_open = true;
  const Outcome outcome = Run({"run", "table-b1", "--store", store(), "--device", "cuda:0..1"});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("the worker of cuda:1 ended, and another goes on without it: no GPU answers\n"));
  EXPECT_THAT(outcome.err, HasSubstr("error: the worker ended: longreach-worker was killed by signal 9, as the kernel does when memory runs out; the last that it said: attempt 3: taken\n"));
}

TEST_F(EmbeddedTest, AWorkerThatWasPutAsideEndsTheRun) {
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(0);
  fake_.watch_stays_open = true;
  fake_.workers.mutable_workers(0)->set_state("put_aside");
  fake_.workers.mutable_workers(0)->set_reason("its last three attempts failed");
  const Outcome outcome = Run({"run", "table-b1", "--store", store()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("the worker gets no more work: its last three attempts failed"));
}

TEST_F(EmbeddedTest, ASchedulerThatDiesEndsTheRun) {
  MakeStore();
  // It listens, and dies when the worker, which was started after it, says so.
  SetScheduler("echo listening on " + fake_.address() + "\nmkfifo " + Path("die") + "\nread line <" +
               Path("die") + "\necho 'error: disk full' >&2\nexit 1\n");
  SetReadyWorker("while [ ! -p " + Path("die") + " ]; do :; done\necho now >" + Path("die") +
            "\ncat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(0);
  fake_.watch_stays_open = true;
  const Outcome outcome = Run({"run", "table-b1", "--store", store()});
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("error: the scheduler ended: disk full"));
}

TEST_F(EmbeddedTest, AnInterruptStopsTheWorkerInOrderAndSaysHowToGoOn) {
  MakeStore();
  SetScheduler(Listens());
  // The interrupt comes from the worker, so the client's handler is in place.
  SetReadyWorker("kill -INT " + std::to_string(getpid()) + "\ncat >/dev/null\necho worker ended >>" +
            Path("ends") + "\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);
  fake_.watch_stays_open = true;

  const Outcome outcome = Run({"run", "table-b1", "--store", store(), "--set", "training.steps=2"});

  EXPECT_EQ(outcome.code, kInterrupted);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(
      outcome.err,
      HasSubstr(
          "1 of 2 jobs done, and everything is kept. To go on:\n  longreach run table-b1 --set training.steps=2 --store " +
          store()));
  EXPECT_EQ(Contents("ends"), "worker ended\nended\n");
}

// Else nobody could tell it from an interrupt that came too late.
TEST_F(EmbeddedTest, AnInterruptBeforeTheWorkerIsReadySaysThatNothingHasBegun) {
  MakeStore();
  SetScheduler(Listens());
  SetWorker("kill -INT " + std::to_string(getpid()) + "\ncat >/dev/null\n");

  const Outcome outcome = Run({"run", "table-b1", "--store", store()});

  EXPECT_EQ(outcome.code, kInterrupted);
  EXPECT_THAT(outcome.err, HasSubstr("stopped before any job began\n"));
  EXPECT_TRUE(fake_.submitted.dry_run()) << "nothing but its plan was asked for";
}

TEST_F(EmbeddedTest, AnInterruptOnAFullDiskSaysWhatIsWaitedForAndNotThatEverythingIsKept) {
  MakeStore();
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);
  fake_.sweep.mutable_counts()->set_leased(1);
  *fake_.updates.emplace_back().mutable_sweep() = fake_.sweep;
  fake_.updates.back().set_store_trouble("the store takes nothing: the disk is full");
  fake_.watch_stays_open = true;
  std::atomic<bool> is_watched = false, is_interrupted = false;
  fake_.when_watched = [&is_watched] { is_watched = true; };

  // With the first line that it says of the sweep it has heard of the full disk.
  const Outcome outcome = RunCommandLine({"run", "table-b1", "--store", store()}, {{"XDG_RUNTIME_DIR", runtime_.path().string()}}, binaries(), [&] {
    if (is_watched && !is_interrupted.exchange(true)) kill(getpid(), SIGINT);
  });

  EXPECT_EQ(outcome.code, kInterrupted);
  EXPECT_THAT(outcome.err, HasSubstr("the store takes nothing: the disk is full: what is not handed in yet waits for that"));
  EXPECT_THAT(outcome.err, HasSubstr("1 of 2 jobs done, and that is kept. The last of what was being trained is not in the store (the store takes nothing: the disk is full)"));
  EXPECT_THAT(outcome.err, HasSubstr("To go on:\n  longreach run table-b1 --store " + store()));
  EXPECT_THAT(outcome.err, Not(HasSubstr("everything is kept")));
}

TEST_F(EmbeddedTest, AnInterruptThatLeavesAnotherSweepsJobsUnwrittenDoesNotSayThatEverythingIsKept) {
  MakeStore();
  SetScheduler(Listens());
  SetReadyWorker("kill -INT " + std::to_string(getpid()) + "\ncat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);
  v1::Sweep& other = fake_.other_sweeps.emplace_back(fake_.sweep);
  other.set_id(std::string(64, 'f'));
  other.set_name("other");
  other.mutable_counts()->set_leased(1);
  fake_.watch_stays_open = true;

  const Outcome outcome = Run({"run", "table-b1", "--store", store()});

  EXPECT_EQ(outcome.code, kInterrupted);
  EXPECT_THAT(outcome.err, HasSubstr("1 of 2 jobs done, and that is kept. The last of what was being trained is not in the store: what the worker could keep"));
}

// Whoever had its jobs was killed: their leases are there still.
TEST_F(EmbeddedTest, StatusOfAStoreThatNobodyElseHasSaysThatNothingWorksOnIt) {
  SetScheduler(Listens());
  MakeStore();
  fake_.sweep.mutable_counts()->set_succeeded(1);
  fake_.sweep.mutable_counts()->set_leased(1);

  EXPECT_THAT(Run({"status", "--store", store()}).out, HasSubstr("nothing works on " + store() + " now; 'longreach run'"));

  fake_.sweep.mutable_counts()->set_leased(0);
  EXPECT_THAT(Run({"status", "--store", store()}).out, Not(HasSubstr("nothing works")));
}

TEST_F(EmbeddedTest, OfAnAttemptThatWasCutOffItIsSaidThatNothingWorksOnTheStore) {
  SetScheduler(Listens());
  MakeStore();
  fake_.refusals["GetLog"] = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "it leaves its log when it ends");

  const Outcome outcome = Run({"logs", "bbbb", "--attempt", "7", "--store", store()});

  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_THAT(outcome.err, HasSubstr("nothing works on " + store() + ", where attempt 7 has not ended and has left no log yet"));
  EXPECT_EQ(fake_.followed, 0);
}

TEST_F(EmbeddedTest, ARunSaysWhichSweepsOfItsStoreComeFirst) {
  SetScheduler(Listens());
  SetReadyWorker("cat >/dev/null\n");
  fake_.sweep.mutable_counts()->set_succeeded(1);
  fake_.sweep.mutable_submitted_at()->set_seconds(100);
  const auto add = [this](const std::string& name, int64_t at, int priority, int queued) {
    v1::Sweep& other = fake_.other_sweeps.emplace_back(fake_.sweep);
    other.set_id(name + std::string(64 - name.size(), '0'));
    other.set_name(name);
    other.set_priority(priority);
    other.mutable_submitted_at()->set_seconds(at);
    other.mutable_counts()->set_queued(queued);
  };
  add("before", 99, 0, 3);
  add("later", 101, 0, 3);
  add("urgent", 101, 1, 1);
  add("done", 99, 0, 0);

  const std::string said = Run({"run", "table-b1", "--store", store()}).err;

  EXPECT_THAT(said, HasSubstr("3 open jobs of sweep before00 before, which is in this store too, come first; 'longreach pause before00 --store " + store() + "' holds them"));
  EXPECT_THAT(said, HasSubstr("1 open job of sweep urgent00 urgent, which is in this store too, comes first"));
  EXPECT_THAT(said, Not(HasSubstr("later")));
  EXPECT_THAT(said, Not(HasSubstr("done000")));
}

}  // namespace
}  // namespace longreach::client
