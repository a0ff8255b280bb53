// The worker's control call, again and again: one at a time, at once when there is news, again within the time that the
// scheduler asks for, and with growing waits while it is away.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "longreach/v1/worker.grpc.pb.h"
#include "proto/base/status.h"
#include "worker/agent/backoff.h"
#include "worker/agent/channels.h"

namespace longreach::agent {

class Synchronizer {
 public:
  // When the next call is due after an answer.
  enum class Next {
    kAtOnce,      // The answer changed something.
    kAfterPause,  // It changed nothing: at once too, if the call was held open.
    kAtNews,      // What it should say is on its way, and News() comes with it. It is made without that if that takes long.
  };

  // All are called on the io_context's thread.
  struct Handlers {
    // Everything the worker is and holds; the sequence number is set here.
    std::function<v1::SynchronizeRequest()> make_request;
    std::function<Next(const v1::SynchronizeRequest&, const v1::SynchronizeResponse&)> on_response;
    // The scheduler will have nothing to do with this worker; there is no further call.
    std::function<void(absl::Status)> on_refused;
    // What is wrong on this side, when no answer comes: it ends with what to do. Empty: nothing that is known.
    std::function<std::string()> own_trouble = [] { return std::string(); };
  };

  // `channel` is asked before each call, on the io_context's thread.
  Synchronizer(boost::asio::io_context& io, ChannelNow channel, std::string address, Handlers handlers);

  // Something has changed: call soon. A call that the scheduler holds open is ended for it.
  void News();
  // No further call, and no handler is called.
  void Stop();

  // When the scheduler last answered; the start of this object before.
  std::chrono::steady_clock::time_point answered_at() const { return answered_at_; }
  // Since when no call has failed: the first answer after one that did; the start of this object before.
  std::chrono::steady_clock::time_point in_touch_since() const { return in_touch_since_; }

 private:
  struct Call;

  void CallNow();
  void OnDone(const std::shared_ptr<Call>& call);
  void OnAnswer(const Call& call);
  void CallAfter(std::chrono::duration<double> wait);

  boost::asio::io_context& io_;
  const ChannelNow channel_;
  // Of the newest call. gRPC waits for its own threads when the last channel with such calls goes, and this may happen on one of them: so a channel
  // is kept until another has a call.
  std::shared_ptr<grpc::Channel> called_on_;
  std::string address_;
  Handlers handlers_;
  boost::asio::steady_timer next_;     // The next call.
  // While attempts are held: the call that is held open is ended, and one is made that must be answered. So the lease is
  // renewed and progress acknowledged in time, and a scheduler that is silent is noticed.
  boost::asio::steady_timer refresh_;
  bool refresh_due_ = false;
  std::shared_ptr<Call> in_flight_;
  uint64_t sequence_ = 0;
  bool news_ = false;
  bool away_ = false;    // Waiting after a failed call.
  bool lost_ = false;    // Logged as lost.
  bool overtaken_ = false;  // The last call was answered so.
  bool stopped_ = false;
  std::chrono::duration<double> renew_every_{5};
  std::chrono::steady_clock::time_point answered_at_ = std::chrono::steady_clock::now();
  bool ever_answered_ = false;
  std::chrono::steady_clock::time_point in_touch_since_ = answered_at_;
  Backoff backoff_;
};

}  // namespace longreach::agent
