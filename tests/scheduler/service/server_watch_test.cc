// Those who watch a sweep.
#include <chrono>

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

}  // namespace
}  // namespace longreach::service
