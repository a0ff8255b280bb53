// Those who follow a running attempt's log, with a worker of the test's own.
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "proto/access/tokens.h"
#include "proto/base/sha256.h"
#include "proto/types/wire_limits.h"
#include "scheduler/service/log_board.h"
#include "tests/scheduler/service/server_fixture.h"

namespace longreach::service {
namespace {

using ::testing::HasSubstr;

class ServerFollowTest : public ServerTest {
 protected:
  // What a worker sends that holds these leases, of the first one's log.
  v1::SynchronizeRequest Holding(const v1::SynchronizeResponse& leased) {
    v1::SynchronizeRequest call = WorkerCall();
    call.set_may_wait(true);
    for (const v1::Lease& lease : leased.leases()) {
      v1::HeldAttempt& held = *call.add_held();
      held.set_attempt(lease.attempt());
      held.set_phase("training");
    }
    return call;
  }
  static void Say(v1::SynchronizeRequest& call, uint64_t from, const std::string& text) {
    v1::AttemptLog& log = *call.mutable_held(0)->mutable_log();
    log.set_from(from);
    log.set_text(text);
  }
  static std::optional<uint64_t> Asked(const v1::SynchronizeResponse& answer) {
    for (const v1::Directive& directive : answer.directives()) {
      if (directive.has_log_from()) return directive.log_from();
    }
    return std::nullopt;
  }
  // Calls until somebody follows the log: the call that is held open then is answered.
  void WaitForQuestion(const v1::SynchronizeResponse& leased, const std::string& token = "") {
    while (Asked(SynchronizeAs(token, Holding(leased))) != 0) std::this_thread::yield();
  }
  v1::SynchronizeResponse SynchronizeAs(const std::string& token, const v1::SynchronizeRequest& request) {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::SynchronizeResponse response;
    const grpc::Status status = worker_->Synchronize(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  static v1::GetJobRequest JobOf(const v1::SynchronizeResponse& leased) {
    v1::GetJobRequest job;
    job.set_job(leased.leases(0).jobs(0).id());
    return job;
  }
  grpc::Status StatusOfFollowing(const std::string& job) {
    v1::GetJobRequest request;
    request.set_job(job);
    grpc::ClientContext context;
    const auto stream = client_->FollowLog(&context, request);
    v1::LogPart part;
    EXPECT_FALSE(stream->Read(&part));
    return stream->Finish();
  }
  void HandInLog(const v1::Lease& lease, const std::string& text) {
    v1::UploadHeader header;
    header.set_attempt(lease.attempt());
    header.set_worker("w");
    header.set_kind("log");
    header.set_sha256(Sha256Of(text));
    header.set_bytes(static_cast<double>(text.size()));
    for (const v1::LeasedJob& job : lease.jobs()) header.add_jobs(job.id());
    const grpc::Status status = Upload(header, text);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void End(const v1::Lease& lease) {
    v1::SynchronizeRequest call = WorkerCall();
    *call.add_finished() = SuccessOf(lease);
    EXPECT_EQ(Synchronize(call).acknowledged_size(), 1);
  }
};

TEST_F(ServerFollowTest, WhatIsPrintedComesPartByPartToTheEndOfTheAttempt) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  ASSERT_GT(leased.leases_size(), 0);
  grpc::ClientContext context;
  const auto stream = client_->FollowLog(&context, JobOf(leased));
  WaitForQuestion(leased);
  v1::LogPart part;

  v1::SynchronizeRequest call = Holding(leased);
  Say(call, 0, "one\n");
  EXPECT_EQ(Asked(Synchronize(call)), 4u);
  ASSERT_TRUE(stream->Read(&part));
  EXPECT_EQ(part.text(), "one\n");
  EXPECT_EQ(part.attempt(), leased.leases(0).attempt());
  EXPECT_EQ(part.skipped_bytes(), 0);
  EXPECT_FALSE(part.ended());

  call = Holding(leased);
  Say(call, 4, "two\n");
  EXPECT_EQ(Asked(Synchronize(call)), 8u);
  ASSERT_TRUE(stream->Read(&part));
  EXPECT_EQ(part.text(), "two\n");

  // What was printed since the last call is in the log that the attempt leaves.
  HandInLog(leased.leases(0), "one\ntwo\nfinished\n");
  End(leased.leases(0));
  ASSERT_TRUE(stream->Read(&part));
  EXPECT_EQ(part.text(), "finished\n");
  EXPECT_TRUE(part.ended());
  EXPECT_FALSE(stream->Read(&part));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ServerFollowTest, OfALogThatWasLongBeforeTheLastPartIsTheRest) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  ASSERT_GT(leased.leases_size(), 0);
  std::string log;
  for (int line = 0; log.size() < 3 * kLogBytes; ++line) log += "line " + std::to_string(line) + "\n";
  const size_t from = log.size() - kMaxLogPartBytes;
  grpc::ClientContext context;
  const auto stream = client_->FollowLog(&context, JobOf(leased));
  WaitForQuestion(leased);
  v1::LogPart part;
  v1::SynchronizeRequest call = Holding(leased);
  Say(call, from, log.substr(from));
  EXPECT_EQ(Asked(Synchronize(call)), log.size());
  ASSERT_TRUE(stream->Read(&part));
  EXPECT_EQ(part.text(), log.substr(from));
  EXPECT_EQ(part.skipped_bytes(), static_cast<double>(from));

  // Its end alone is handed in, of which the first part was the last quarter.
  log += "finished\n";
  HandInLog(leased.leases(0), log.substr(log.size() - kLogBytes));
  End(leased.leases(0));

  ASSERT_TRUE(stream->Read(&part));
  EXPECT_EQ(part.text(), "finished\n");
  EXPECT_TRUE(part.ended());
}

TEST_F(ServerFollowTest, AnAttemptThatEndsWithoutALogEndsWithNoText) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  grpc::ClientContext context;
  const auto stream = client_->FollowLog(&context, JobOf(leased));
  WaitForQuestion(leased);

  End(leased.leases(0));

  v1::LogPart part;
  ASSERT_TRUE(stream->Read(&part));
  EXPECT_EQ(part.text(), "");
  EXPECT_TRUE(part.ended());
  EXPECT_FALSE(stream->Read(&part));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ServerFollowTest, WhoLeavesIsForgottenAndTheWorkerIsToldSo) {
  ServerOptions options = Options();
  options.engine.hold = std::chrono::milliseconds(50);
  Start(options);
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  grpc::ClientContext context;
  const auto stream = client_->FollowLog(&context, JobOf(leased));
  WaitForQuestion(leased);

  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);

  v1::SynchronizeRequest call = Holding(leased);
  Say(call, 0, "");
  // Until the scheduler has heard that nobody is there.
  while (Asked(Synchronize(call)).has_value()) {
    call = Holding(leased);
    Say(call, 0, "");
  }
}

TEST_F(ServerFollowTest, AJobThatDoesNotRunIsRefusedWithWhatItIsAndWhatToDo) {
  Start(Options());
  v1::ListJobsRequest list;
  list.set_sweep(Submit(Sweep()).sweep().id());
  const v1::ListJobsResponse jobs = Call<v1::ListJobsResponse>(&v1::Longreach::Stub::ListJobs, list);
  ASSERT_GT(jobs.jobs_size(), 0);

  const grpc::Status queued = StatusOfFollowing(jobs.jobs(0).id());
  EXPECT_EQ(queued.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(queued.error_message(), HasSubstr("its state is 'queued'"));
  EXPECT_THAT(queued.error_message(), HasSubstr("'longreach explain " + jobs.jobs(0).id().substr(0, 8)));
  EXPECT_EQ(StatusOfFollowing("0000").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(StatusOfFollowing("no id").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerFollowTest, MoreThanTheLimitAreRefused) {
  ServerOptions options = Options();
  options.engine.logs.followers = 1;
  Start(options);
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  grpc::ClientContext context;
  const auto stream = client_->FollowLog(&context, JobOf(leased));
  WaitForQuestion(leased);

  EXPECT_EQ(StatusOfFollowing(JobOf(leased).job()).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServerFollowTest, AtTheSchedulersEndItEnds) {
  Start(Options());
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  grpc::ClientContext context;
  const auto stream = client_->FollowLog(&context, JobOf(leased));
  WaitForQuestion(leased);

  server_.reset();

  v1::LogPart part;
  EXPECT_FALSE(stream->Read(&part));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServerFollowTest, ItEndsWithItsToken) {
  ServerOptions options = Options();
  options.between_looks = std::chrono::milliseconds(10);
  options.tokens = folder_ / "tokens";
  const auto write = [&options](const std::string& text) { std::ofstream(options.tokens) << text; };
  const std::string others = access::TokenLine(v1::ROLE_CLIENT, "ann", "a") + "\n" + access::TokenLine(v1::ROLE_WORKER, "gpu", "w") + "\n";
  write(others + access::TokenLine(v1::ROLE_READER, "bob", "b") + "\n");
  Start(options);
  v1::SubmitSweepRequest submit;
  *submit.mutable_spec() = Sweep();
  v1::SubmitSweepResponse submitted;
  grpc::ClientContext submits;
  submits.AddMetadata("authorization", "Bearer a");
  const grpc::Status status = client_->SubmitSweep(&submits, submit, &submitted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::SynchronizeResponse leased = SynchronizeAs("w", WorkerCall());
  ASSERT_GT(leased.leases_size(), 0);
  grpc::ClientContext of_bob;
  of_bob.AddMetadata("authorization", "Bearer b");
  const auto stream = client_->FollowLog(&of_bob, JobOf(leased));
  WaitForQuestion(leased, "w");
  v1::SynchronizeRequest call = Holding(leased);
  Say(call, 0, "one\n");
  SynchronizeAs("w", call);
  v1::LogPart part;
  ASSERT_TRUE(stream->Read(&part));

  write(others);

  EXPECT_FALSE(stream->Read(&part));
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAUTHENTICATED) << ended.error_message();
  EXPECT_THAT(ended.error_message(), HasSubstr("this token is not known here (any more)"));
}

}  // namespace
}  // namespace longreach::service
