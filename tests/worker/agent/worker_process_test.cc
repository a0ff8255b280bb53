// The worker's program: signals, standard input, exit codes, and that no trainer outlives it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/agent_under_test.h"
#include "tests/worker/agent/fake_scheduler.h"

namespace longreach::agent {
namespace {

using ::testing::HasSubstr;
using Seen = FakeScheduler::Seen;

// A running longreach-worker whose standard input is a pipe of the test's.
class WorkerProcess {
 public:
  WorkerProcess(std::vector<std::string> arguments, const std::filesystem::path& error_file) : error_file_(error_file) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    stdin_ = ends[1];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    arguments.insert(arguments.begin(), "longreach-worker");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, LONGREACH_WORKER, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
  }
  ~WorkerProcess() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
    CloseStdin();
  }
  void CloseStdin() {
    if (stdin_ >= 0) close(std::exchange(stdin_, -1));
  }
  void Signal(int signal) { kill(pid_, signal); }
  // The exit code, or minus the signal that killed it.
  int Wait() { return WaitFor(std::exchange(pid_, -1)); }
  static int WaitFor(pid_t pid) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  pid_t TrainerPid() const {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid_));
    pid_t child = 0;
    children >> child;
    return child;
  }
  std::string Errors() const {
    std::ifstream in(error_file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path error_file_;
  int stdin_ = -1;
  pid_t pid_ = -1;
};

class WorkerProcessTest : public ::testing::Test {
 protected:
  WorkerProcessTest() : scheduler_(folder_.path() / "scheduler.sock") { scheduler_.Listen(); }

  std::unique_ptr<WorkerProcess> Start(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"run",     "--scheduler", scheduler_.address(), "--state",
                                          (folder_.path() / "worker").string(), "--threads", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<WorkerProcess>(arguments, folder_.path() / "errors");
  }

  // A worker in the middle of an endless attempt 7.
  std::unique_ptr<WorkerProcess> StartTraining(std::vector<std::string> more = {}) {
    std::unique_ptr<WorkerProcess> worker = Start(std::move(more));
    scheduler_.Offer(LeaseOf(7, kEndless));
    scheduler_.WaitForStep(7, 1);
    return worker;
  }

  void ExpectGivenBack() {
    const Seen seen = scheduler_.WaitFor("a goodbye", [](const Seen& now) { return now.goodbyes > 0; });
    ASSERT_TRUE(seen.reports.contains(7));
    EXPECT_EQ(seen.reports.at(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
    EXPECT_EQ(seen.events.front(), "upload checkpoint 7");
  }

  testing::TemporaryFolder folder_;
  FakeScheduler scheduler_;
};

TEST_F(WorkerProcessTest, ASignalBeforeItsTrainerIsReadyEndsIt) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::unique_ptr<WorkerProcess> worker = Start();
    ASSERT_TRUE(ComesTrue([&] { return worker->TrainerPid() != 0; }));

    worker->Signal(signal);

    EXPECT_EQ(worker->Wait(), 0) << worker->Errors();
    EXPECT_THAT(worker->Errors(), HasSubstr("left"));
  }
}

TEST_F(WorkerProcessTest, WhatItsFolderHoldsInPlaceOfAnIdentityIsShownAndNotObeyed) {
  std::filesystem::create_directory(folder_.path() / "worker");
  std::ofstream(folder_.path() / "worker" / "id") << "\x1b[31mred\x9b" << "0m\n";

  const std::unique_ptr<WorkerProcess> worker = Start();

  EXPECT_EQ(worker->Wait(), 1);
  EXPECT_THAT(worker->Errors(), HasSubstr("holds no UUID but '\\x1b[31mred\\x9b0m'; "));
}

TEST_F(WorkerProcessTest, ATrainersLogThatIsAPipeIsNotWaitedFor) {
  std::filesystem::create_directory(folder_.path() / "worker");
  const std::filesystem::path log = folder_.path() / "worker" / "trainer.log";
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);

  const std::unique_ptr<WorkerProcess> worker = Start();

  EXPECT_EQ(worker->Wait(), 1);
  EXPECT_THAT(worker->Errors(), HasSubstr("cannot write " + log.string()));
}

TEST_F(WorkerProcessTest, GivesBackAndExitsWithZeroAtSigterm) {
  const std::unique_ptr<WorkerProcess> worker = StartTraining();

  worker->Signal(SIGTERM);

  EXPECT_EQ(worker->Wait(), 0) << worker->Errors();
  ExpectGivenBack();
}

TEST_F(WorkerProcessTest, GivesBackAndExitsWithZeroWhenItsStdinCloses) {
  const std::unique_ptr<WorkerProcess> worker = StartTraining({"--until-stdin-closes"});

  worker->CloseStdin();

  EXPECT_EQ(worker->Wait(), 0) << worker->Errors();
  ExpectGivenBack();
}

TEST_F(WorkerProcessTest, EndsWhenItsStdinIsClosedBeforeItBegins) {
  const std::unique_ptr<WorkerProcess> worker = Start({"--until-stdin-closes"});

  worker->CloseStdin();

  EXPECT_EQ(worker->Wait(), 0) << worker->Errors();
}

TEST_F(WorkerProcessTest, ExitsWithZeroWhenItHasBeenIdle) {
  const std::unique_ptr<WorkerProcess> worker = Start({"--leave-when-idle", "0"});

  EXPECT_EQ(worker->Wait(), 0) << worker->Errors();
  EXPECT_THAT(worker->Errors(), HasSubstr("nothing to do for"));
  EXPECT_EQ(scheduler_.WaitFor("-", [](const Seen&) { return true; }).goodbyes, 1);
}

TEST_F(WorkerProcessTest, TakesACtrlCThatItsTrainerGetsToo) {
  const std::unique_ptr<WorkerProcess> worker = StartTraining();

  kill(worker->TrainerPid(), SIGINT);
  worker->Signal(SIGINT);

  EXPECT_EQ(worker->Wait(), 0) << worker->Errors();
  ExpectGivenBack();
}

TEST_F(WorkerProcessTest, EndsAtOnceAtASecondCtrlC) {
  const std::unique_ptr<WorkerProcess> worker = StartTraining();
  scheduler_.GoAway();  // So that it has somebody to wait for.
  worker->Signal(SIGINT);
  const std::filesystem::path handing_in = folder_.path() / "worker" / "attempts" / "7" / "log.tail";
  ASSERT_TRUE(ComesTrue([&] { return std::filesystem::exists(handing_in); }));

  worker->Signal(SIGINT);

  EXPECT_EQ(worker->Wait(), 130) << worker->Errors();
}

TEST_F(WorkerProcessTest, LeavesNoTrainerBehindWhenItIsKilled) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // The orphan becomes ours to wait for.
  const std::unique_ptr<WorkerProcess> worker = StartTraining();
  const pid_t trainer = worker->TrainerPid();
  ASSERT_GT(trainer, 0);

  worker->Signal(SIGKILL);

  EXPECT_EQ(worker->Wait(), -SIGKILL);
  const int how = WorkerProcess::WaitFor(trainer);
  EXPECT_TRUE(how == -SIGKILL || how == 0) << how;  // Killed with it, or it saw its pipe close first.
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(WorkerProcessTest, HandsInAtItsNextStartTheCheckpointThatItHadWhenItWasKilled) {
  scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "not now"});
  {
    const std::unique_ptr<WorkerProcess> worker = StartTraining({"--checkpoint-every-s", "0.05"});
    scheduler_.WaitFor("a refused checkpoint", [](const Seen& seen) { return !seen.refused.empty(); });
    worker->Signal(SIGKILL);
    EXPECT_EQ(worker->Wait(), -SIGKILL);
  }
  scheduler_.RefuseUploads(grpc::Status::OK);

  const std::unique_ptr<WorkerProcess> again = Start();

  const Seen seen = scheduler_.WaitFor("empty hands", [](const Seen& now) { return now.last.held().empty(); });
  ASSERT_EQ(seen.UploadsOf("checkpoint").size(), 1u);
  EXPECT_GE(seen.UploadsOf("checkpoint")[0].step(), 1);
  EXPECT_EQ(seen.UploadsOf("checkpoint")[0].jobs(0), JobId(1));
  EXPECT_FALSE(seen.reports.contains(7));  // The scheduler counts it as lost.
}

TEST_F(WorkerProcessTest, ExitsWithTwoAndTheNextStepForBadValues) {
  struct Case {
    std::vector<std::string> arguments;
    std::string expected;
  };
  for (const Case& bad : std::vector<Case>{
           {{"run", "--scheduler", "nowhere"}, "localhost:7070"},
           {{"run", "--pack-limit", "0"}, "--pack-limit: '0' is neither a number from 1 to 1024 nor 'measured'"},
           {{"run", "--pack-limit", "0x10"}, "'0x10'"},
           {{"run", "--pack-limit", "measure"}, "'measure'"},
           {{"run", "--packs", "0"}, "--packs"},
           {{"run", "--packs", "65"}, "--packs"},
           {{"run", "--device", "tpu"}, "tpu"},
           {{"run", "--leave-when-idle", "-1"}, "--leave-when-idle"},
           {{"run", "--leave-when-idle", "inf"}, "--leave-when-idle"},
           {{"run", "--leave-when-idle", "nan"}, "--leave-when-idle: 'nan' is not a number"},
           {{"run", "--checkpoint-every-s", "nan"}, "--checkpoint-every-s: 'nan' is not a number"},
           {{"run", "--hang-after-s", "nan"}, "--hang-after-s: 'nan' is not a number"},
           {{"run", "--leave-when-idle", "5 weeks"}, "--leave-when-idle: '5 weeks' is not a duration"},
           {{"run", "--checkpoint-every-s", "20000d"}, "--checkpoint-every-s: '20000d' is not a duration"},
           {{"run", "--hang-after-s", "0.5s"}, "--hang-after-s: 0.5 is not within 1 to 1000000000"},
           // A trainer tells of itself five times a second.
           {{"run", "--hang-after-s", "0.9"}, "--hang-after-s: 0.9 is not within 1 to 1000000000"},
           {{"run", "--engine", "lane"}, "unknown name 'lane'; there are libtorch, lanes"},
           {{"bench", "--task", "even_pairs", "--encoding", "rope", "--engine", "bf16"}, "lanes-bf16"},
           {{"bench", "--task", "even_pair", "--encoding", "rope"}, "did you mean 'even_pairs'"},
           {{"bench", "--task", "even_pairs,reverse_strin", "--encoding", "rope"}, "did you mean 'reverse_string'"},
           {{"bench", "--task", std::string(64, ','), "--encoding", "rope"}, "--task: 65 tasks, and at most 64 packs"},
           {{"bench", "--task", "even_pairs,bucket_sort", "--packs", "1", "--encoding", "rope"}, "--packs: 1 are fewer than the 2 tasks"},
           {{"bench", "--task", "even_pairs", "--packs", "2", "--encoding", "rope", "--simulate-threads", "4"}, "leave out --packs"},
           {{"bench", "--task", "even_pairs", "--encoding", "roep"}, "did you mean 'rope'"},
           {{"bench", "--task", "even_pairs", "--encoding", "shape:randomized"}, "'shape' cannot be randomized"},
           {{"bench", "--task", "even_pairs", "--encoding", "rope", "--lengths", "5..2"}, "'5..2'"},
           {{"bench", "--task", "even_pairs", "--encoding", "rope", "--batch", "0"}, "--batch: 0"},
           {{"bench", "--task", "even_pairs", "--encoding", "rope", "--simulate-threads", "4,2"}, "--simulate-threads: '4,2'"},
           {{"bench", "--task", "even_pairs", "--encoding", "rope", "--simulate-threads", "4", "--threads", "2"}, "leave out --threads"},
           {{}, "one of its commands is required"}}) {
    WorkerProcess worker(bad.arguments, folder_.path() / "errors");
    EXPECT_EQ(worker.Wait(), 2);
    EXPECT_THAT(worker.Errors(), HasSubstr(bad.expected));
  }
}

TEST_F(WorkerProcessTest, TrainsWithTheEngineThatItWasAskedFor) {
  const std::unique_ptr<WorkerProcess> worker = Start({"--engine", "lanes-portable-bf16"});
  v1::Lease lease = LeaseOf(7, kEndless);
  lease.mutable_jobs(0)->mutable_spec()->mutable_model()->set_embedding_dim(16);  // Two heads of 8 features.
  scheduler_.Offer(lease);
  scheduler_.WaitForStep(7, 1);

  worker->Signal(SIGTERM);

  EXPECT_EQ(worker->Wait(), 0) << worker->Errors();
  const Seen seen = scheduler_.WaitFor("a goodbye", [](const Seen& now) { return now.goodbyes > 0; });
  ASSERT_TRUE(seen.reports.contains(7));
  EXPECT_EQ(seen.reports.at(7).engine(), "lanes-portable-bf16");
}

TEST_F(WorkerProcessTest, ACheckEndsAsAStartWouldAndLeavesNothing) {
  EXPECT_EQ(Start({"--check"})->Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "worker")) << "the state folder";
  EXPECT_EQ(scheduler_.WaitFor("nothing", [](const Seen&) { return true; }).calls, 0);

  const std::vector<std::vector<std::string>> refused = {{"--engine", "warp"}, {"--threads", "-1"}, {"--ca", (folder_.path() / "none.pem").string()}};
  for (const std::vector<std::string>& options : refused) {
    const std::unique_ptr<WorkerProcess> start = Start(options);
    const int code = start->Wait();
    const std::string errors = start->Errors();
    EXPECT_NE(code, 0) << options[0];
    std::vector<std::string> check = options;
    check.emplace_back("--check");
    const std::unique_ptr<WorkerProcess> looked = Start(check);
    EXPECT_EQ(looked->Wait(), code) << options[0];
    EXPECT_EQ(looked->Errors(), errors) << options[0];
    EXPECT_THAT(errors, HasSubstr("error: ")) << options[0];
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "worker"));

  std::ofstream(folder_.path() / "worker") << "no folder";
  const std::unique_ptr<WorkerProcess> start = Start();
  EXPECT_EQ(start->Wait(), 1);
  const std::string errors = start->Errors();
  const std::unique_ptr<WorkerProcess> looked = Start({"--check"});
  EXPECT_EQ(looked->Wait(), 1);
  EXPECT_EQ(looked->Errors(), errors);
  EXPECT_THAT(errors, HasSubstr("cannot make the folder"));
}

TEST_F(WorkerProcessTest, ExitsWithOneWhenItsStateFolderIsInUse) {
  const std::unique_ptr<WorkerProcess> first = StartTraining();

  WorkerProcess second({"run", "--scheduler", scheduler_.address(), "--state", (folder_.path() / "worker").string()},
                       folder_.path() / "errors2");

  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.Errors(), HasSubstr("in use by another worker"));
}

}  // namespace
}  // namespace longreach::agent
