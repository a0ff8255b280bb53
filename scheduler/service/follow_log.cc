#include "scheduler/service/follow_log.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/base/utf8.h"
#include "scheduler/service/leasing.h"
#include "scheduler/service/log_board.h"
#include "scheduler/service/log_text.h"
#include "scheduler/service/query_logs.h"
#include "scheduler/service/references.h"
#include "scheduler/service/stream_wait.h"
#include "store/attempts.h"
#include "store/jobs.h"

namespace longreach::service {
namespace {

// The attempt that prints.
absl::StatusOr<int64_t> AttemptOf(const store::JobRow& job) {
  if (job.state != store::State::kLeased || !job.attempt) {
    return absl::FailedPreconditionError(
        fmt::format("no attempt of job {0:.8} runs, as its state is '{1}'; 'longreach logs {0:.8}' has the log of its last one, and 'longreach explain {0:.8}' says where it is",
                    job.id, store::Word(job.state)));
  }
  if (NeedsNoTrainer({&job, 1})) {
    return absl::FailedPreconditionError(fmt::format("job {:.8} is a no-op job, which is done without a trainer: nothing is printed", job.id));
  }
  return *job.attempt;
}

// One step at a time, on the strand, as a watch (watch.cc): read, write or wait, read again. Finish() is called by such a step only.
class LogStream final : public grpc::ServerWriteReactor<v1::LogPart> {
 public:
  LogStream(const v1::GetJobRequest& request, std::chrono::milliseconds between_looks, std::function<absl::Status()> admitted, Engine& engine,
            store::Store& store, Workforce& workforce)
      : request_(request),
        between_looks_(between_looks),
        admitted_(std::move(admitted)),
        engine_(engine),
        store_(store),
        waiting_(std::make_shared<StreamWait>(workforce)) {
    boost::asio::post(waiting_->strand, [this] { Begin(); });
  }

  void OnWriteDone(bool ok) override {
    boost::asio::post(waiting_->strand, [this, ok] {
      if (!ok) return End({grpc::StatusCode::CANCELLED, "the caller is gone"});
      if (part_.ended()) return End(grpc::Status::OK);
      GoOn();
    });
  }
  void OnCancel() override {
    cancelled_ = true;
    StreamWait::Wake(waiting_);
  }
  void OnDone() override { delete this; }

 private:
  void Begin() {
    if (const absl::Status begun = Follow(); !begun.ok()) return End(ToGrpc(begun));
    engine_.AskForLog(attempt_);
    GoOn();
  }

  absl::Status Follow() {
    {
      ASSIGN_OR_RETURN(store::Snapshot snapshot, store_.Read());
      ASSIGN_OR_RETURN(job_, ResolveJob(snapshot, request_.job()));
      ASSIGN_OR_RETURN(const store::JobRow job, store::GetJob(snapshot, job_));
      ASSIGN_OR_RETURN(attempt_, AttemptOf(job));
    }
    ASSIGN_OR_RETURN(follower_, engine_.logs().Follow(attempt_, [waiting = waiting_] { StreamWait::Wake(waiting); }));
    // If it has ended before it was followed, nobody else says so.
    ASSIGN_OR_RETURN(store::Snapshot now, store_.Read());
    ASSIGN_OR_RETURN(const std::optional<store::AttemptRow> attempt, store::FindAttempt(now, attempt_));
    if (!attempt || attempt->outcome) engine_.logs().End(attempt_);
    return absl::OkStatus();
  }

  void GoOn() {
    waiting_->woken = false;
    if (cancelled_) return End({grpc::StatusCode::CANCELLED, "the caller is gone"});
    if (const auto now = std::chrono::steady_clock::now(); now >= next_look_) {
      next_look_ = now + between_looks_;
      if (const absl::Status admitted = admitted_(); !admitted.ok()) return End(ToGrpc(admitted));
    }
    const bool ended = follower_->ended();  // Before what there is is read: behind it there is no more.
    absl::StatusOr<std::optional<v1::LogPart>> next = follower_->Next();
    if (!next.ok()) return End(ToGrpc(next.status()));
    if (!next->has_value() && !ended) return Wait();
    part_ = next->has_value() ? **std::move(next) : Last();
    StartWrite(&part_);
  }

  void Wait() {
    waiting_->timer.expires_at(waiting_->woken ? std::chrono::steady_clock::now() : next_look_);
    waiting_->timer.async_wait([this](const boost::system::error_code&) { GoOn(); });
  }

  // What has come of it, and what it has left in the store, which has the lines behind that: those that say how it ended are among them.
  v1::LogPart Last() {
    std::string rest = follower_->Unread();
    if (const absl::StatusOr<std::optional<LeftLog>> left = Left(); left.ok() && left->has_value()) {
      const LeftLog& log = **left;
      // The agent hands in the end of it.
      const bool whole = !log.cut && log.tail.size() < kLogBytes;
      if (const std::optional<std::string_view> behind = RestOfLog(log.tail, whole, follower_->position(), follower_->Seen())) rest = *behind;
    }
    v1::LogPart part;
    part.set_attempt(static_cast<uint32_t>(attempt_));
    part.set_text(ValidUtf8(rest));
    part.set_ended(true);
    return part;
  }

  absl::StatusOr<std::optional<LeftLog>> Left() {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store_.Read());
    return FindLog(snapshot, store_.artifacts(), job_, attempt_);
  }

  void End(const grpc::Status& status) {
    follower_.reset();
    Finish(status);
  }

  const v1::GetJobRequest request_;
  const std::chrono::milliseconds between_looks_;
  const std::function<absl::Status()> admitted_;
  Engine& engine_;
  store::Store& store_;
  const std::shared_ptr<StreamWait> waiting_;
  int64_t job_ = 0;
  int64_t attempt_ = 0;
  std::unique_ptr<LogBoard::Follower> follower_;
  std::chrono::steady_clock::time_point next_look_;
  v1::LogPart part_;  // Lives until it is written.
  std::atomic<bool> cancelled_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::LogPart>* StartFollowing(const v1::GetJobRequest& request, std::chrono::milliseconds between_looks,
                                                      std::function<absl::Status()> admitted, Engine& engine, store::Store& store, Workforce& workforce) {
  return new LogStream(request, between_looks, std::move(admitted), engine, store, workforce);
}

}  // namespace longreach::service
