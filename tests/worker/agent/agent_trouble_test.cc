// What the agent does when the trainer, the scheduler or a file fails it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "proto/base/sha256.h"
#include "tests/worker/agent/one_agent_fixture.h"
#include "worker/agent/agent.h"

namespace longreach::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Seen = FakeScheduler::Seen;

class AgentTroubleTest : public OneAgentTest {};

TEST_F(AgentTroubleTest, ReportsAPackThatTheTrainerRefuses) {
  AgentUnderTest agent(Options());
  v1::Lease lease = LeaseOf(7, 3);
  lease.mutable_jobs(0)->mutable_spec()->mutable_model()->set_heads(3);  // Does not divide the width.

  scheduler_.Offer(lease);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(report.detail(), HasSubstr("heads"));
  ExpectItStillWorks(8);
}

TEST_F(AgentTroubleTest, SaysThatAPackNeedsMoreMemoryThanThereIsAndTakesTheNextInAFreshTrainer) {
  AgentUnderTest agent(Options());
  v1::Lease lease = LeaseOf(7, 3);
  v1::Model& model = *lease.mutable_jobs(0)->mutable_spec()->mutable_model();
  model.set_embedding_dim(1 << 16);
  model.set_mlp_dim(1 << 16);
  model.set_layers(1000);

  scheduler_.Offer(lease);
  scheduler_.Offer(LeaseOf(8, 3, 1, 50));  // Waits, and is taken the moment that there is room.

  EXPECT_THAT(scheduler_.WaitForReport(7).detail(), HasSubstr("out of memory"));
  const v1::AttemptReport next = scheduler_.WaitForReport(8);
  EXPECT_EQ(next.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << next.detail();
}

TEST_F(AgentTroubleTest, KeepsTrainingWhileTheSchedulerIsAwayAndHandsInLater) {
  AgentUnderTest agent(Options());
  scheduler_.Offer(LeaseOf(7, /*steps=*/2000));
  scheduler_.WaitFor("attempt 7 held", [](const Seen& seen) { return seen.WasHeld(7); });

  scheduler_.GoAway();
  const std::filesystem::path handing_in = folder_.path() / "worker" / "attempts" / "7" / "log.tail";
  ASSERT_TRUE(ComesTrue([&] { return std::filesystem::exists(handing_in); })) << "it did not train to the end alone";
  scheduler_.Listen();

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  const Seen seen = scheduler_.WaitFor("-", [](const Seen&) { return true; });
  EXPECT_EQ(seen.UploadsOf("weights").size(), 1u);
}

TEST_F(AgentTroubleTest, DropsAnAttemptWhoseLeaseIsGoneWhenItHandsIn) {
  AgentUnderTest agent(Options());
  scheduler_.RefuseUploads({grpc::StatusCode::ABORTED, "the attempt does not hold its lease"});

  scheduler_.Offer(LeaseOf(7, 3));

  scheduler_.WaitFor("attempt 7 held", [](const Seen& seen) { return seen.WasHeld(7); });
  const Seen seen = scheduler_.WaitFor("empty hands", [](const Seen& now) {
    return now.last.held().empty() && now.last.free_slots() == 1;
  });
  EXPECT_THAT(seen.reports, IsEmpty());
}

TEST_F(AgentTroubleTest, TriesAgainWhenTheSchedulerHasNoSpace) {
  AgentUnderTest agent(Options());
  scheduler_.RefuseUploads({grpc::StatusCode::RESOURCE_EXHAUSTED, "no space left"});
  scheduler_.Offer(LeaseOf(7, 3));
  scheduler_.WaitFor("attempt 7 uploading", [](const Seen& seen) {
    return seen.Held(7) != nullptr && seen.Held(7)->phase() == "uploading";
  });

  scheduler_.RefuseUploads(grpc::Status::OK);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentTroubleTest, StartsAnewWhenNoCheckpointCanBeHad) {
  AgentUnderTest agent(Options());
  v1::Lease lease = LeaseOf(7, 3);
  lease.mutable_jobs(0)->mutable_checkpoint()->set_sha256(Sha256Of("pruned long ago"));
  lease.mutable_jobs(0)->mutable_checkpoint()->set_step(2);
  const std::string garbage = "no safetensors at all";
  scheduler_.AddFile(garbage);
  lease.mutable_jobs(0)->mutable_checkpoint_before()->set_sha256(Sha256Of(garbage));
  lease.mutable_jobs(0)->mutable_checkpoint_before()->set_step(1);

  scheduler_.Offer(lease);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
}

TEST_F(AgentTroubleTest, ReportsInitialWeightsThatAreGone) {
  AgentUnderTest agent(Options());
  v1::Lease lease = LeaseOf(7, 3);
  v1::ResolvedInput& weights = *lease.mutable_jobs(0)->add_inputs();
  weights.set_name("weights");
  weights.mutable_artifact()->set_sha256(Sha256Of("pruned long ago"));

  scheduler_.Offer(lease);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_FAILED);
  EXPECT_THAT(report.detail(), HasSubstr("input weights"));
}

TEST_F(AgentTroubleTest, LeavesWithoutASchedulerAndReportsAtItsNextStart) {
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.AcknowledgeNothing();
    scheduler_.Offer(LeaseOf(7, 3));
    scheduler_.WaitForReport(7);
    scheduler_.GoAway();
    agent.Leave();
    EXPECT_TRUE(agent.Join().ok());
  }
  FakeScheduler later(folder_.path() / "scheduler.sock");
  later.Listen();

  AgentUnderTest restarted(Options());

  EXPECT_EQ(later.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  later.WaitFor("an empty outbox", [](const Seen& seen) { return seen.last.finished().empty(); });
}

TEST_F(AgentTroubleTest, HandsInAtItsNextStartWhatItHadFinished) {
  const std::filesystem::path attempt = folder_.path() / "worker" / "attempts" / "7";
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "no disk just now"});
    scheduler_.Offer(LeaseOf(7, /*steps=*/5, /*jobs=*/2));
    scheduler_.WaitFor("attempt 7 uploading", [](const Seen& seen) { return seen.Held(7) != nullptr && seen.Held(7)->phase() == "uploading"; });
    scheduler_.GoAway();
    agent.Leave();
    EXPECT_TRUE(agent.Join().ok());
    EXPECT_THAT(scheduler_.WaitFor("-", [](const Seen&) { return true; }).reports, IsEmpty());
  }
  std::filesystem::create_directories(attempt.parent_path() / "6");  // Of one that was cut off.
  scheduler_.RefuseUploads(grpc::Status::OK);
  scheduler_.Listen();

  AgentUnderTest restarted(Options());

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  ASSERT_EQ(report.results_size(), 2);
  EXPECT_GT(report.results(1).measurements_size(), 0);
  const Seen seen = scheduler_.WaitFor("empty hands", [](const Seen& now) { return now.last.held().empty() && now.last.finished().empty(); });
  ASSERT_EQ(seen.UploadsOf("weights").size(), 1u);
  EXPECT_EQ(seen.UploadsOf("weights")[0].jobs_size(), 2);
  ExpectItStillWorks(8);
  restarted.Leave();
  EXPECT_TRUE(restarted.Join().ok());
  EXPECT_TRUE(std::filesystem::is_empty(attempt.parent_path()));
}

TEST_F(AgentTroubleTest, HandsInWhatItHadFinishedAlsoWhereNoTrainerStarts) {
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "no disk just now"});
    scheduler_.Offer(LeaseOf(7, /*steps=*/5));
    scheduler_.WaitFor("attempt 7 uploading", [](const Seen& seen) { return seen.Held(7) != nullptr && seen.Held(7)->phase() == "uploading"; });
    scheduler_.GoAway();
    agent.Leave();
    EXPECT_TRUE(agent.Join().ok());
  }
  scheduler_.RefuseUploads(grpc::Status::OK);
  scheduler_.Listen();
  AgentOptions options = Options();
  options.cuda = true;
  options.cuda_plugin = folder_.path() / "no_such_plugin.so";

  AgentUnderTest restarted(options);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  EXPECT_THAT(std::string(restarted.Join().message()), HasSubstr("no_such_plugin.so"));
}

TEST_F(AgentTroubleTest, DropsWhatItHadFinishedWhenItsLeaseIsGone) {
  {
    AgentOptions options = Options();
    options.patience_s = 0.1;
    AgentUnderTest agent(options);
    scheduler_.RefuseUploads({grpc::StatusCode::UNAVAILABLE, "no disk just now"});
    scheduler_.Offer(LeaseOf(7, 3));
    scheduler_.WaitFor("attempt 7 uploading", [](const Seen& seen) { return seen.Held(7) != nullptr && seen.Held(7)->phase() == "uploading"; });
    scheduler_.GoAway();
    agent.Leave();
    EXPECT_TRUE(agent.Join().ok());
  }
  FakeScheduler later(folder_.path() / "scheduler.sock");  // Knows no attempt 7.
  later.RefuseUploads({grpc::StatusCode::ABORTED, "the attempt does not hold its lease"});
  later.Listen();

  AgentUnderTest restarted(Options());

  const Seen seen = later.WaitFor("empty hands", [](const Seen& now) { return now.last.held().empty() && now.last.free_slots() == 1; });
  EXPECT_THAT(seen.reports, IsEmpty());
}

TEST_F(AgentTroubleTest, KeepsAResultWhileTheSchedulersFolderIsAway) {
  AgentUnderTest agent(Options());
  for (const grpc::StatusCode code : {grpc::StatusCode::NOT_FOUND, grpc::StatusCode::INTERNAL, grpc::StatusCode::CANCELLED}) {
    const uint64_t attempt = 10 + static_cast<uint64_t>(code);
    scheduler_.RefuseUploads({code, "out of order"});
    scheduler_.Offer(LeaseOf(attempt, 3, 1, 50));
    scheduler_.WaitFor("uploading", [&](const Seen& seen) { return seen.Held(attempt) != nullptr && seen.Held(attempt)->phase() == "uploading"; });
    const int calls = scheduler_.WaitFor("-", [](const Seen&) { return true; }).calls;
    scheduler_.WaitFor("two more calls", [&](const Seen& seen) { return seen.calls > calls + 1; });

    scheduler_.RefuseUploads(grpc::Status::OK);

    EXPECT_EQ(scheduler_.WaitForReport(attempt).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << static_cast<int>(code);
  }
}

TEST_F(AgentTroubleTest, EndsAStoppedAttemptWithoutACheckpointForWhichThereIsNoSpace) {
  AgentUnderTest agent(Options());
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);
  scheduler_.RefuseUploads({grpc::StatusCode::RESOURCE_EXHAUSTED, "all artifacts have 500 bytes"});

  scheduler_.Direct(7, v1::Directive::ACTION_STOP);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  scheduler_.RefuseUploads(grpc::Status::OK);
  ExpectItStillWorks(8);
  EXPECT_THAT(scheduler_.WaitFor("-", [](const Seen&) { return true; }).UploadsOf("checkpoint"), IsEmpty());
}

TEST_F(AgentTroubleTest, SkipsCheckpointsForWhichThereIsNoSpaceWhileItTrains) {
  AgentOptions options = Options();
  options.checkpoint_every_s = 0.05;
  AgentUnderTest agent(options);
  scheduler_.RefuseUploads({grpc::StatusCode::RESOURCE_EXHAUSTED, "all artifacts have 500 bytes"});
  scheduler_.Offer(LeaseOf(7, kEndless));
  const Seen refused = scheduler_.WaitFor("two refused checkpoints", [](const Seen& seen) {
    return !seen.refused.empty() && seen.refused.back().step() > seen.refused.front().step();
  });

  scheduler_.RefuseUploads(grpc::Status::OK);

  const Seen seen = scheduler_.WaitFor("a checkpoint", [](const Seen& now) { return !now.UploadsOf("checkpoint").empty(); });
  EXPECT_GE(seen.UploadsOf("checkpoint")[0].step(), refused.refused.back().step());
  EXPECT_THAT(seen.reports, IsEmpty());
}

TEST_F(AgentTroubleTest, ReportsAFailureWithoutItsLogWhereThereIsNoSpaceForIt) {
  AgentUnderTest agent(Options());
  scheduler_.RefuseUploads({grpc::StatusCode::RESOURCE_EXHAUSTED, "no space left"});
  v1::Lease lease = LeaseOf(7, 3);
  lease.mutable_jobs(0)->mutable_spec()->mutable_model()->set_heads(3);  // Does not divide the width.

  scheduler_.Offer(lease);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_FAILED);
}

TEST_F(AgentTroubleTest, ReportsAFailureWhoseTextIsNotUtf8) {
  AgentUnderTest agent(Options());
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);
  kill(agent.TrainerPid(), SIGSTOP);
  std::ofstream(folder_.path() / "worker" / "attempts" / "7" / "log", std::ios::app) << "\nno such file: caf\xe9\n";

  kill(agent.TrainerPid(), SIGKILL);

  EXPECT_THAT(scheduler_.WaitForReport(7).detail(), HasSubstr("no such file: caf\xef\xbf\xbd"));
  ExpectItStillWorks(8);
}

TEST_F(AgentTroubleTest, GivesBackALeaseThatItCannotBegin) {
  AgentOptions options = Options();
  options.lease_patience_s = 0;
  AgentUnderTest agent(options);
  scheduler_.WaitFor("a free slot", [](const Seen& seen) { return seen.last.free_slots() == 1; });
  std::ofstream(folder_.path() / "worker" / "attempts" / "7") << "in the way of a folder";

  scheduler_.Offer(LeaseOf(7, 3));

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  EXPECT_THAT(report.detail(), HasSubstr("not begun: cannot make the folder"));
  scheduler_.WaitFor("no slot, until the disk may be well again", [](const Seen& seen) { return seen.last.finished().empty() && seen.last.free_slots() == 0; });
}

TEST_F(AgentTroubleTest, GivesBackALeaseWhoseFilesFindNoRoomHere) {
  AgentUnderTest agent(Options());
  const std::string checkpoint(3 << 20, 'c');
  scheduler_.AddFile(checkpoint);
  v1::Lease lease = LeaseOf(7, 3);
  lease.mutable_jobs(0)->mutable_checkpoint()->set_sha256(Sha256Of(checkpoint));
  lease.mutable_jobs(0)->mutable_checkpoint()->set_bytes(static_cast<double>(checkpoint.size()));
  lease.mutable_jobs(0)->mutable_checkpoint()->set_step(2);
  scheduler_.WaitFor("a free slot", [](const Seen& seen) { return seen.last.free_slots() == 1; });
  const std::filesystem::path folder = folder_.path() / "worker" / "attempts" / "7";
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink("/dev/full", folder / ("fetched-" + Sha256Of(checkpoint) + ".safetensors"));

  scheduler_.Offer(lease);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK) << "from its checkpoint it goes on elsewhere";
  EXPECT_THAT(report.detail(), HasSubstr("No space left on device"));
  scheduler_.WaitFor("no slot, until there may be room", [](const Seen& seen) { return seen.last.finished().empty() && seen.last.free_slots() == 0; });
}

TEST_F(AgentTroubleTest, LetsGoOfWhatItKeptForLaterWhenTheFilesOfALeaseFindNoRoom) {
  AgentUnderTest agent(Options());
  const std::string checkpoint = "no safetensors at all";  // It begins anew without.
  scheduler_.AddFile(checkpoint);
  v1::Lease lease = LeaseOf(7, 3);
  lease.mutable_jobs(0)->mutable_checkpoint()->set_sha256(Sha256Of(checkpoint));
  lease.mutable_jobs(0)->mutable_checkpoint()->set_step(2);
  scheduler_.WaitFor("a free slot", [](const Seen& seen) { return seen.last.free_slots() == 1; });
  // A disk that is full as long as a file is in the cache: the attempt's file is that file, and that is full.
  const std::filesystem::path folder = folder_.path() / "worker" / "attempts" / "7", kept = folder_.path() / "worker" / "cache" / Sha256Of("kept");
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink("/dev/full", kept);
  std::filesystem::create_symlink(kept, folder / ("fetched-" + Sha256Of(checkpoint) + ".safetensors"));

  scheduler_.Offer(lease);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
}

// More no-op jobs than reports fit into a call.
TEST_F(AgentTroubleTest, HoldsTheAttemptsWhoseReportsAreStillToCome) {
  AgentOptions options = Options();
  options.patience_s = 0.1;  // For a scheduler that acknowledges nothing, to the end.
  AgentUnderTest agent(options);
  scheduler_.AcknowledgeNothing();
  scheduler_.GiveMoreThanIsAskedFor();
  constexpr int kJobs = 700;
  for (int job = 0; job < kJobs; ++job) {
    v1::Lease lease = LeaseOf(100 + static_cast<uint64_t>(job), 0);
    lease.mutable_jobs(0)->mutable_spec()->set_experiment("noop");
    scheduler_.Offer(lease);
  }

  const Seen seen = scheduler_.WaitFor("all attempts in one call", [](const Seen& now) { return now.last.finished_size() + now.last.held_size() == kJobs; });

  EXPECT_EQ(seen.last.finished_size(), 500);
  EXPECT_EQ(seen.last.held(0).phase(), "uploading");
}

TEST_F(AgentTroubleTest, TellsTheCurvesBeforeTheReportWhenTheyAreLong) {
  AgentUnderTest agent(Options());
  constexpr int kSteps = 1000, kCurves = 12;
  v1::Lease lease = LeaseOf(7, kSteps, kCurves);
  for (v1::LeasedJob& job : *lease.mutable_jobs()) job.mutable_spec()->mutable_model()->set_embedding_dim(16);  // The fast engine knows it.
  scheduler_.Offer(lease);

  const v1::AttemptReport report = scheduler_.WaitForReport(7);

  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
  EXPECT_LE(report.points_size(), 5000);
  std::set<std::pair<std::string, int>> points;
  for (const v1::ProgressPoint& point : report.points()) points.emplace(point.job(), point.step());
  for (const v1::ProgressPoint& point : scheduler_.WaitFor("-", [](const Seen&) { return true; }).points) points.emplace(point.job(), point.step());
  EXPECT_EQ(points.size(), static_cast<size_t>(kSteps * kCurves));
}

// As a proxy does that sends a call twice: the second is overtaken by the first, and its answer is what the worker hears.
TEST_F(AgentTroubleTest, GoesOnWhenACallWasOvertakenByItself) {
  scheduler_.RefuseCalls({grpc::StatusCode::ABORTED, "a newer call was seen"}, /*before=*/1, /*times=*/1);
  AgentUnderTest agent(Options());
  scheduler_.WaitFor("a call in vain", [](const Seen& seen) { return seen.turned_away > 0; });
  scheduler_.Offer(LeaseOf(7, 3));

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentTroubleTest, GoesOnEachTimeThatACallWasOvertakenByItself) {
  AgentUnderTest agent(Options());
  for (int i = 0; i < 3; ++i) {
    scheduler_.RefuseCalls({grpc::StatusCode::ABORTED, "a newer call was seen"}, 0, /*times=*/1);
    scheduler_.WaitFor("a call in vain", [i](const Seen& seen) { return seen.turned_away > 2 * i; });
    scheduler_.RefuseCalls({grpc::StatusCode::UNAVAILABLE, "away"}, 0, /*times=*/1);
    scheduler_.WaitFor("another one", [i](const Seen& seen) { return seen.turned_away > 2 * i + 1; });
  }
  scheduler_.Offer(LeaseOf(7, 3));

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
}

TEST_F(AgentTroubleTest, EndsWhenAnotherIncarnationTookOver) {
  scheduler_.RefuseCalls({grpc::StatusCode::ABORTED, "a newer incarnation of this worker took over"});

  AgentUnderTest agent(Options());

  EXPECT_EQ(agent.Join().code(), absl::StatusCode::kAborted);
}

TEST_F(AgentTroubleTest, EndsWhenTheSchedulerSpeaksAnotherProtocol) {
  scheduler_.RefuseCalls({grpc::StatusCode::FAILED_PRECONDITION, "protocol version 2 is spoken here"});

  AgentUnderTest agent(Options());

  const absl::Status status = agent.Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("protocol version 2"));
}

TEST_F(AgentTroubleTest, RefusesAStateFolderThatAnotherWorkerHolds) {
  AgentUnderTest first(Options());

  const AgentUnderTest second(Options());

  EXPECT_EQ(second.opened().code(), absl::StatusCode::kFailedPrecondition) << second.opened();
}

TEST_F(AgentTroubleTest, RefusesToStartWithoutTheGpuItWasAskedFor) {
  AgentOptions options = Options();
  options.cuda = true;
  options.cuda_plugin = folder_.path() / "no_such_plugin.so";

  AgentUnderTest agent(options);

  const absl::Status status = agent.Join();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("no_such_plugin.so"));
}

TEST_F(AgentTroubleTest, ADeviceThatDoesNotOpenLeavesNoFolderThatWasNotThere) {
  AgentOptions options = Options();
  options.cuda = true;
  options.cuda_plugin = folder_.path() / "no_such_plugin.so";
  { EXPECT_FALSE(AgentUnderTest(options).Join().ok()); }
  EXPECT_FALSE(std::filesystem::exists(options.state));

  std::filesystem::create_directory(options.state);
  { EXPECT_FALSE(AgentUnderTest(options).Join().ok()); }

  EXPECT_TRUE(std::filesystem::exists(options.state / "id")) << "it was there before, and is whoever made it's";
}

}  // namespace
}  // namespace longreach::agent
