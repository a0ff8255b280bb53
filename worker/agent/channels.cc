#include "worker/agent/channels.h"

#include <fmt/format.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <utility>
#include <vector>

#include "proto/access/certificates.h"
#include "proto/access/channel.h"
#include "proto/base/text.h"
#include "proto/types/wire_limits.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

enum class Carries { kCalls, kFiles };

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectTo(const std::string& address, const access::Credentials& credentials, Carries what) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  if (what == Carries::kCalls) {
    // A link that died without a word is noticed within 15 s.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  } else {
    // Else gRPC would give channels to one address one connection.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // Only while there is something to carry: the scheduler has a limit on connections.
    arguments.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, 60'000);
    // On a full line the answer to a ping may take its time.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 60'000);
  }
  // We wait between calls ourselves, longer and longer; the channel need not do so as well.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  // In spite of its name: how long one attempt to connect may take. With TLS that is some five round trips.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 8'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return access::OpenChannel(address, credentials, arguments);
}

std::string CertificateNamed(const access::CredentialFiles& files) { return fmt::format("certificate {}", files.certificate); }

// "certificate FILE (good until 2027-11-21) and token FILE".
std::string WhatIsNew(const access::CredentialFiles& files, const access::Credentials& before, const access::Credentials& after) {
  std::vector<std::string> parts;
  if (after.certificate != before.certificate || after.key != before.key) {
    const absl::StatusOr<access::CertificateInfo> info = access::ReadCertificate(after.certificate);
    parts.push_back(CertificateNamed(files) + (info.ok() ? fmt::format(" (good until {})", access::Day(info->until)) : ""));
  }
  if (after.ca != before.ca) parts.push_back(fmt::format("authority {}", files.ca));
  if (after.token != before.token) parts.push_back(fmt::format("token {}", files.token_file));
  return Join(parts, " and ");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Channels>> Channels::Open(std::string address, access::CredentialFiles files) {
  access::CurrentCredentials::Told told;
  told.renewed = [files](const access::Credentials& before, const access::Credentials& after) {
    LogInfo(fmt::format("taken up without a restart: {}", WhatIsNew(files, before, after)));
  };
  told.wrong = [](const std::string& why) {
    LogWarning(fmt::format("a change of what this worker shows its scheduler: {}; what it had before is shown until that is mended", why));
  };
  ASSIGN_OR_RETURN(std::unique_ptr<access::CurrentCredentials> credentials, access::CurrentCredentials::Open(files, std::move(told)));
  ASSIGN_OR_RETURN(Made made, Make(address, credentials->Now()));
  auto channels = std::unique_ptr<Channels>(new Channels(std::move(address), std::move(files), std::move(credentials)));
  *channels->made_.Lock() = std::move(made);
  return channels;
}

absl::StatusOr<Channels::Made> Channels::Make(const std::string& address, std::shared_ptr<const access::Credentials> shown) {
  Made made;
  ASSIGN_OR_RETURN(made.calls, ConnectTo(address, *shown, Carries::kCalls));
  ASSIGN_OR_RETURN(made.files, ConnectTo(address, *shown, Carries::kFiles));
  made.shown = std::move(shown);
  return made;
}

Channels::Made Channels::Now() {
  credentials_->LookIfDue();
  auto made = made_.Lock();
  // Asked for with the lock, or who comes second with what was there first would go back to it.
  if (const std::shared_ptr<const access::Credentials> shown = credentials_->Now(); shown != made->shown) {
    absl::StatusOr<Made> anew = Make(address_, shown);
    if (anew.ok()) *made = *std::move(anew);
  }
  return *made;
}

std::shared_ptr<grpc::Channel> Channels::ForCall() { return Now().calls; }
std::shared_ptr<grpc::Channel> Channels::ForFile() { return Now().files; }

std::string Channels::OwnTrouble() {
  const std::shared_ptr<const access::Credentials> shown = credentials_->Now();
  if (shown->certificate.empty()) return "";
  // Why no scheduler takes it now, though it was good when it was read.
  const std::string trouble(access::CheckValidNow(shown->certificate, CertificateNamed(files_)).message());
  const absl::StatusOr<access::CertificateInfo> info = access::ReadCertificate(shown->certificate);
  const bool expired = info.ok() && std::chrono::system_clock::now() > info->until;
  return expired ? trouble + ", which this worker takes up by itself" : trouble;
}

}  // namespace longreach::agent
