// Those who watch a sweep.
#include <chrono>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "proto/access/tokens.h"
#include "tests/scheduler/service/server_fixture.h"

namespace longreach::service {
namespace {

using ServerWatchTest = ServerTest;

TEST_F(ServerWatchTest, AWatcherIsToldOfTheEndAtOnce) {
  ServerOptions options = Options();
  options.between_looks = std::chrono::hours(1);
  Start(options);
  Submit(Sweep());
  const v1::SynchronizeResponse leased = Synchronize(WorkerCall());
  grpc::ClientContext context;
  v1::GetSweepRequest sweep;
  sweep.set_sweep("s");
  const auto watch = client_->WatchSweep(&context, sweep);
  v1::SweepUpdate update;
  ASSERT_TRUE(watch->Read(&update));
  ASSERT_FALSE(update.finished());

  for (const v1::Lease& lease : leased.leases()) {  // After the first of them there are open jobs.
    v1::SynchronizeRequest call = WorkerCall();
    *call.add_finished() = SuccessOf(lease);
    EXPECT_EQ(Synchronize(call).acknowledged_size(), 1);
  }

  ASSERT_TRUE(watch->Read(&update));
  EXPECT_TRUE(update.finished());
  EXPECT_FALSE(watch->Read(&update));
  EXPECT_TRUE(watch->Finish().ok());
}

TEST_F(ServerWatchTest, AWatcherWhoIsGoneKeepsNobodyWaiting) {
  ServerOptions options = Options();
  options.between_looks = std::chrono::hours(1);
  Start(options);
  Submit(Sweep());
  grpc::ClientContext context;
  v1::GetSweepRequest sweep;
  sweep.set_sweep("s");
  const auto watch = client_->WatchSweep(&context, sweep);
  v1::SweepUpdate update;
  ASSERT_TRUE(watch->Read(&update));

  server_.reset();

  EXPECT_FALSE(watch->Read(&update));
  EXPECT_FALSE(watch->Finish().ok());
}

TEST_F(ServerWatchTest, AWatchEndsWithItsToken) {
  ServerOptions options = Options();
  options.between_looks = std::chrono::milliseconds(10);
  options.tokens = folder_ / "tokens";
  const auto write = [&options](const std::string& text) { std::ofstream(options.tokens) << text; };
  const std::string ann = access::TokenLine(v1::ROLE_CLIENT, "ann", "a") + "\n";
  write(ann + access::TokenLine(v1::ROLE_READER, "bob", "b") + "\n");
  Start(options);
  v1::SubmitSweepRequest submit;
  *submit.mutable_spec() = Sweep();
  v1::SubmitSweepResponse submitted;
  grpc::ClientContext submits;
  submits.AddMetadata("authorization", "Bearer a");
  const grpc::Status status = client_->SubmitSweep(&submits, submit, &submitted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::GetSweepRequest sweep;
  sweep.set_sweep("s");
  grpc::ClientContext of_bob;
  of_bob.AddMetadata("authorization", "Bearer b");
  const auto watch = client_->WatchSweep(&of_bob, sweep);
  v1::SweepUpdate update;
  ASSERT_TRUE(watch->Read(&update));

  write(ann);

  EXPECT_FALSE(watch->Read(&update));
  const grpc::Status ended = watch->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAUTHENTICATED) << ended.error_message();
  EXPECT_THAT(ended.error_message(), ::testing::HasSubstr("this token is not known here (any more)"));
  EXPECT_EQ(ended.error_message().find("Bearer"), std::string::npos);
}

}  // namespace
}  // namespace longreach::service
