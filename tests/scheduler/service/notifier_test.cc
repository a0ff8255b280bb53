#include "scheduler/service/notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace longreach::service {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

News Numbered(int number) { return {.kind = News::Kind::kSweepDone, .line = std::to_string(number), .notice = Notice{.event = "sweep_done", .sweep = "a"}}; }

// On which no patience is ever over.
class StillClock final : public Clock {
 public:
  WallTime Wall() const override { return {}; }
  SteadyTime Steady() const override { return {}; }
};

// A second later whenever it is asked.
class TickingClock final : public Clock {
 public:
  WallTime Wall() const override { return {}; }
  SteadyTime Steady() const override { return SteadyTime(std::chrono::seconds(++asked_)); }

 private:
  mutable std::atomic<int> asked_ = 0;
};

class NotifierTest : public ::testing::Test {
 protected:
  // Notes what it is told, and does as told by `answer`.
  Notifier::Run Note(std::function<absl::Status(const std::function<bool()>& give_up)> answer = [](const auto&) { return absl::OkStatus(); }) {
    return [this, answer](const News& news, WallTime, const std::function<bool()>& give_up) {
      told_.Lock()->push_back(news.line);
      return answer(give_up);
    };
  }
  void Log(const std::string& line) { log_.Lock()->push_back(line); }
  std::vector<std::string> Told() { return *told_.Lock(); }
  std::vector<std::string> Logged() { return *log_.Lock(); }

  StillClock clock_;
  Synchronized<std::vector<std::string>> told_;
  Synchronized<std::vector<std::string>> log_;
};

TEST_F(NotifierTest, AllIsToldInItsOrderAlsoWhatWaitsWhenTheSchedulerEnds) {
  Notifier notifier(clock_, Note(), [this](const std::string& line) { Log(line); });
  notifier.Add(Numbered(0));
  notifier.Start();
  for (int i = 1; i < 5; ++i) notifier.Add(Numbered(i));
  notifier.Stop();
  EXPECT_THAT(Told(), ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(NotifierTest, WhatIsTooMuchIsCountedAndTheLogSaysHowMuch) {
  Notifier notifier(clock_, Note(), [this](const std::string& line) { Log(line); });
  for (size_t i = 0; i < Notifier::kMost + 3; ++i) notifier.Add(Numbered(static_cast<int>(i)));
  notifier.Start();
  notifier.Stop();
  EXPECT_THAT(Told(), SizeIs(Notifier::kMost));
  EXPECT_EQ(Told().back(), std::to_string(Notifier::kMost - 1));
  EXPECT_THAT(Logged(), ElementsAre("--notify: 3 pieces of news were left out, as 100 were waiting for the program"));
}

TEST_F(NotifierTest, WhoHasNewsDoesNotWaitForTheProgram) {
  std::promise<void> begun;
  std::promise<void> may_end;
  std::atomic<bool> is_first = true;
  const auto hang = [&](const auto&) {
    if (is_first.exchange(false)) {
      begun.set_value();
      may_end.get_future().wait();
    }
    return absl::OkStatus();
  };
  Notifier notifier(clock_, Note(hang), [this](const std::string& line) { Log(line); });
  notifier.Start();
  notifier.Add(Numbered(0));
  begun.get_future().wait();
  // While it hangs; each of these would wait for ever.
  for (size_t i = 1; i <= Notifier::kMost + 1; ++i) notifier.Add(Numbered(static_cast<int>(i)));
  EXPECT_THAT(Told(), ElementsAre("0"));

  may_end.set_value();
}

TEST_F(NotifierTest, AProgramThatFailsIsToldOfAndTheNextNewsGoToItAsBefore) {
  Notifier notifier(clock_, Note([](const auto&) { return absl::InternalError("ended with exit code 6: 'no such host'"); }), [this](const std::string& line) { Log(line); });
  notifier.Start();
  notifier.Add(Numbered(0));
  notifier.Add(Numbered(1));
  notifier.Stop();
  EXPECT_THAT(Told(), ElementsAre("0", "1"));
  EXPECT_THAT(Logged(), ElementsAre("--notify: told of sweep_done, the program ended with exit code 6: 'no such host'",
                                    "--notify: told of sweep_done, the program ended with exit code 6: 'no such host'"));
}

TEST_F(NotifierTest, AtTheEndPatienceIsFiniteAndTheLogSaysWhatIsLeftOut) {
  TickingClock clock;
  std::promise<void> begun;
  const auto hang = [&](const std::function<bool()>& give_up) {
    begun.set_value();
    while (!give_up()) std::this_thread::yield();  // Until Stop() is called, and its patience is over.
    return absl::DeadlineExceededError("was killed, as the scheduler ends");
  };
  Notifier notifier(clock, Note(hang), [this](const std::string& line) { Log(line); });
  for (int i = 0; i < 3; ++i) notifier.Add(Numbered(i));
  notifier.Start();
  begun.get_future().wait();
  notifier.Stop();
  EXPECT_THAT(Told(), ElementsAre("0"));
  EXPECT_THAT(Logged(), ElementsAre("--notify: told of sweep_done, the program was killed, as the scheduler ends",
                                    "--notify: the scheduler ends, and the program is not told of 2 more: 1, 2"));
}

TEST_F(NotifierTest, OfASchedulerThatDoesNotComeToWorkNobodyHears) {
  {
    Notifier notifier(clock_, Note(), [this](const std::string& line) { Log(line); });
    notifier.Add(Numbered(0));
  }
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(NotifierTest, ARealProgramGetsTheLineAndTheEnvironment) {
  const longreach::testing::TemporaryFolder folder;
  const std::filesystem::path program = folder / "program";
  std::ofstream(program) << "#!/bin/sh\ncat >> '" << folder.path().string() << "/told'\necho \"$LONGREACH_EVENT of $LONGREACH_NAME\" >> '" << folder.path().string() << "/told'\n";
  chmod(program.c_str(), 0700);
  Notifier notifier(clock_, TellProgram(program), [this](const std::string& line) { Log(line); });
  notifier.Start();
  notifier.Add(WorkerIsGone("11111111", "gpu-a", std::chrono::seconds(15)));
  notifier.Stop();
  std::ifstream file(folder / "told");
  const std::string told{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(told, StartsWith(R"({"schema":"longreach/v1","event":"worker_gone","time":")"));
  EXPECT_THAT(told, HasSubstr(R"("name":"gpu-a")"));
  EXPECT_THAT(told, EndsWith("}\nworker_gone of gpu-a\n"));
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(NotifierTest, ARealProgramThatHangsIsKilledAndTheLogSaysSo) {
  const longreach::testing::TemporaryFolder folder;
  const std::filesystem::path program = folder / "program";
  std::ofstream(program) << "#!/bin/sh\nexec sleep 1000\n";
  chmod(program.c_str(), 0700);
  Notifier notifier(clock_, TellProgram(program, std::chrono::milliseconds(100)), [this](const std::string& line) { Log(line); });
  notifier.Start();
  notifier.Add(Numbered(0));
  notifier.Stop();
  EXPECT_THAT(Logged(), ElementsAre("--notify: told of sweep_done, the program was killed after 0.1 s"));
}

}  // namespace
}  // namespace longreach::service
