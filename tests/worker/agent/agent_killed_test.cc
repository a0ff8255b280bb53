// What an agent does with checkpoints that it finds at its start: those of a process that was killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "proto/base/sha256.h"
#include "tests/worker/agent/left_checkpoint.h"
#include "tests/worker/agent/one_agent_fixture.h"
#include "worker/agent/left_checkpoint.h"

namespace longreach::agent {
namespace {

using Seen = FakeScheduler::Seen;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AgentKilledTest : public OneAgentTest {
 protected:
  std::filesystem::path Folder() const { return folder_.path() / "worker" / "attempts" / "7"; }
  // Written so long ago.
  void Leave(const std::string& name, const std::string& bytes, std::chrono::seconds ago) {
    LeaveFile(Folder() / name, bytes);
    std::filesystem::last_write_time(Folder() / name, std::filesystem::file_time_type::clock::now() - ago);
  }
  // When the agent holds nothing, and its trainer waits for work.
  Seen EmptyHanded() {
    return scheduler_.WaitFor("empty hands", [](const Seen& seen) { return seen.last.held().empty() && seen.last.free_slots() == 1; });
  }
};

TEST_F(AgentKilledTest, HandsInTheNewestCheckpointThatIsWhole) {
  scheduler_.Offer(LeaseOf(7, kEndless, /*jobs=*/2));  // The lease is there still.
  const std::string jobs = JobId(1) + "\\n" + JobId(2);
  const std::string whole = CheckpointOf(5, jobs, "parameters");
  std::string damaged = CheckpointOf(6, jobs, "parameters");
  damaged.back() = '?';
  Leave("checkpoint-4.safetensors", CheckpointOf(4, jobs, "parameters"), std::chrono::seconds(40));
  Leave("checkpoint-5.safetensors", whole, std::chrono::seconds(30));
  Leave("checkpoint-6.safetensors", damaged, std::chrono::seconds(20));
  Leave("checkpoint-7.safetensors", whole.substr(0, 100), std::chrono::seconds(10));
  Leave("fetched-3.safetensors", CheckpointOf(3, jobs, "parameters"), std::chrono::seconds(0));
  {
    AgentUnderTest agent(Options());

    const Seen seen = EmptyHanded();

    ASSERT_EQ(seen.UploadsOf("checkpoint").size(), 1u);
    const v1::UploadHeader header = seen.UploadsOf("checkpoint")[0];
    EXPECT_EQ(header.attempt(), 7u);
    EXPECT_EQ(header.step(), 5);
    EXPECT_EQ(header.sha256(), Sha256Of(whole));
    EXPECT_THAT(header.jobs(), ElementsAre(JobId(1), JobId(2)));
    // The attempt is lost, which the scheduler sees by itself.
    EXPECT_THAT(seen.reports, IsEmpty());
  }
  EXPECT_FALSE(std::filesystem::exists(Folder()));
}

// The time of a file that was handed in is that of its end, and clocks are set back.
TEST_F(AgentKilledTest, HandsInTheFurthestCheckpointWhateverTheTimesOfTheFilesAre) {
  struct Case {
    std::string older, further;
    int step = 0;
  };
  uint64_t attempt = 7;
  for (const Case& one : {Case{"9", "10", 10}, Case{"10-9", "10-11", 10}, Case{"10", "10-1", 10}, Case{"10-3-2", "10-3-2-s1", 10}, Case{"10-3-s9", "10-3-s20", 10}, Case{"10-t9", "10-t10", 10}, Case{"10-t3", "11", 11}}) {
    const std::filesystem::path folder = folder_.path() / "worker" / "attempts" / std::to_string(attempt);
    const std::string further = CheckpointOf(one.step, JobId(1), one.further);
    LeaveFile(folder / ("checkpoint-" + one.older + ".safetensors"), CheckpointOf(one.step - 1, JobId(1), one.older));
    LeaveFile(folder / ("checkpoint-" + one.further + ".safetensors"), further);
    std::filesystem::last_write_time(folder / ("checkpoint-" + one.further + ".safetensors"), std::filesystem::file_time_type::clock::now() - std::chrono::hours(24));

    const absl::StatusOr<LeftCheckpoint> found = NewestWholeCheckpoint(folder);

    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(Sha256OfFile(found->checkpoint.file).value_or(""), Sha256Of(further)) << one.further << " is further than " << one.older;
    EXPECT_EQ(found->checkpoint.step, one.step);
    ++attempt;
  }
}

TEST_F(AgentKilledTest, HoldsNothingOfWhichNoCheckpointIsWhole) {
  Leave("checkpoint-7.safetensors", CheckpointOf(7, JobId(1), "parameters").substr(0, 100), std::chrono::seconds(0));
  Leave("checkpoint-6.safetensors", "", std::chrono::seconds(1));
  {
    AgentUnderTest agent(Options());

    const Seen seen = EmptyHanded();

    EXPECT_THAT(seen.uploads, IsEmpty());
    EXPECT_THAT(seen.reports, IsEmpty());
  }
  EXPECT_FALSE(std::filesystem::exists(Folder()));
}

TEST_F(AgentKilledTest, KeepsTheCheckpointWhileNoSchedulerAnswers) {
  scheduler_.Offer(LeaseOf(7, kEndless));
  const std::string whole = CheckpointOf(5, JobId(1), "parameters");
  Leave("checkpoint-5.safetensors", whole, std::chrono::seconds(0));
  scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "not now"});
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.WaitFor("a refused checkpoint, by an agent that is ready", [](const Seen& seen) {
      return !seen.refused.empty() && seen.Held(7) != nullptr && !seen.last.abilities().name().empty();
    });
    LeaveAlone(agent);
  }
  scheduler_.RefuseUploads(grpc::Status::OK);
  scheduler_.Listen();

  AgentUnderTest restarted(Options());

  const Seen seen = EmptyHanded();
  ASSERT_EQ(seen.UploadsOf("checkpoint").size(), 1u);
  EXPECT_EQ(seen.UploadsOf("checkpoint")[0].sha256(), Sha256Of(whole));
  EXPECT_THAT(seen.reports, IsEmpty());
}

}  // namespace
}  // namespace longreach::agent
