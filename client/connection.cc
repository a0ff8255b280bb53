#include "client/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include "client/errors.h"
#include "client/no_answer.h"
#include "client/output/text.h"
#include "longreach/v1/worker.grpc.pb.h"
#include "proto/access/channel.h"
#include "proto/access/turned_away.h"
#include "proto/base/sha256.h"
#include "proto/types/wire_limits.h"

namespace longreach::client {
namespace {

// As a scheduler says it of its store's disk.
constexpr const char* kDiskIsFull = "the disk is full";

// OK: it has just been reached after all. The channel's state does not say why it was not, a call does.
absl::Status NoScheduler(const std::string& address, bool tls, const std::shared_ptr<grpc::Channel>& channel, std::chrono::milliseconds patience) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::min(patience, std::chrono::milliseconds(500)));
  v1::GetInfoResponse ignored;
  const grpc::Status status = v1::Longreach::NewStub(channel)->GetInfo(&context, v1::GetInfoRequest(), &ignored);
  if (channel->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY) return absl::OkStatus();
  const access::ConnectEnd end = access::ConnectEndOf(status.error_message());
  std::optional<uint64_t> connections;
  // Also of one that closed the connection: where the first bytes to a Unix socket find it closed, gRPC does not read what was said.
  if (!tls && (end == access::ConnectEnd::kTurnedAway || end == access::ConnectEnd::kClosed)) connections = ConnectionsOfFullScheduler(address);
  return NoAnswer({.address = address, .tls = tls, .timed_out = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED, .end = end,
                   .connections = connections, .grpc_text = status.error_message()});
}

}  // namespace

grpc::Status NotCalledOff(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::CANCELLED) return status;
  return {grpc::StatusCode::UNAVAILABLE, "it broke the call off, as one that shuts down does"};
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& address,
                                                             const access::CredentialFiles& files,
                                                             std::chrono::milliseconds patience) {
  ASSIGN_OR_RETURN(const access::Credentials credentials, access::ReadCredentials(files));
  const bool tls = !credentials.ca.empty() && !address.starts_with("unix:");
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // A link that died without a word is noticed within 15 s, also by who only listens.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // Any number.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  // Also how long one attempt to connect may take: a busy machine or a slow link must not look like no scheduler.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // A proxy for the web is none for schedulers.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, access::OpenChannel(address, credentials, arguments));

  const auto end = std::chrono::system_clock::now() + patience;
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    const bool refused = state == GRPC_CHANNEL_SHUTDOWN || (state == GRPC_CHANNEL_TRANSIENT_FAILURE && access::IsThisMachine(address));
    if (refused || !channel->WaitForStateChange(state, end)) {
      RETURN_IF_ERROR(NoScheduler(address, tls, channel, patience));
      break;
    }
    state = channel->GetState(/*try_to_connect=*/true);
  }
  return std::unique_ptr<Connection>(new Connection(address, channel));
}

absl::Status Connection::Receive(const std::string& sha256, std::chrono::minutes deadline, const Sink& sink, const Stop& stop) {
  constexpr std::chrono::milliseconds kLook{100};
  grpc::ClientContext context;
  std::atomic<bool> called_off = false;
  // Also where no byte comes.
  const std::jthread watch([&](const std::stop_token& done) {
    while (stop && !done.stop_requested()) {
      if (stop()) {
        called_off = true;
        context.TryCancel();
      }
      std::this_thread::sleep_for(kLook);
    }
  });
  context.set_deadline(std::chrono::system_clock::now() + deadline);
  v1::DownloadRequest request;
  request.set_sha256(sha256);
  const auto reader = v1::Artifacts::NewStub(channel_)->Download(&context, request);
  Sha256 hash;
  v1::DownloadResponse response;
  while (reader->Read(&response)) {
    if (const absl::Status taken = sink(response.chunk()); !taken.ok()) {
      context.TryCancel();
      reader->Finish();
      return taken;
    }
    hash.Update(response.chunk());
  }
  if (const grpc::Status status = reader->Finish(); !status.ok()) return Translate(called_off ? status : NotCalledOff(status));
  if (hash.Finish() != sha256) return absl::DataLossError(fmt::format("the bytes sent for artifact {:.8} have another hash", sha256));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Connection::Download(const std::string& sha256) {
  std::string bytes;
  RETURN_IF_ERROR(Receive(sha256, std::chrono::minutes(10), [&](const std::string& chunk) -> absl::Status {
    if (bytes.size() + chunk.size() > kMaxDownloadBytes) {
      return absl::ResourceExhaustedError(fmt::format("artifact {:.8} has more than {} bytes", sha256, kMaxDownloadBytes));
    }
    bytes += chunk;
    return absl::OkStatus();
  }));
  return bytes;
}

absl::Status Connection::DownloadTo(const std::filesystem::path& file, const std::string& sha256, const Stop& stop) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  const auto write = [&](const std::string& chunk) -> absl::Status {
    if (out.write(chunk.data(), static_cast<std::streamsize>(chunk.size()))) return absl::OkStatus();
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot write {}: {}", Printable(file.string()), strerror(errno)),
                 "make space, or choose another place");
  };
  // Weights of a large model take hours on a slow link.
  RETURN_IF_ERROR(Receive(sha256, std::chrono::hours(24), write, stop));
  out.close();
  return out ? absl::OkStatus() : write("");
}

absl::Status Connection::Translate(const grpc::Status& status) const {
  switch (status.error_code()) {
    case grpc::StatusCode::OK: return absl::OkStatus();
    case grpc::StatusCode::UNAVAILABLE:
      return Error(absl::StatusCode::kUnavailable,
                   fmt::format("lost the scheduler at {}: {}", Printable(address_), status.error_message()),
                   "what it has answered is kept, and this call may not have been carried out; see when it is back");
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Error(absl::StatusCode::kDeadlineExceeded,
                   fmt::format("the scheduler at {} did not answer in time", Printable(address_)),
                   "the call may be repeated");
    case grpc::StatusCode::UNIMPLEMENTED:
      return Error(absl::StatusCode::kUnimplemented,
                   fmt::format("the scheduler at {} does not know this call", Printable(address_)),
                   "it is of another version than this client, or no scheduler at all; start a scheduler of this client's version ('longreach version' says which it is)");
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      if (status.error_message().find(kDiskIsFull) != std::string::npos) {
        return Error(absl::StatusCode::kResourceExhausted, fmt::format("the store of the scheduler at {}: {}", Printable(address_), status.error_message()),
                     "make room on its disk");
      }
      break;
    default: break;
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), wording_ ? wording_(status.error_message()) : status.error_message());
}

void Connection::WaitBeforeAttempt(int attempt) {
  std::this_thread::sleep_for(std::chrono::milliseconds(attempt == 2 ? 200 : 800));
}

}  // namespace longreach::client
