#include "scheduler/service/access/tls.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string_view>

#include "proto/base/synchronized.h"
#include "proto/base/text.h"
#include "scheduler/service/access/refusals.h"

namespace longreach::service {
namespace {

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
    *LastFailure().Lock() = {std::chrono::steady_clock::now(), ForLog(Trim(reason == std::string_view::npos ? text : text.substr(reason + 1)))};
    return;
  }
  GrpcLog().Add(ForLog(text));
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> TlsServer(const CheckedTlsFiles& files) {
  // Reads its paths again and again, and takes up whatever is there; those of `files` have nothing wrong.
  grpc::experimental::TlsServerCredentialsOptions options(std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.pair(), files.pair(), files.client_ca(), static_cast<unsigned>(CheckedTlsFiles::kEvery.count())));
  options.watch_identity_key_cert_pairs();
  if (!files.client_ca().empty()) {
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
