// The answer to a question that comes in pages, page by page.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// Each page is asked for while the one before is used: a large sweep's pages are as much work here as there.
template <typename Request, typename Response>
class Pages {
 public:
  using Method = grpc::Status (Connection::Stub::*)(grpc::ClientContext*, const Request&, Response*);

  // The connection outlives it.
  Pages(Connection& connection, Method method, Request question) : connection_(connection), method_(method), question_(std::move(question)) {
    question_.clear_page_token();
    Ask();
  }

  // The next one; nothing: that was the last.
  absl::StatusOr<std::optional<Response>> Next() {
    if (!next_.valid()) return std::nullopt;
    ASSIGN_OR_RETURN(Response page, next_.get());
    question_.set_page_token(page.next_page_token());
    if (!question_.page_token().empty()) Ask();
    return std::optional(std::move(page));
  }

 private:
  void Ask() {
    constexpr std::chrono::minutes kPatienceWithPage(10);  // The first page may look at all jobs of a sweep.
    next_ = connection_.Start(method_, question_, kPatienceWithPage);
  }

  Connection& connection_;
  Method method_;
  Request question_;
  std::future<absl::StatusOr<Response>> next_;
};

}  // namespace longreach::client
