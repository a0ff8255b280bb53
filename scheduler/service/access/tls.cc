#include "scheduler/service/access/tls.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string_view>

#include "proto/access/certificates.h"
#include "proto/access/credentials.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/access/refusals.h"

namespace longreach::service {
namespace {

// How often changed files are looked for.
constexpr unsigned kRenewEveryS = 10;

struct Failure {
  std::chrono::steady_clock::time_point at{};
  std::string text;
};

Synchronized<Failure>& LastFailure() {
  static Synchronized<Failure> last;
  return last;
}

// What else gRPC complains of is mostly what strangers sent; they must not fill a disk with it.
Refusals& GrpcLog() {
  static const SystemClock clock;
  static Refusals log(clock, "grpc");
  return log;
}

// gRPC calls this on any of its threads. A failed handshake is told with its connection.
void OnGrpcLog(gpr_log_func_args* args) {
  const std::string_view text = args->message;
  if (text.find("andshake") != std::string_view::npos) {
    const size_t reason = text.rfind(':');
    *LastFailure().Lock() = {std::chrono::steady_clock::now(), ForLog(reason == std::string_view::npos ? text : text.substr(reason + 1))};
    return;
  }
  GrpcLog().Add(ForLog(text));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> TlsServer(const TlsFiles& files) {
  ASSIGN_OR_RETURN(const std::string certificate, access::ReadSmallFile(files.certificate));
  ASSIGN_OR_RETURN(const std::string key, access::ReadSecretFile(files.key));
  if (const absl::Status pair = access::CheckPair(certificate, key); !pair.ok()) {
    return absl::FailedPreconditionError(
        fmt::format("certificate {} with key {}: {}", files.certificate, files.key, std::string(pair.message())));
  }
  RETURN_IF_ERROR(access::CheckValidNow(certificate, fmt::format("certificate {}", files.certificate)));
  if (!files.client_ca.empty()) {
    ASSIGN_OR_RETURN(const std::string authority, access::ReadSmallFile(files.client_ca));
    RETURN_IF_ERROR(access::CheckValidNow(authority, fmt::format("client authority {}", files.client_ca)));
  }
  grpc::experimental::TlsServerCredentialsOptions options(std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.client_ca, kRenewEveryS));
  options.watch_identity_key_cert_pairs();
  if (!files.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

std::string TlsFailureSince(std::chrono::steady_clock::time_point since) {
  auto last = LastFailure().Lock();
  return last->at >= since && !last->text.empty() ? last->text : std::string();
}

void HearGrpc() {
  static const bool heard = [] {
    gpr_set_log_function(OnGrpcLog);
    return true;
  }();
  (void)heard;
}

}  // namespace longreach::service
