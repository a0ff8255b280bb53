#include "scheduler/service/watch.h"

#include <atomic>
#include <chrono>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "scheduler/service/query_sweeps.h"

namespace longreach::service {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{500};

// One step at a time: look, write or wait, look again. So there is never a write or a timer beside the step that runs, and
// Finish() is called by such a step only.
class Watch final : public grpc::ServerWriteReactor<v1::SweepUpdate> {
 public:
  Watch(const v1::GetSweepRequest& request, const LiveBoard& board, store::Store& store, Workforce& workforce)
      : request_(request), board_(board), store_(store), workforce_(workforce), timer_(workforce.pool()) {
    workforce_.Post([this] { Look(); });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
    if (update_.finished()) return Finish(grpc::Status::OK);
    Wait();
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  void Look() {
    if (cancelled_) return Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
    absl::StatusOr<v1::SweepUpdate> update = Read();
    if (!update.ok()) return Finish(ToGrpc(update.status()));
    // What was asked for as "last" or by a name stays the same sweep.
    request_.set_sweep(update->sweep().id());
    std::string bytes = update->SerializeAsString();
    if (bytes == last_) return Wait();
    last_ = std::move(bytes);
    update_ = *std::move(update);
    StartWrite(&update_);
  }

  absl::StatusOr<v1::SweepUpdate> Read() {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store_.Read());
    return GetSweepUpdate(snapshot, request_, board_.Read());
  }

  void Wait() {
    timer_.expires_after(kBetweenLooks);
    timer_.async_wait([this](const boost::system::error_code&) { Look(); });
  }

  v1::GetSweepRequest request_;
  const LiveBoard& board_;
  store::Store& store_;
  Workforce& workforce_;
  boost::asio::steady_timer timer_;
  v1::SweepUpdate update_;  // Lives until it is written.
  std::string last_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::SweepUpdate>* StartWatch(const v1::GetSweepRequest& request, const LiveBoard& board, store::Store& store,
                                                      Workforce& workforce) {
  return new Watch(request, board, store, workforce);
}

}  // namespace longreach::service
