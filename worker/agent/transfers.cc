#include "worker/agent/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "proto/base/sha256.h"
#include "proto/base/text.h"
#include "proto/types/artifact_kind.h"
#include "proto/types/wire_limits.h"
#include "worker/agent/backoff.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

// Tries after answers that say neither "later" nor "never". What was computed is not thrown away for a scheduler that is out of order
// for some minutes; what comes down can be asked for again by another worker.
constexpr int kTriesAfterOddErrors = 10, kUploadTriesAfterOddErrors = 400;
// Of a checkpoint that finds no space: some seconds, for a scheduler with too many calls at once. Where all its space is taken,
// a stopped attempt would never end, and keep the jobs whose end makes room.
constexpr int kCheckpointTriesWithoutSpace = 5;

// Of bytes that were damaged on the way, or by this machine. The scheduler has no such answer.
constexpr absl::StatusCode kOtherBytes = absl::StatusCode::kOutOfRange;

// Enough for a slow line (16 KiB/s); a dead one is found by keepalive before.
std::chrono::system_clock::time_point DeadlineFor(double bytes) {
  return std::chrono::system_clock::now() + std::chrono::seconds(120 + static_cast<int64_t>(bytes / (16 << 10)));
}

// False when asked to stop meanwhile.
bool Sleep(std::chrono::duration<double> duration, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock lock(mutex);
  condition.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

enum class Answer { kFinal, kLater, kOdd };

Answer Classify(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    // A token or certificate that is not admitted (any more) is no fault of the job's, and may be put right there.
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return Answer::kLater;
    case absl::StatusCode::kCancelled:  // Not by us: a server that shuts down says so too.
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      return Answer::kOdd;
    default:
      return Answer::kFinal;
  }
}

absl::Status Retrying(const std::string& what, std::stop_token stop, int odd_tries, const std::function<absl::Status()>& once) {
  Backoff backoff;
  bool logged = false;
  for (int odd = 0;;) {
    const absl::Status status = once();
    if (stop.stop_requested()) return absl::CancelledError(what + " was called off");
    if (status.ok()) return status;
    const Answer answer = Classify(status);
    if (answer == Answer::kFinal || (answer == Answer::kOdd && ++odd == odd_tries)) {
      // CANCELLED says that we called it off.
      return status.code() == absl::StatusCode::kCancelled ? absl::UnavailableError(status.message()) : status;
    }
    // The control call logs that the scheduler is away; what only files meet is said here.
    if (!logged && status.code() != absl::StatusCode::kUnavailable) LogWarning(what + ": " + status.ToString());
    logged = true;
    if (!Sleep(backoff.Next(), stop)) return absl::CancelledError(what + " was called off");
  }
}

}  // namespace

absl::Status CheckAddress(const std::string& address) {
  constexpr std::string_view kUnix = "unix:";
  constexpr size_t kLongestSocketPath = 107;
  if (address.starts_with(kUnix)) {
    const size_t length = address.size() - kUnix.size();
    if (length > 0 && length <= kLongestSocketPath) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("'{}' has a path of {} bytes; a socket's path has 1 to {}: use another", address, length,
                    kLongestSocketPath));
  }
  const size_t colon = address.rfind(':');
  const int64_t port = colon == std::string::npos ? 0 : ParseInteger(address.substr(colon + 1)).value_or(0);
  const std::string host = address.substr(0, colon);
  const bool one_host = host.find_first_of("/ ") == std::string::npos &&
                        (host.find(':') == std::string::npos || (host.front() == '[' && host.back() == ']'));
  if (colon != 0 && one_host && port > 0 && port <= 65535) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("'{}' is no scheduler's address: write host:port, for example localhost:7070, or unix:PATH", address));
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

Transfers::Transfers(ChannelNow channel, const std::string& worker, uint64_t incarnation) : channel_(std::move(channel)), inbox_(worker, incarnation) {}

absl::StatusOr<std::string> Transfers::Upload(v1::UploadHeader header, const std::filesystem::path& file,
                                              std::stop_token stop) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(file, error);  // None of a pipe, a folder or a link to nothing.
  if (error && stop.stop_requested()) return absl::CancelledError(fmt::format("upload of {} was called off", file.string()));
  if (error) return absl::FailedPreconditionError(fmt::format("cannot read {}: {}", file.string(), error.message()));
  header.set_bytes(static_cast<double>(bytes));
  MayRead(header.bytes());
  bool damaged_before = false;
  Tries tries;
  const std::optional<ArtifactKind> kind = ParseArtifactKind(header.kind());
  int tries_without_space = kind == ArtifactKind::kCheckpoint ? kCheckpointTriesWithoutSpace : 1;
  RETURN_IF_ERROR(Retrying(fmt::format("upload of {}", file.string()), stop, kUploadTriesAfterOddErrors, [&] {
    absl::Status status = absl::FailedPreconditionError("no link");
    const bool went_on = tries.may_go_on;
    if (const std::optional<InboxLink> link = inbox_.Link(file)) status = LinkOnce(header, *link, stop);
    if (status.code() == absl::StatusCode::kFailedPrecondition) status = UploadOnce(header, file, tries, stop);
    // What was there is of no use, or there no more: the next try begins with the file.
    if (status.code() == absl::StatusCode::kOutOfRange || status.code() == absl::StatusCode::kDataLoss) tries.may_go_on = false;
    if (status.code() == absl::StatusCode::kOutOfRange && went_on) return absl::UnavailableError(status.message());
    // The scheduler's folder is away.
    if (status.code() == absl::StatusCode::kNotFound) return absl::InternalError(status.message());
    // What is no result is not waited with until there is room.
    if (status.code() == absl::StatusCode::kResourceExhausted && !IsOfAResult(kind) && --tries_without_space == 0) {
      return absl::FailedPreconditionError(status.message());
    }
    if (status.code() == absl::StatusCode::kDataLoss && !std::exchange(damaged_before, true)) {
      return absl::UnavailableError(status.message());  // Damaged on the way: once more.
    }
    return status;
  }));
  return header.sha256();
}

absl::Status Transfers::LinkOnce(v1::UploadHeader& header, const InboxLink& link, std::stop_token stop) {
  v1::UploadHeader linked = header;
  linked.set_linked(link.name());
  int64_t none = 0;
  ASSIGN_OR_RETURN(*header.mutable_sha256(), Send(linked, nullptr, none, std::move(stop)));
  return absl::OkStatus();
}

absl::Status Transfers::UploadOnce(v1::UploadHeader& header, const std::filesystem::path& file, Tries& tries, std::stop_token stop) {
  const auto cannot_read = [&file] { return absl::FailedPreconditionError(fmt::format("cannot read {}", file.string())); };
  if (header.sha256().empty()) {  // Once for all tries: it may take as long as sending.
    absl::StatusOr<std::string> sha256 = Sha256OfFile(file);
    if (!sha256.ok()) return cannot_read();
    header.set_sha256(*std::move(sha256));
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) return cannot_read();
  v1::UploadHeader sent = header;
  if (std::exchange(tries.may_go_on, true)) {
    ASSIGN_OR_RETURN(const int64_t there, FindPart(header, stop));
    sent.set_from(static_cast<double>(there));
    if (!in.seekg(there)) return cannot_read();
    // The scheduler reads it once more before it takes the rest.
    if (there > tries.found) MayRead(sent.from());
    tries.found = std::max(tries.found, there);
  }
  return Send(sent, &in, tries.furthest, std::move(stop)).status();
}

absl::StatusOr<int64_t> Transfers::FindPart(const v1::UploadHeader& header, std::stop_token stop) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineFor(0));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::FindUploadResponse found;
  const absl::Status status = FromGrpc(v1::Artifacts::NewStub(channel_())->FindUpload(&context, header, &found));
  // On a line that breaks now the whole file would not arrive, and once it began, the part would be gone.
  if (status.code() == absl::StatusCode::kUnavailable || status.code() == absl::StatusCode::kDeadlineExceeded) return status;
  // An older scheduler does not know the question. Whatever else it is, the file's own call is told.
  const bool is_a_part = status.ok() && found.bytes() > 0 && found.bytes() <= header.bytes() && found.bytes() == std::floor(found.bytes());
  return is_a_part ? static_cast<int64_t>(found.bytes()) : 0;
}

absl::StatusOr<std::string> Transfers::Send(const v1::UploadHeader& header, std::istream* bytes, int64_t& furthest, std::stop_token stop) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineFor(header.bytes()));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::UploadResponse response;
  const auto stub = v1::Artifacts::NewStub(channel_());  // Of this try: the next may show another certificate.
  const auto writer = stub->Upload(&context, &response);
  v1::UploadRequest request;
  *request.mutable_header() = header;
  bool writing = writer->Write(request) && bytes != nullptr;
  std::string chunk;
  auto sent = static_cast<int64_t>(header.from());
  while (writing) {
    chunk.resize(kChunkBytes);
    bytes->read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    chunk.resize(static_cast<size_t>(bytes->gcount()));
    if (chunk.empty()) break;
    request.set_chunk(chunk);
    writing = writer->Write(request);
    if (writing) sent += std::ssize(chunk);
    if (sent > furthest) uploaded_ += sent - std::exchange(furthest, sent);
  }
  if (bytes != nullptr && bytes->bad()) context.TryCancel();
  writer->WritesDone();
  RETURN_IF_ERROR(FromGrpc(writer->Finish()));
  return response.sha256();
}

// Where a try ends, the next one is no progress: this is said once for a file, and for a part of it that has grown.
void Transfers::MayRead(double bytes) {
  constexpr double kSlowDisk = 4 << 20;  // Bytes a second.
  const auto until = (std::chrono::steady_clock::now() + std::chrono::seconds(static_cast<int64_t>(bytes / kSlowDisk))).time_since_epoch();
  for (auto before = reading_until_.load(); before < until && !reading_until_.compare_exchange_weak(before, until);) {
  }
}

absl::Status Transfers::Download(const std::string& sha256, double bytes, const std::filesystem::path& destination,
                                 std::stop_token stop) {
  bool other_bytes_before = false;
  return Retrying(fmt::format("download of {}", sha256), stop, kTriesAfterOddErrors, [&] {
    absl::Status status = DownloadOnce(sha256, bytes, destination, stop);
    if (status.code() == kOtherBytes && !std::exchange(other_bytes_before, true)) return absl::UnavailableError(status.message());  // Once more.
    return status;
  });
}

absl::Status Transfers::DownloadOnce(const std::string& sha256, double bytes, const std::filesystem::path& destination,
                                     std::stop_token stop) {
  const auto cannot_write = [&destination] {
    return absl::FailedPreconditionError(fmt::format("cannot write {}: {}", destination.string(), std::strerror(errno)));
  };
  std::ofstream out(destination, std::ios::binary | std::ios::trunc);
  if (!out) return cannot_write();
  grpc::ClientContext context;
  context.set_deadline(DeadlineFor(bytes));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::DownloadRequest request;
  request.set_sha256(sha256);
  const auto stub = v1::Artifacts::NewStub(channel_());
  const auto reader = stub->Download(&context, request);
  Sha256 hash;
  v1::DownloadResponse response;
  while (reader->Read(&response)) {
    hash.Update(response.chunk());
    if (out.write(response.chunk().data(), static_cast<std::streamsize>(response.chunk().size())).flush()) continue;
    const absl::Status status = cannot_write();
    context.TryCancel();
    reader->Finish();
    return status;
  }
  RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  out.close();
  if (!out) return cannot_write();
  if (hash.Finish() != sha256) return absl::Status(kOtherBytes, fmt::format("the bytes that arrived for {} have another hash", sha256));
  return absl::OkStatus();
}

}  // namespace longreach::agent
