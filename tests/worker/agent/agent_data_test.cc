// That the agent begins a job only when its data sets were found whole, and what becomes of it otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "proto/base/synchronized.h"
#include "tests/worker/agent/one_agent_fixture.h"
#include "worker/agent/agent.h"

namespace longreach::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Seen = FakeScheduler::Seen;

class AgentDataTest : public OneAgentTest {
 protected:
  // The trainer reads none of it: what is tested comes before.
  static v1::Lease LeaseWithData(uint64_t attempt) {
    v1::Lease lease = LeaseOf(attempt, 3);
    lease.mutable_data()->set_name("words");
    return lease;
  }
};

TEST_F(AgentDataTest, AJobBeginsOnceAllDataSetsOfItsLeaseAreWhole) {
  Synchronized<std::vector<std::string>> verified;
  AgentOptions options = Options();
  options.verify_data = [&](const std::string& data_set, const std::stop_token&, std::atomic<int64_t>&) {
    verified.Lock()->push_back(data_set);
    return "stamp of " + data_set;
  };
  AgentUnderTest agent(options);
  v1::Lease lease = LeaseWithData(7);
  lease.mutable_model()->set_name("llama");
  lease.mutable_longbench()->set_name("questions");
  lease.add_mixture()->set_name("web");
  lease.add_mixture()->set_name("books");

  scheduler_.Offer(lease);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  EXPECT_THAT(*verified.Lock(), ElementsAre("words", "llama", "questions", "web", "books"));
  ExpectItStillWorks(8);
  EXPECT_EQ(verified.Lock()->size(), 5u) << "a job without data sets waits for none";
}

TEST_F(AgentDataTest, EachCallSaysAnewWhichDataSetsAreThereAndWhichAreDamaged) {
  std::atomic<bool> damaged = false;
  AgentOptions options = Options();
  options.add_data_sets = [&](v1::Abilities& abilities) {
    if (damaged) abilities.add_damaged_data_sets()->set_name("words");
    else abilities.add_data_sets()->set_name("words");
  };
  AgentUnderTest agent(options);
  scheduler_.WaitFor("a data set", [](const Seen& seen) { return seen.last.abilities().data_sets_size() == 1; });

  damaged = true;

  const Seen later = scheduler_.WaitFor("a damaged one", [](const Seen& seen) { return seen.last.abilities().damaged_data_sets_size() == 1; });
  EXPECT_EQ(later.last.abilities().damaged_data_sets(0).name(), "words");
  EXPECT_EQ(later.last.abilities().data_sets_size(), 0);
}

TEST_F(AgentDataTest, TheAttemptThatFindsDamageFailsAndWhatComesAfterItIsGivenBack) {
  std::atomic<int> calls = 0;
  AgentOptions options = Options();
  options.verify_data = [&](const std::string&, const std::stop_token&, std::atomic<int64_t>&) -> absl::StatusOr<std::string> {
    if (calls++ == 0) return absl::DataLossError("words/corpus.bin: its bytes have changed");
    return absl::UnavailableError("words/corpus.bin: its bytes have changed");
  };
  AgentUnderTest agent(options);

  scheduler_.Offer(LeaseWithData(7));
  const v1::AttemptReport finder = scheduler_.WaitForReport(7);
  scheduler_.Offer(LeaseWithData(8));
  const v1::AttemptReport later = scheduler_.WaitForReport(8);

  EXPECT_EQ(finder.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_EQ(finder.detail(), "words/corpus.bin: its bytes have changed");
  EXPECT_EQ(later.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  EXPECT_EQ(later.detail(), "not begun: words/corpus.bin: its bytes have changed");
  ExpectItStillWorks(9);
}

TEST_F(AgentDataTest, WhatATrainerReadThatGotNoBytesOfAFileIsDoubted) {
  Synchronized<std::vector<std::string>> doubted;
  AgentOptions options = Options();
  options.doubt_data = [&](const std::string& data_set) { doubted.Lock()->push_back(data_set); };
  AgentUnderTest agent(options);
  const auto end_by = [&](uint64_t attempt, int signal) {
    v1::Lease lease = LeaseOf(attempt, kEndless);
    lease.mutable_data()->set_name("words");
    scheduler_.Offer(lease);
    scheduler_.WaitForStep(attempt, 1);
    kill(agent.TrainerPid(), signal);
    return scheduler_.WaitForReport(attempt).detail();
  };

  EXPECT_THAT(end_by(7, SIGKILL), HasSubstr("SIGKILL"));
  EXPECT_THAT(*doubted.Lock(), IsEmpty()) << "that has nothing to do with files";
  EXPECT_THAT(end_by(8, SIGBUS), HasSubstr("SIGBUS"));

  EXPECT_THAT(*doubted.Lock(), ElementsAre("words"));
  ExpectItStillWorks(9);
}

TEST_F(AgentDataTest, CallsGoOnWhileADataSetIsReadAndAStopEndsTheReading) {
  std::mutex mutex;
  std::condition_variable_any changed;
  AgentOptions options = Options();
  options.verify_data = [&](const std::string&, const std::stop_token& stop, std::atomic<int64_t>&) -> absl::StatusOr<std::string> {
    std::unique_lock lock(mutex);
    changed.wait(lock, stop, [] { return false; });
    return absl::CancelledError("called off");
  };
  AgentUnderTest agent(options);
  scheduler_.Offer(LeaseWithData(7));
  const Seen held = scheduler_.WaitFor("attempt 7 held", [](const Seen& seen) { return seen.Held(7) != nullptr; });
  const Seen later = scheduler_.WaitFor("further calls", [&](const Seen& seen) { return seen.calls > held.calls + 2 && seen.Held(7) != nullptr; });
  EXPECT_EQ(later.Held(7)->phase(), "starting");
  EXPECT_THAT(later.reports, IsEmpty());

  scheduler_.Direct(7, v1::Directive::ACTION_STOP);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  ExpectItStillWorks(8);
}

TEST_F(AgentDataTest, ADiskThatGivesNothingIsNotWaitedForWithoutEnd) {
  std::promise<void> repaired;
  const std::shared_future<void> disk = repaired.get_future().share();
  AgentOptions options = Options();
  options.hang_floor_s = 2;
  options.verify_data = [disk](const std::string&, const std::stop_token&, std::atomic<int64_t>&) {
    disk.wait();
    return std::string("stamp");
  };
  AgentUnderTest agent(options);

  scheduler_.Offer(LeaseWithData(7));

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(report.detail(), ::testing::StartsWith("hung: nothing was read for "));
  ExpectItStillWorks(8);  // It reads none.
  repaired.set_value();
  scheduler_.Offer(LeaseWithData(9));
  EXPECT_EQ(scheduler_.WaitForReport(9).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

}  // namespace
}  // namespace longreach::agent
