// Small things that all gRPC handlers share.
#pragma once

#include <functional>
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

}  // namespace longreach::service
