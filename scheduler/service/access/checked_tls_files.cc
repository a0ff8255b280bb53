#include "scheduler/service/access/checked_tls_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "proto/access/certificates.h"
#include "proto/access/credentials.h"

namespace longreach::service {
namespace {

absl::Status MemoryError() { return absl::ResourceExhaustedError(fmt::format("no memory for the TLS files: {}", std::strerror(errno))); }

// Whoever opens /proc/self/fd/`fd` afterwards reads `text`; who has it open goes on with what was there.
absl::Status Replace(int& fd, const std::string& text) {
  const int made = memfd_create("longreach-tls", MFD_CLOEXEC);
  if (made < 0) return MemoryError();
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t more = write(made, text.data() + written, text.size() - written);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    written += static_cast<size_t>(more);
  }
  absl::Status result = written == text.size() ? absl::OkStatus() : MemoryError();
  if (result.ok() && fd < 0) {
    fd = made;
    return result;
  }
  if (result.ok() && dup3(made, fd, O_CLOEXEC) < 0) result = MemoryError();
  close(made);
  return result;
}

std::string CertificateName(const TlsFiles& files) { return fmt::format("certificate {}", files.certificate); }
std::string AuthorityName(const TlsFiles& files) { return fmt::format("client authority {}", files.client_ca); }

std::string AsItServes(const std::string& what, const std::string& pem) {
  const absl::StatusOr<access::CertificateInfo> info = access::ReadCertificate(pem);
  return info.ok() ? fmt::format("{} (good until {})", what, access::Day(info->until)) : what;
}

std::string PathOf(int fd) { return fd < 0 ? std::string() : fmt::format("/proc/self/fd/{}", fd); }

}  // namespace

CheckedTlsFiles::CheckedTlsFiles(TlsFiles files, Refusals& log, ToldOfTls told)
    : files_(std::move(files)), log_(log), told_(std::move(told)), state_(State{.files = access::ChangedFiles({files_.certificate, files_.key, files_.client_ca})}) {}

absl::StatusOr<std::unique_ptr<CheckedTlsFiles>> CheckedTlsFiles::Open(TlsFiles files, Refusals& log, ToldOfTls told) {
  auto checked = std::unique_ptr<CheckedTlsFiles>(new CheckedTlsFiles(std::move(files), log, std::move(told)));
  {
    auto state = checked->state_.Lock();
    RETURN_IF_ERROR(state->files.Begin([&checked, &state] { return checked->Take(*state); }));
  }
  if (::access(checked->pair().c_str(), R_OK) != 0) {
    return absl::FailedPreconditionError(fmt::format("TLS needs /proc, and {} cannot be read: {}; mount it", checked->pair(), std::strerror(errno)));
  }
  return checked;
}

CheckedTlsFiles::~CheckedTlsFiles() {
  if (follower_.joinable()) {
    follower_.request_stop();
    follower_.join();
  }
  if (pair_ >= 0) close(pair_);
  if (client_ca_ >= 0) close(client_ca_);
}

std::string CheckedTlsFiles::pair() const { return PathOf(pair_); }
std::string CheckedTlsFiles::client_ca() const { return PathOf(client_ca_); }

absl::Status CheckedTlsFiles::Take(State& state) {
  ASSIGN_OR_RETURN(std::string certificate, access::ReadSmallFile(files_.certificate));
  ASSIGN_OR_RETURN(const std::string key, access::ReadSecretFile(files_.key));
  if (const absl::Status pair = access::CheckPair(certificate, key); !pair.ok()) {
    return absl::FailedPreconditionError(
        fmt::format("certificate {} with key {}: {}", files_.certificate, files_.key, std::string(pair.message())));
  }
  RETURN_IF_ERROR(access::CheckValidNow(certificate, CertificateName(files_)));
  if (!files_.client_ca.empty()) {
    ASSIGN_OR_RETURN(std::string authority, access::ReadSmallFile(files_.client_ca));
    RETURN_IF_ERROR(access::CheckValidNow(authority, AuthorityName(files_)));
    RETURN_IF_ERROR(Replace(client_ca_, authority));
    state.authority = std::move(authority);
  }
  RETURN_IF_ERROR(Replace(pair_, fmt::format("{}\n{}", key, certificate)));
  state.certificate = std::move(certificate);
  return absl::OkStatus();
}

void CheckedTlsFiles::Look(std::chrono::sys_seconds now) {
  auto state = state_.Lock();
  const std::string certificate = state->certificate, authority = state->authority;
  const std::string wrong = state->files.Look([this, &state] { return Take(*state); });
  if (!wrong.empty()) log_.Add(fmt::format("a change of the TLS files: {}; those of before still serve", wrong));
  if (told_.renewed && state->certificate != certificate) told_.renewed(AsItServes(CertificateName(files_), state->certificate));
  if (told_.renewed && state->authority != authority) told_.renewed(AsItServes(AuthorityName(files_), state->authority));
  TellOfEnds(*state, now);
}

void CheckedTlsFiles::TellOfEnds(State& state, std::chrono::sys_seconds now) const {
  if (!told_.ends) return;
  if (const auto today = std::chrono::floor<std::chrono::days>(now); today != state.told_on) {
    state.told.clear();
    state.told_on = today;
  }
  for (const std::string& line : {access::EndOfCertificate(state.certificate, CertificateName(files_), now), access::EndOfCertificate(state.authority, AuthorityName(files_), now)}) {
    if (!line.empty() && state.told.insert(line).second) told_.ends(line);
  }
}

void CheckedTlsFiles::Follow() {
  follower_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, stop, kEvery, [&stop] { return stop.stop_requested(); })) Look();
  });
}

}  // namespace longreach::service
