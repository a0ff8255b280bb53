#include "scheduler/service/watch.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "scheduler/service/query_sweeps.h"
#include "scheduler/service/references.h"
#include "scheduler/service/stream_wait.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

using std::chrono::steady_clock;

// However many attempts end in that time, a watched sweep's row is read once.
constexpr std::chrono::milliseconds kBetweenGlances{20};

// One step at a time, on the strand: look, write or wait, look again. So there is never a write or a timer beside the step that runs, and
// Finish() is called by such a step only.
class Watch final : public grpc::ServerWriteReactor<v1::SweepUpdate> {
 public:
  Watch(const v1::GetSweepRequest& request, std::chrono::milliseconds between_looks, std::function<absl::Status()> admitted, LiveBoard& board,
        store::Store& store, Workforce& workforce)
      : request_(request),
        between_looks_(between_looks),
        admitted_(std::move(admitted)),
        board_(board),
        store_(store),
        waiting_(std::make_shared<StreamWait>(workforce)),
        listening_(board.ended().Listen([waiting = waiting_] { StreamWait::Wake(waiting); })) {
    boost::asio::post(waiting_->strand, [this] { Look(); });
  }

  void OnWriteDone(bool ok) override {
    boost::asio::post(waiting_->strand, [this, ok] {
      if (!ok) return Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
      if (update_.finished()) return Finish(grpc::Status::OK);
      Wait();
    });
  }
  void OnCancel() override {
    cancelled_ = true;
    StreamWait::Wake(waiting_);
  }
  void OnDone() override { delete this; }

 private:
  void Look() {
    if (cancelled_) return Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
    next_look_ = steady_clock::now() + between_looks_;
    if (const absl::Status admitted = admitted_(); !admitted.ok()) return Finish(ToGrpc(admitted));
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
    waiting_->timer.expires_at(waiting_->woken ? std::min(next_look_, next_glance_) : next_look_);
    waiting_->timer.async_wait([this](const boost::system::error_code&) { GoOn(); });
  }

  void GoOn() {
    const auto now = steady_clock::now();
    if (cancelled_ || now >= next_look_) return Look();
    if (!waiting_->woken || now < next_glance_) return Wait();
    waiting_->woken = false;
    next_glance_ = now + kBetweenGlances;
    return IsOver() ? Look() : Wait();
  }

  // Less than a look costs. What goes wrong here goes wrong at the next look.
  bool IsOver() {
    absl::StatusOr<store::Snapshot> snapshot = store_.Read();
    if (!snapshot.ok()) return false;
    const absl::StatusOr<store::SweepRow> sweep = ResolveSweep(*snapshot, request_.sweep());
    return sweep.ok() && sweep->is_over();
  }

  v1::GetSweepRequest request_;
  const std::chrono::milliseconds between_looks_;
  const std::function<absl::Status()> admitted_;
  const LiveBoard& board_;
  store::Store& store_;
  const std::shared_ptr<StreamWait> waiting_;
  const Bell::Listening listening_;
  steady_clock::time_point next_look_;
  steady_clock::time_point next_glance_;
  v1::SweepUpdate update_;  // Lives until it is written.
  std::string last_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::SweepUpdate>* StartWatch(const v1::GetSweepRequest& request, std::chrono::milliseconds between_looks,
                                                      std::function<absl::Status()> admitted, LiveBoard& board, store::Store& store, Workforce& workforce) {
  return new Watch(request, between_looks, std::move(admitted), board, store, workforce);
}

}  // namespace longreach::service
