// What is sent of a running attempt's log: to who asks, no more than a part may have, and again when there is more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/agent_under_test.h"
#include "worker/agent/files.h"
#include "worker/agent/log_part.h"

namespace longreach::agent {
namespace {

using Seen = FakeScheduler::Seen;

class AgentLogsTest : public ::testing::Test {
 protected:
  AgentLogsTest() : scheduler_(folder_.path() / "scheduler.sock") { scheduler_.Listen(); }

  AgentOptions Options() { return OptionsFor(scheduler_, folder_.path() / "worker"); }
  // Trains without end.
  void Train(uint64_t attempt) {
    scheduler_.Offer(LeaseOf(attempt, kEndless));
    scheduler_.WaitForStep(attempt, 1);
  }
  std::filesystem::path Log(uint64_t attempt) const { return folder_.path() / "worker" / "attempts" / std::to_string(attempt) / "log"; }
  // As the trainer does.
  void Print(uint64_t attempt, const std::string& text) const { std::ofstream(Log(attempt), std::ios::binary | std::ios::app) << text; }

  // What has come, which must be without a gap; from the beginning.
  static std::string Text(const Seen& seen) {
    std::string text;
    for (const v1::AttemptLog& part : seen.logs) {
      if (part.from() > text.size()) return "a gap";
      text.resize(part.from());  // A call that broke off may have brought the same.
      text += part.text();
    }
    return text;
  }

  testing::TemporaryFolder folder_;
  FakeScheduler scheduler_;
};

TEST_F(AgentLogsTest, WhatIsThereIsSentAndThenWhatComes) {
  AgentUnderTest agent(Options());
  Train(7);
  scheduler_.AskForLog(7, 0);
  const Seen first = scheduler_.WaitFor("what the trainer has printed", [](const Seen& seen) { return !seen.logs.empty(); });
  EXPECT_EQ(Text(first).rfind("attempt 7: 1 job(s), even_pairs", 0), 0u) << Text(first);

  Print(7, "a line that was printed later\n");

  const Seen then = scheduler_.WaitFor("the line behind it", [](const Seen& seen) { return Text(seen).find("printed later\n") != std::string::npos; });
  EXPECT_EQ(Text(then), ReadFile(Log(7))->substr(0, Text(then).size()));
}

TEST_F(AgentLogsTest, NothingIsSentThatNobodyAsksFor) {
  AgentUnderTest agent(Options());
  Train(7);
  const Seen before = scheduler_.WaitFor("a call", [](const Seen& seen) { return seen.Held(7) != nullptr; });
  EXPECT_FALSE(before.Held(7)->has_log());
  scheduler_.AskForLog(7, 0);
  scheduler_.WaitFor("a log", [](const Seen& seen) { return !seen.logs.empty(); });

  scheduler_.StopAskingForLogs();

  scheduler_.WaitFor("a call without it", [](const Seen& seen) { return seen.Held(7) != nullptr && !seen.Held(7)->has_log(); });
  Print(7, "nobody reads this\n");
  const int calls = scheduler_.WaitFor("-", [](const Seen&) { return true; }).calls;
  const Seen later = scheduler_.WaitFor("further calls", [calls](const Seen& seen) { return seen.calls > calls + 2; });
  EXPECT_EQ(Text(later).find("nobody reads this"), std::string::npos);
}

TEST_F(AgentLogsTest, OfALongLogTheEndIsSent) {
  AgentUnderTest agent(Options());
  Train(7);
  Print(7, std::string(5 * kMaxLogPartBytes, 'x') + "\nthe end\n");

  scheduler_.AskForLog(7, 0);

  const Seen seen = scheduler_.WaitFor("a part", [](const Seen& now) { return !now.logs.empty(); });
  const v1::AttemptLog& part = seen.logs.front();
  EXPECT_EQ(part.text().size(), kMaxLogPartBytes);
  EXPECT_GT(part.from(), 4 * kMaxLogPartBytes);
  EXPECT_EQ(part.text(), ReadFile(Log(7))->substr(part.from(), kMaxLogPartBytes));
  EXPECT_NE(part.text().find("\nthe end\n"), std::string::npos);
}

TEST_F(AgentLogsTest, WhoAsksAgainFromTheBeginningGetsItAgain) {
  AgentUnderTest agent(Options());
  Train(7);
  scheduler_.AskForLog(7, 0);
  const size_t parts = scheduler_.WaitFor("a part", [](const Seen& seen) { return !seen.logs.empty(); }).logs.size();

  scheduler_.AskForLog(7, 0);

  // Further parts may come behind it.
  const auto from_the_beginning = [parts](const Seen& seen) {
    return std::find_if(seen.logs.begin() + static_cast<std::ptrdiff_t>(parts), seen.logs.end(), [](const v1::AttemptLog& part) { return part.from() == 0; });
  };
  const Seen seen = scheduler_.WaitFor("another", [&](const Seen& now) { return from_the_beginning(now) != now.logs.end(); });
  ASSERT_TRUE(from_the_beginning(seen) != seen.logs.end());
  const std::string& again = from_the_beginning(seen)->text();
  EXPECT_EQ(again.rfind(seen.logs.front().text(), 0), 0u) << again;
}

TEST_F(AgentLogsTest, OfALogThatIsNotThereItIsSaidThatItGoesNoFurther) {
  AgentUnderTest agent(Options());
  Train(7);
  std::filesystem::remove(Log(7));

  scheduler_.AskForLog(7, 5);

  const Seen seen = scheduler_.WaitFor("an answer", [](const Seen& now) { return now.Held(7) != nullptr && now.Held(7)->log().from() == 5; });
  EXPECT_EQ(seen.Held(7)->log().text(), "");
}

}  // namespace
}  // namespace longreach::agent
