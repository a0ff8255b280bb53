// On which threads calls are answered, and what of it is left where nobody waits for the answer.
#include "scheduler/service/client_handlers.h"

#include <grpcpp/test/default_reactor_test_peer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

#include "proto/base/clock.h"
#include "tests/store/store_folder.h"
#include "tests/support/temporary_folder.h"

namespace longreach::service {
namespace {

// A call that is made here, without a connection.
template <typename Reply>
class LocalCall {
 public:
  grpc::CallbackServerContext* context() { return &context_; }
  Reply* reply() { return &reply_; }
  bool IsAnswered() const { return answered_.try_wait(); }
  const grpc::Status& Status() {
    answered_.wait();
    // Which gRPC sets behind that: the thread that answers must not find this gone.
    while (!peer_.test_status_set()) std::this_thread::yield();
    return status_;
  }

 private:
  std::latch answered_{1};
  grpc::Status status_;
  Reply reply_;
  grpc::CallbackServerContext context_;
  grpc::testing::DefaultReactorTestPeer peer_{&context_, [this](grpc::Status status) {
                                                status_ = std::move(status);
                                                answered_.count_down();
                                              }};
};

class ClientHandlersTest : public ::testing::Test {
 protected:
  ClientHandlersTest() {
    absl::StatusOr<std::unique_ptr<store::Store>> opened = store::Store::Open(folder_.file().string());
    if (!opened.ok()) ADD_FAILURE() << opened.status();
    store_ = *std::move(opened);
    engine_ = std::make_unique<Engine>(clock_, EngineOptions(), [](const store::Event&) {}, [] {});
    writer_ = std::make_unique<store::Writer>(store_->writer_connection(), clock_, store::WriterOptions());
    handlers_ = std::make_unique<ClientHandlers>(
        *engine_, *store_, *writer_, clock_, ClientHandlers::Threads{.calls = calls_, .long_calls = long_calls_, .submissions = others_, .maintenance = others_, .stop = {}},
        std::chrono::milliseconds(1), [](const std::string&) {});
  }
  // Behind all that was posted before.
  static void WaitFor(Workforce& one_thread) {
    std::latch done(1);
    one_thread.Post([&done] { done.count_down(); });
    done.wait();
  }

  SystemClock clock_;
  const store::StoreFolder folder_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<store::Writer> writer_;
  Workforce calls_{1}, long_calls_{1}, others_{1};
  std::unique_ptr<ClientHandlers> handlers_;
};

TEST_F(ClientHandlersTest, AListOfSomeJobsOfASweepDoesNotKeepShortCallsWaiting) {
  std::latch busy(1);
  long_calls_.Post([&busy] { busy.wait(); });
  LocalCall<v1::ListJobsResponse> all, some;
  v1::ListJobsRequest request;
  request.set_sweep("s");
  v1::ListJobsRequest only = request;
  only.add_only("task=even_pairs");

  handlers_->ListJobs(some.context(), &only, some.reply());
  handlers_->ListJobs(all.context(), &request, all.reply());
  WaitFor(calls_);

  EXPECT_TRUE(all.IsAnswered()) << "a page, which is bounded";
  EXPECT_FALSE(some.IsAnswered()) << "it may read the whole sweep, and waits for others of its kind";
  busy.count_down();
  EXPECT_EQ(some.Status().error_code(), grpc::StatusCode::NOT_FOUND) << "there is no sweep at all";
}

TEST_F(ClientHandlersTest, ACountOfWhatWaitsDoesNotKeepShortCallsWaiting) {
  std::latch busy(1);
  long_calls_.Post([&busy] { busy.wait(); });
  LocalCall<v1::ListWorkersResponse> list, count;
  const v1::ListWorkersRequest request;
  v1::ListWorkersRequest counting;
  counting.set_count_waiting(true);

  handlers_->ListWorkers(count.context(), &counting, count.reply());
  handlers_->ListWorkers(list.context(), &request, list.reply());
  WaitFor(calls_);

  EXPECT_TRUE(list.IsAnswered());
  EXPECT_FALSE(count.IsAnswered()) << "it reads all jobs that wait";
  busy.count_down();
  EXPECT_TRUE(count.Status().ok());
  EXPECT_TRUE(count.reply()->has_packs_waiting());
}

TEST_F(ClientHandlersTest, ABackupWhoseCallerIsGoneIsNotMade) {
  const longreach::testing::TemporaryFolder folder;
  std::latch busy(1);
  others_.Post([&busy] { busy.wait(); });
  grpc::CallbackServerContext context;
  v1::BackupStoreRequest request;
  request.set_path((folder.path() / "copy.db").string());
  v1::BackupStoreResponse reply;
  grpc::ServerUnaryReactor* const call = handlers_->BackupStore(&context, &request, &reply);

  call->OnCancel();
  busy.count_down();
  WaitFor(others_);
  call->OnDone();  // As gRPC does once it is answered.

  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "neither the copy nor a part of it";
}

}  // namespace
}  // namespace longreach::service
