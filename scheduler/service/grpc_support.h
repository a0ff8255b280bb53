// Small things that all gRPC handlers share.
#pragma once

#include <functional>
#include <stop_token>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <grpcpp/grpcpp.h>

#include "proto/base/status.h"

namespace longreach::service {

// `text` as it is sent: a text beyond some 6,000 bytes, of which bytes that are not printable take three on their way, is cut in the middle, since
// of a call's trailers gRPC takes 8 KiB and makes an error of its own of more. What was refused stands at the beginning, the advice at the end.
std::string ForTrailers(std::string_view text);

// Absl's codes are gRPC's codes.
inline grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), ForTrailers({status.message().data(), status.message().size()})};
}

// Threads for handlers that read the store or files: gRPC's own must not block. Joined before anything that they use goes.
class Workforce {
 public:
  explicit Workforce(size_t threads) : pool_(threads) {}
  ~Workforce() { pool_.join(); }

  template <typename Function>
  void Post(Function function) {
    boost::asio::post(pool_, std::move(function));
  }
  boost::asio::thread_pool& pool() { return pool_; }

 private:
  boost::asio::thread_pool pool_;
};

// Answers a call with what `function`, a StatusOr<Reply>(), returns on a thread of the workforce.
template <typename Reply, typename Function>
grpc::ServerUnaryReactor* AnswerWith(grpc::CallbackServerContext* context, Reply* reply, Workforce& workforce, Function function) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  workforce.Post([reactor, reply, function = std::move(function)] {
    absl::StatusOr<Reply> result = function();
    if (result.ok()) *reply = *std::move(result);
    reactor->Finish(ToGrpc(result.status()));
  });
  return reactor;
}

// A call whose answer may take minutes: once its caller is gone, or `end` is requested, it is to stop, as nobody waits for it.
class StoppableCall final : public grpc::ServerUnaryReactor {
 public:
  explicit StoppableCall(std::stop_token end) : at_end_(std::move(end), Stop{&stop_}) {}
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override { delete this; }
  std::stop_token stop() const { return stop_.get_token(); }

 private:
  struct Stop {
    std::stop_source* stop;
    void operator()() const { stop->request_stop(); }
  };
  std::stop_source stop_;
  const std::stop_callback<Stop> at_end_;
};

// As AnswerWith(), with a `function` that takes the std::stop_token of its call.
template <typename Reply, typename Function>
grpc::ServerUnaryReactor* AnswerToWhoWaits(Reply* reply, Workforce& workforce, std::stop_token end, Function function) {
  auto* call = new StoppableCall(std::move(end));
  workforce.Post([call, reply, function = std::move(function)] {
    absl::StatusOr<Reply> result = function(call->stop());
    if (result.ok()) *reply = *std::move(result);
    call->Finish(ToGrpc(result.status()));
  });
  return call;
}

}  // namespace longreach::service
