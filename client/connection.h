// A scheduler, as the client reaches it: deadlines, retries, and errors that say what to do.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "longreach/v1/api.grpc.pb.h"
#include "proto/access/credentials.h"
#include "proto/base/status.h"

namespace longreach::client {

// How a call ended that was not called off here. A scheduler that shuts down may answer CANCELLED to what it has not begun: it is away as one that answers nothing.
grpc::Status NotCalledOff(const grpc::Status& status);

class Connection {
 public:
  using Stub = v1::Longreach::Stub;

  // Waits until the scheduler answers the first bytes: at most 3 s, and not at all where this machine
  // refuses.
  // UNAVAILABLE: "no scheduler at ADDRESS", one that takes no more connections, or none that this client and TLS agree with (no_answer.h).
  // FAILED_PRECONDITION: credentials that cannot be used.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(
      const std::string& address, const access::CredentialFiles& files, std::chrono::milliseconds patience = std::chrono::seconds(3));

  const std::string& address() const { return address_; }
  Stub& stub() { return *stub_; }

  // One call. All calls of this service may be repeated, so an UNAVAILABLE one is, twice.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                                const Request& request,
                                std::chrono::seconds deadline = std::chrono::seconds(60)) {
    for (int attempt = 1;; ++attempt) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + deadline);
      Response response;
      const grpc::Status status = NotCalledOff((stub_.get()->*method)(&context, request, &response));
      if (status.ok()) return response;
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE || attempt == kAttempts) {
        return Translate(status);
      }
      WaitBeforeAttempt(attempt + 1);
    }
  }

  // The same while the caller does something else, on a thread of its own; where the system has none to spare, once it is waited for. The
  // connection is to outlive the future, which waits for the call when it goes.
  template <typename Request, typename Response>
  std::future<absl::StatusOr<Response>> Start(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), const Request& request,
                                              std::chrono::seconds deadline = std::chrono::seconds(60)) {
    return std::async([this, method, request, deadline] { return Call(method, request, deadline); });
  }

  // An artifact, whole. DATA_LOSS: the bytes that came are not those. RESOURCE_EXHAUSTED: more than kMaxDownloadBytes.
  absl::StatusOr<std::string> Download(const std::string& sha256);
  // Whether to go no further; asked a few times a second, on another thread.
  using Stop = std::function<bool()>;
  // The same of any size into a new file, which on an error is as far as it came. FAILED_PRECONDITION: it cannot be written. CANCELLED:
  // by `stop`.
  absl::Status DownloadTo(const std::filesystem::path& file, const std::string& sha256, const Stop& stop);

  // As the client reports it: what the scheduler says in the words of SetWording().
  absl::Status Translate(const grpc::Status& status) const;

  // The scheduler does not know where the user asked: what its texts lack of that (suggestions.h).
  using Wording = std::function<std::string(std::string_view)>;
  void SetWording(Wording wording) { wording_ = std::move(wording); }

 private:
  static constexpr int kAttempts = 3;
  static constexpr size_t kMaxDownloadBytes = size_t{1} << 30;

  Connection(std::string address, std::shared_ptr<grpc::Channel> channel)
      : address_(std::move(address)), channel_(std::move(channel)), stub_(v1::Longreach::NewStub(channel_)) {}

  static void WaitBeforeAttempt(int attempt);

  using Sink = std::function<absl::Status(const std::string& chunk)>;
  // `stop` may be empty.
  absl::Status Receive(const std::string& sha256, std::chrono::minutes deadline, const Sink& sink, const Stop& stop = {});

  std::string address_;
  Wording wording_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace longreach::client
