// What an agent keeps on its own disk, and what it does where that disk stands still.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "proto/base/sha256.h"
#include "tests/worker/agent/one_agent_fixture.h"

namespace longreach::agent {
namespace {

using Seen = FakeScheduler::Seen;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AgentKeepsTest : public OneAgentTest {
 protected:
  std::filesystem::path Folder(uint64_t attempt) const { return folder_.path() / "worker" / "attempts" / std::to_string(attempt); }
};

TEST_F(AgentKeepsTest, HandsInAtItsNextStartTheCheckpointOfWhatItStoppedWithoutAScheduler) {
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.Offer(LeaseOf(7, kEndless, /*jobs=*/2));
    scheduler_.WaitForStep(7, 1);
    LeaveAlone(agent);
    EXPECT_THAT(scheduler_.WaitFor("-", [](const Seen&) { return true; }).reports, IsEmpty());
  }
  scheduler_.Listen();

  AgentUnderTest restarted(Options());

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  const Seen seen = scheduler_.WaitFor("empty hands", [](const Seen& now) { return now.last.held().empty() && now.last.finished().empty(); });
  ASSERT_FALSE(seen.UploadsOf("checkpoint").empty());
  const v1::UploadHeader last = seen.UploadsOf("checkpoint").back();
  EXPECT_GE(last.step(), 1);
  EXPECT_EQ(last.jobs_size(), 2);
  // Another worker goes on from it.
  v1::Lease next = LeaseOf(8, last.step() + 2);
  next.mutable_jobs(0)->mutable_checkpoint()->set_sha256(last.sha256());
  next.mutable_jobs(0)->mutable_checkpoint()->set_step(last.step());
  scheduler_.Offer(next);
  EXPECT_EQ(scheduler_.WaitForReport(8).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

// A named pipe in the place of the file that is written: opening it waits for a reader.
TEST_F(AgentKeepsTest, CallsTheSchedulerWhileItsDiskStandsStill) {
  AgentUnderTest agent(Options());
  scheduler_.WaitFor("a free slot", [](const Seen& seen) { return seen.last.free_slots() == 1; });
  std::filesystem::create_directories(Folder(7));
  const std::filesystem::path pipe = Folder(7) / "finished.pb.new";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);

  scheduler_.Offer(LeaseOf(7, 3));

  const int calls = scheduler_.WaitFor("attempt 7 ended", [](const Seen& seen) { return seen.Held(7) != nullptr && seen.Held(7)->phase() == "uploading"; }).calls;
  scheduler_.Direct(99, v1::Directive::ACTION_STOP);  // News, which ends a call that is held open.
  const Seen seen = scheduler_.WaitFor("another call", [calls](const Seen& now) { return now.calls > calls + 1; });
  EXPECT_THAT(seen.reports, IsEmpty());
  EXPECT_THAT(seen.UploadsOf("weights"), IsEmpty());
  const int reader = open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  close(reader);
}

// A full disk in the place of the files that are written. There is room again before the worker leaves, and no scheduler.
TEST_F(AgentKeepsTest, KeepsWhenItLeavesAResultThatHadFoundNoRoom) {
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.WaitFor("a free slot", [](const Seen& seen) { return seen.last.free_slots() == 1; });
    std::filesystem::create_directories(Folder(7));
    std::filesystem::create_symlink("/dev/full", Folder(7) / "finished.pb.new");
    scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "no disk just now"});
    scheduler_.Offer(LeaseOf(7, 3));
    scheduler_.WaitFor("weights in vain", [](const Seen& seen) { return std::ranges::any_of(seen.refused, [](const auto& header) { return header.kind() == "weights"; }); });
    ASSERT_FALSE(std::filesystem::exists(Folder(7) / "finished.pb"));
    std::filesystem::remove(Folder(7) / "finished.pb.new");
    LeaveAlone(agent);
  }
  scheduler_.RefuseUploads(grpc::Status::OK);
  scheduler_.Listen();

  AgentUnderTest restarted(Options());

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentKeepsTest, SaysWhenItLeavesWhatItWaitsForForHowLongAndWhatIsKept) {
  AgentOptions options = Options();
  options.patience_s = 0.1;
  AgentUnderTest agent(options);
  scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "no disk just now"});
  scheduler_.Offer(LeaseOf(7, 3));
  scheduler_.WaitFor("weights in vain", [](const Seen& seen) { return std::ranges::any_of(seen.refused, [](const auto& header) { return header.kind() == "weights"; }); });
  ::testing::internal::CaptureStderr();

  agent.Leave();

  EXPECT_TRUE(agent.Join().ok());
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string folder = (folder_.path() / "worker").string();
  EXPECT_THAT(log, HasSubstr("has not taken what came of 1 attempt(s) (1 kept in " + folder + " for this worker's next start): waiting for it, at most 1.5 s, and 0.1 s without"));
  EXPECT_THAT(log, HasSubstr("; 1 report(s) wait in " + folder + " for this worker's next start"));
}

TEST_F(AgentKeepsTest, KeepsWhenItLeavesAReportThatHadFoundNoRoom) {
  const std::filesystem::path report = folder_.path() / "worker" / "outbox" / "7.pb";
  const std::filesystem::path full = folder_.path() / "worker" / "outbox" / "7.pb.new";
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.WaitFor("a free slot", [](const Seen& seen) { return seen.last.free_slots() == 1; });
    std::filesystem::create_directories(Folder(7));
    std::filesystem::create_symlink("/dev/full", Folder(7) / "finished.pb.new");
    std::filesystem::create_symlink("/dev/full", full);
    scheduler_.AcknowledgeNothing();
    scheduler_.Offer(LeaseOf(7, 3));
    scheduler_.WaitForReport(7);
    ASSERT_TRUE(ComesTrue([this] { return !std::filesystem::exists(Folder(7)); })) << "what is kept of it goes for its report";
    EXPECT_FALSE(std::filesystem::exists(report));
    std::filesystem::remove(full);
    LeaveAlone(agent);
  }

  EXPECT_TRUE(std::filesystem::exists(report)) << "for its next start";
}

TEST_F(AgentKeepsTest, WorksInAFolderWhoseNameIsNotUtf8) {
  AgentOptions options = Options();
  options.state = folder_.path() / "caf\xe9";
  AgentUnderTest agent(options);

  ExpectItStillWorks(7);
}

TEST_F(AgentKeepsTest, HandsInAResultWhoseLogCannotBeRead) {
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "not now"});
    scheduler_.Offer(LeaseOf(7, 3));
    scheduler_.WaitFor("attempt 7 ended", [](const Seen& seen) { return seen.Held(7) != nullptr && seen.Held(7)->phase() == "uploading"; });
    LeaveAlone(agent);
  }
  std::filesystem::remove(Folder(7) / "log");
  std::filesystem::create_directory(Folder(7) / "log");
  scheduler_.RefuseUploads(grpc::Status::OK);
  scheduler_.Listen();

  AgentUnderTest restarted(Options());

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

// From there a job is gone on from elsewhere. Begun anew here, its first checkpoint would push that one out of the store.
TEST_F(AgentKeepsTest, GivesBackALeaseWhoseCheckpointDoesNotArrive) {
  AgentUnderTest agent(Options());
  const std::string checkpoint = "the bytes of a checkpoint";
  scheduler_.AddFile(checkpoint);
  v1::Lease lease = LeaseOf(7, 3);
  lease.mutable_jobs(0)->mutable_checkpoint()->set_sha256(Sha256Of(checkpoint));
  lease.mutable_jobs(0)->mutable_checkpoint()->set_step(2);
  scheduler_.WaitFor("a free slot", [](const Seen& seen) { return seen.last.free_slots() == 1; });
  scheduler_.RefuseDownloads({grpc::StatusCode::UNIMPLEMENTED, "404, says a proxy"});

  scheduler_.Offer(lease);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  EXPECT_THAT(report.detail(), HasSubstr("404, says a proxy"));
}

TEST_F(AgentKeepsTest, SaysWhereItBeganBeforeItReportsAnAttemptWhoseCheckpointWasOfNoUse) {
  AgentUnderTest agent(Options());
  const std::string checkpoint = "bytes that are no checkpoint";
  scheduler_.AddFile(checkpoint);
  v1::Lease lease = LeaseOf(7, 3);
  lease.mutable_jobs(0)->mutable_checkpoint()->set_sha256(Sha256Of(checkpoint));
  lease.mutable_jobs(0)->mutable_checkpoint()->set_bytes(static_cast<double>(checkpoint.size()));
  lease.mutable_jobs(0)->mutable_checkpoint()->set_step(2);

  scheduler_.Offer(lease);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  const Seen seen = scheduler_.WaitFor("-", [](const Seen&) { return true; });
  EXPECT_TRUE(std::ranges::any_of(seen.told, [](const v1::HeldAttempt& held) { return held.phase() == "training" && held.step() == 0; }));
}

TEST_F(AgentKeepsTest, GivesBackALeaseWhoseWeightsDoNotArrive) {
  AgentUnderTest agent(Options());
  v1::Lease lease = LeaseOf(7, 3);
  v1::ResolvedInput& weights = *lease.mutable_jobs(0)->add_inputs();
  weights.set_name("weights");
  weights.mutable_artifact()->set_sha256(Sha256Of("weights"));
  scheduler_.RefuseDownloads({grpc::StatusCode::UNIMPLEMENTED, "404, says a proxy"});

  scheduler_.Offer(lease);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
}

}  // namespace
}  // namespace longreach::agent
