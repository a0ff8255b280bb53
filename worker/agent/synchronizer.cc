#include "worker/agent/synchronizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "proto/access/turned_away.h"
#include "worker/agent/log.h"
#include "worker/agent/transfers.h"

namespace longreach::agent {
namespace {

// A call is held open for 5 s at most; three times that means that nobody is there.
constexpr std::chrono::seconds kDeadline{15};
// Between calls that change nothing and are answered at once.
constexpr std::chrono::duration<double> kPause{0.5};
// For what the next call should say, if a disk is slow.
constexpr std::chrono::duration<double> kPatienceForNews{2};

std::chrono::steady_clock::duration Rounded(std::chrono::duration<double> duration) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(duration);
}

}  // namespace

struct Synchronizer::Call {
  explicit Call(boost::asio::io_context& io) : work(boost::asio::make_work_guard(io)) {}

  std::unique_ptr<v1::Worker::Stub> stub;
  grpc::ClientContext context;
  v1::SynchronizeRequest request;
  v1::SynchronizeResponse response;
  grpc::Status status;
  bool cancelled = false;  // By us, for a newer call.
  bool refresh = false;    // Answered at once, and followed by one that may wait.
  std::chrono::steady_clock::time_point sent_at = std::chrono::steady_clock::now();
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;  // gRPC's thread will post to it.
};

Synchronizer::Synchronizer(boost::asio::io_context& io, ChannelNow channel, std::string address, Handlers handlers)
    : io_(io),
      channel_(std::move(channel)),
      address_(std::move(address)),
      handlers_(std::move(handlers)),
      next_(io),
      refresh_(io) {}

void Synchronizer::News() {
  if (stopped_) return;
  news_ = true;
  if (away_) return;  // The wait after a failure is not cut short.
  if (in_flight_ == nullptr) {
    // Not at once but after the present handler, so that several changes make one call.
    CallAfter(std::chrono::duration<double>(0));
  } else if (in_flight_->request.may_wait() && in_flight_->request.finished().empty() && !in_flight_->cancelled) {
    in_flight_->cancelled = true;
    in_flight_->context.TryCancel();
  }
}

void Synchronizer::Stop() {
  stopped_ = true;
  next_.cancel();
  refresh_.cancel();
  if (in_flight_ != nullptr) in_flight_->context.TryCancel();
}

void Synchronizer::CallAfter(std::chrono::duration<double> wait) {
  next_.expires_after(Rounded(wait));
  next_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_ && in_flight_ == nullptr) CallNow();
  });
}

void Synchronizer::CallNow() {
  news_ = false;
  away_ = false;
  std::shared_ptr<grpc::Channel> channel = channel_();
  auto call = std::make_shared<Call>(io_);
  call->request = handlers_.make_request();
  call->refresh = std::exchange(refresh_due_, false);
  if (call->refresh) call->request.set_may_wait(false);
  call->request.set_sequence(++sequence_);
  call->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  in_flight_ = call;
  call->stub = v1::Worker::NewStub(channel);
  call->stub->async()->Synchronize(&call->context, &call->request, &call->response, [this, call](grpc::Status status) mutable {
    call->status = std::move(status);
    // Moved, so that it ends on our thread, and its channel with it.
    boost::asio::post(io_, [this, call = std::move(call)] { OnDone(call); });
  });
  called_on_ = std::move(channel);
  if (call->request.held().empty()) return;
  refresh_.expires_after(Rounded(renew_every_ / 2));
  refresh_.async_wait([this, call](boost::system::error_code error) {
    if (error || in_flight_ != call) return;
    refresh_due_ = true;
    News();
  });
}

void Synchronizer::OnDone(const std::shared_ptr<Call>& call) {
  in_flight_ = nullptr;
  refresh_.cancel();
  call->work.reset();
  if (stopped_) return;
  if (call->status.ok()) return OnAnswer(*call);
  if (call->cancelled) return CallAfter(std::chrono::duration<double>(0));
  // Of a call that a proxy sent twice, the second has been overtaken by the first. The next call has a higher number: only another
  // incarnation can have overtaken that.
  const bool overtaken = call->status.error_code() == grpc::StatusCode::ABORTED;
  if (!std::exchange(overtaken_, overtaken) && overtaken) return CallAfter(std::chrono::duration<double>(0));
  switch (call->status.error_code()) {
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::INVALID_ARGUMENT: {
      stopped_ = true;
      return handlers_.on_refused(FromGrpc(call->status));
    }
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      // Whoever has just started this worker can do something about it. Later on it may be a mistake of whoever keeps the tokens, and what is trained
      // is kept meanwhile.
      if (!ever_answered_) {
        stopped_ = true;
        return handlers_.on_refused(FromGrpc(call->status));
      }
      break;
    default:
      break;
  }
  if (!std::exchange(lost_, true)) {
    const std::string own = handlers_.own_trouble();
    const std::string_view meaning = access::MeaningOf(access::ConnectEndOf(call->status.error_message()));
    LogWarning(fmt::format("no answer from the scheduler at {} ({}{}{}); {}{}trying again until there is one", address_, call->status.error_message(),
                           meaning.empty() ? "" : ": ", meaning, own, own.empty() ? "" : "; "));
  }
  away_ = true;
  CallAfter(backoff_.Next());
}

void Synchronizer::OnAnswer(const Call& call) {
  const auto now = std::chrono::steady_clock::now();
  answered_at_ = now;
  ever_answered_ = true;
  backoff_.Reset();
  overtaken_ = false;
  if (std::exchange(lost_, false)) {
    in_touch_since_ = now;
    LogInfo(fmt::format("the scheduler at {} answers again", address_));
  }
  if (call.response.has_renew_every()) {
    const google::protobuf::Duration& every = call.response.renew_every();
    renew_every_ = std::chrono::duration<double>(
        std::clamp(static_cast<double>(every.seconds()) + every.nanos() * 1e-9, 0.05, 60.0));
  }
  const Next next = handlers_.on_response(call.request, call.response);
  if (stopped_) return;
  if (next == Next::kAtNews && !news_) return CallAfter(std::min(kPatienceForNews, renew_every_ / 2));
  // A call that was held open is followed by the next; one that was answered at once, and changed nothing, is not:
  // that would be a storm.
  const std::chrono::duration<double> took = now - call.sent_at;
  const std::chrono::duration<double> pause = std::min(kPause, renew_every_ / 2);
  CallAfter(next == Next::kAtOnce || news_ || call.refresh || took >= pause ? std::chrono::duration<double>(0) : pause - took);
}

}  // namespace longreach::agent
