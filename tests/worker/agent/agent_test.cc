// What the agent does when all goes as it should.
#include "worker/agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "proto/base/build_info.h"
#include "proto/catalog/catalog.h"
#include "tests/support/temporary_folder.h"
#include "tests/worker/agent/agent_under_test.h"

namespace longreach::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Seen = FakeScheduler::Seen;

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() : scheduler_(folder_.path() / "scheduler.sock") { scheduler_.Listen(); }

  AgentOptions Options(const std::string& worker = "worker") { return OptionsFor(scheduler_, folder_.path() / worker); }

  // Trains a job from its start to its end without a break; returns its report and its weights' hash.
  std::pair<v1::AttemptReport, std::string> Undisturbed(const v1::Lease& lease) {
    AgentUnderTest agent(Options("undisturbed"));
    scheduler_.Offer(lease);
    const v1::AttemptReport report = scheduler_.WaitForReport(lease.attempt());
    for (const v1::UploadHeader& header : scheduler_.WaitFor("-", [](const Seen&) { return true; }).UploadsOf("weights")) {
      if (header.attempt() == lease.attempt()) return {report, header.sha256()};
    }
    ADD_FAILURE() << "no weights";
    return {};
  }

  testing::TemporaryFolder folder_;
  FakeScheduler scheduler_;
};

TEST_F(AgentTest, SaysWhatItCanDo) {
  AgentUnderTest agent(Options());

  const v1::SynchronizeRequest call = scheduler_.WaitFor("a call", [](const Seen& seen) { return seen.calls > 0; }).last;

  EXPECT_EQ(call.protocol(), kProtocolVersion);
  EXPECT_EQ(call.worker().size(), 36u);
  EXPECT_GT(call.incarnation(), 1'700'000'000'000'000u);  // Microseconds since 1970.
  EXPECT_EQ(call.free_slots(), 1);
  EXPECT_TRUE(call.may_wait());
  EXPECT_EQ(call.abilities().name(), "tester");
  EXPECT_EQ(call.abilities().build(), BuildDescription());
  EXPECT_EQ(call.abilities().threads(), 1);
  EXPECT_EQ(call.abilities().pack_limit(), 16);
  EXPECT_GT(call.abilities().memory_bytes(), 0);
  EXPECT_THAT(call.abilities().experiments(), ElementsAre("algorithmic", "images", "language", "llama", "sequences", "noop"));
  EXPECT_THAT(call.abilities().tasks(), SizeIs(catalog::Tasks().size() + catalog::DataTasks().size()));
  EXPECT_THAT(call.abilities().encodings(), SizeIs(catalog::Encodings().size()));
}

TEST_F(AgentTest, AnswersNoopJobsItselfWhileItTrains) {
  AgentUnderTest agent(Options());
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);
  v1::Lease noop = LeaseOf(8, 0, /*jobs=*/1, /*first=*/0);
  noop.mutable_jobs(0)->set_id("400000000000" + std::string(52, 'f'));
  noop.mutable_jobs(0)->mutable_spec()->set_experiment("noop");

  scheduler_.Offer(noop);

  const v1::AttemptReport report = scheduler_.WaitForReport(8);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
  EXPECT_EQ(report.engine(), "noop");
  ASSERT_THAT(report.results(), SizeIs(1));
  ASSERT_THAT(report.results(0).measurements(), SizeIs(1));
  EXPECT_EQ(report.results(0).measurements(0).metric(), "echo");
  EXPECT_EQ(report.results(0).measurements(0).value(), 0.25);
  const Seen seen = scheduler_.WaitFor("room for more beside the training", [](const Seen& now) {
    return now.Held(7) != nullptr && now.last.finished().empty() && now.last.free_noop_slots() == 256;
  });
  EXPECT_EQ(seen.last.free_slots(), 0);
}

TEST_F(AgentTest, TrainsALeaseAndHandsEverythingIn) {
  AgentUnderTest agent(Options());

  scheduler_.Offer(LeaseOf(7, /*steps=*/5, /*jobs=*/2));

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
  EXPECT_FALSE(report.engine().empty());
  ASSERT_THAT(report.results(), SizeIs(2));
  for (int member = 0; member < 2; ++member) {
    EXPECT_EQ(report.results(member).job(), JobId(1 + member));
    EXPECT_FALSE(report.results(member).diverged());
    std::set<int> accuracy_at;
    for (const v1::Measurement& measurement : report.results(member).measurements()) {
      if (measurement.metric() == "accuracy") accuracy_at.insert(measurement.length());
    }
    EXPECT_THAT(accuracy_at, ElementsAre(0, 4, 5));
  }
  // Files first: a result is not accepted while its weights are nowhere.
  const Seen seen = scheduler_.WaitFor("an idle worker without reports", [](const Seen& now) {
    return now.last.finished().empty() && now.last.held().empty() && now.last.free_slots() == 1 && !now.reports.empty();
  });
  EXPECT_THAT(seen.events, ElementsAre("upload weights 7", "upload log 7", "report 7"));
  const v1::UploadHeader weights = seen.UploadsOf("weights").at(0);
  EXPECT_EQ(weights.step(), 5);
  EXPECT_EQ(weights.worker(), seen.last.worker());
  EXPECT_THAT(weights.jobs(), ElementsAre(JobId(1), JobId(2)));
  EXPECT_FALSE(scheduler_.File(seen.UploadsOf("log").at(0).sha256()).empty());
  // Acknowledged, so nothing is left of it once the disk has done what it was given.
  agent.Leave();
  EXPECT_TRUE(agent.Join().ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "worker" / "outbox"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "worker" / "attempts"));
}

TEST_F(AgentTest, HandsFilesOverByLinksWhereTheSchedulersDiskIsItsOwn) {
  std::filesystem::create_directory(folder_.path() / "inbox");
  scheduler_.HaveInbox(folder_.path() / "inbox");
  AgentUnderTest agent(Options());

  scheduler_.Offer(LeaseOf(7, /*steps=*/5));

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  const Seen seen = scheduler_.WaitFor("its report", [](const Seen& now) { return !now.reports.empty(); });
  ASSERT_THAT(seen.uploads, SizeIs(2));
  for (const v1::UploadHeader& header : seen.uploads) EXPECT_NE(header.linked(), "") << header.kind();
  // Kept under the hash that the scheduler found.
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "worker" / "cache" / seen.UploadsOf("weights").at(0).sha256()));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "inbox"));
}

TEST_F(AgentTest, SendsTheBytesWhereItsLinksAreOfNoUse) {
  std::filesystem::create_directory(folder_.path() / "inbox");
  scheduler_.HaveInbox(folder_.path() / "inbox", /*refuses=*/true);
  AgentUnderTest agent(Options());

  scheduler_.Offer(LeaseOf(7, /*steps=*/5));

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  const Seen seen = scheduler_.WaitFor("its report", [](const Seen& now) { return !now.reports.empty(); });
  ASSERT_THAT(seen.uploads, SizeIs(2));
  for (const v1::UploadHeader& header : seen.uploads) EXPECT_EQ(header.linked(), "") << header.kind();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "inbox"));
}

TEST_F(AgentTest, TellsItsProgressAndHandsInCheckpointsWhileItTrains) {
  AgentOptions options = Options();
  options.checkpoint_every_s = 0.05;
  AgentUnderTest agent(options);

  scheduler_.Offer(LeaseOf(7, kEndless));

  const Seen seen = scheduler_.WaitFor("three checkpoints, progress and a loss", [](const Seen& now) {
    const v1::HeldAttempt* held = now.Held(7);
    return now.UploadsOf("checkpoint").size() >= 3 && held != nullptr && held->step() > 0 &&
           held->steps_per_second() > 0 && held->phase() == "training";
  });
  const std::vector<v1::UploadHeader> checkpoints = seen.UploadsOf("checkpoint");
  EXPECT_GT(checkpoints[0].step(), 0);
  EXPECT_GT(checkpoints[1].step(), checkpoints[0].step());
  EXPECT_THAT(checkpoints[0].jobs(), ElementsAre(JobId(1)));
  EXPECT_EQ(seen.last.free_slots(), 0);
}

TEST_F(AgentTest, SendsALossOnceMoreAtMostAfterItWasAnswered) {
  AgentUnderTest agent(Options());

  scheduler_.Offer(LeaseOf(7, /*steps=*/20'000));  // A point every 20 steps.

  const Seen seen = scheduler_.WaitForStep(7, 1000);
  std::set<int> steps;
  for (const v1::ProgressPoint& point : seen.points) steps.insert(point.step());
  EXPECT_GE(steps.size(), 40u);
  EXPECT_LE(seen.points.size(), 2 * steps.size());  // A call that is ended for a newer one says it in vain.
}

TEST_F(AgentTest, TakesTheNextLeaseWithoutBeingAsked) {
  AgentUnderTest agent(Options());

  for (int attempt = 1; attempt <= 5; ++attempt) scheduler_.Offer(LeaseOf(attempt, 3, 1, attempt));

  for (int attempt = 1; attempt <= 5; ++attempt) {
    EXPECT_EQ(scheduler_.WaitForReport(attempt).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  }
}

TEST_F(AgentTest, StopsAfterACheckpointWhenTold) {
  AgentUnderTest agent(Options());
  scheduler_.Offer(LeaseOf(7, kEndless));
  const int step_before = scheduler_.WaitForStep(7, 1).Held(7)->step();

  scheduler_.Direct(7, v1::Directive::ACTION_STOP);

  EXPECT_EQ(scheduler_.WaitForReport(7).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  const Seen seen = scheduler_.WaitFor("room for another", [](const Seen& now) { return now.last.free_slots() == 1; });
  EXPECT_THAT(seen.events, ElementsAre("upload checkpoint 7", "upload log 7", "report 7"));
  EXPECT_GE(seen.UploadsOf("checkpoint")[0].step(), step_before);
}

TEST_F(AgentTest, ForgetsADroppedAttemptWithoutAReport) {
  AgentUnderTest agent(Options());
  scheduler_.Offer(LeaseOf(7, kEndless));
  scheduler_.WaitForStep(7, 1);

  scheduler_.Direct(7, v1::Directive::ACTION_DROP);

  const Seen seen = scheduler_.WaitFor("room for another", [](const Seen& now) {
    return now.last.held().empty() && now.last.free_slots() == 1;
  });
  EXPECT_THAT(seen.events, IsEmpty());
  scheduler_.Offer(LeaseOf(8, 3));
  EXPECT_EQ(scheduler_.WaitForReport(8).outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED);
  agent.Leave();
  EXPECT_TRUE(agent.Join().ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "worker" / "attempts"));
}

TEST_F(AgentTest, LeavesOutMembersThatNobodyWants) {
  AgentUnderTest agent(Options());
  scheduler_.Direct(7, v1::Directive::ACTION_CONTINUE, {JobId(2)});

  scheduler_.Offer(LeaseOf(7, /*steps=*/200, /*jobs=*/3));

  const v1::AttemptReport report = scheduler_.WaitForReport(7);
  EXPECT_EQ(report.outcome(), v1::AttemptReport::OUTCOME_SUCCEEDED) << report.detail();
  ASSERT_THAT(report.results(), SizeIs(2));
  EXPECT_EQ(report.results(0).job(), JobId(1));
  EXPECT_EQ(report.results(1).job(), JobId(3));
}

TEST_F(AgentTest, GivesBackWithACheckpointFromWhichAnotherWorkerEndsWithTheSameBits) {
  constexpr int kSteps = 800, kSeen = 20;  // So many more updates than it takes an agent to leave.
  const auto [undisturbed, weights] = Undisturbed(LeaseOf(1, kSteps, /*jobs=*/2));
  ASSERT_THAT(undisturbed.results(), SizeIs(2));
  {
    AgentUnderTest leaving(Options("first"));
    scheduler_.Offer(LeaseOf(2, kSteps, /*jobs=*/2));
    scheduler_.WaitForStep(2, kSeen);
    leaving.Leave();
    EXPECT_TRUE(leaving.Join().ok());
  }
  ASSERT_EQ(scheduler_.WaitForReport(2).outcome(), v1::AttemptReport::OUTCOME_GIVEN_BACK);
  const Seen seen = scheduler_.WaitFor("a goodbye", [](const Seen& now) { return now.goodbyes > 0; });
  v1::Lease resumed = LeaseOf(3, kSteps, /*jobs=*/2);
  ASSERT_EQ(seen.UploadsOf("checkpoint").size(), 1u);
  for (const v1::UploadHeader& checkpoint : seen.UploadsOf("checkpoint")) {
    EXPECT_GE(checkpoint.step(), kSeen);
    for (int member = 0; member < 2; ++member) {
      v1::ArtifactRef& artifact = *resumed.mutable_jobs(member)->mutable_checkpoint();
      artifact.set_sha256(checkpoint.sha256());
      artifact.set_bytes(checkpoint.bytes());
      artifact.set_step(checkpoint.step());
      artifact.set_member(member);
    }
  }

  AgentUnderTest second(Options("second"));
  scheduler_.Offer(resumed);

  const v1::AttemptReport report = scheduler_.WaitForReport(3);
  ASSERT_THAT(report.results(), SizeIs(2)) << report.detail();
  for (int member = 0; member < 2; ++member) {
    EXPECT_EQ(report.results(member).SerializeAsString(), undisturbed.results(member).SerializeAsString());
  }
  const std::vector<v1::UploadHeader> uploads =
      scheduler_.WaitFor("-", [](const Seen&) { return true; }).UploadsOf("weights");
  EXPECT_EQ(uploads.back().attempt(), 3u);
  EXPECT_EQ(uploads.back().sha256(), weights);
}

}  // namespace
}  // namespace longreach::agent
