#include "proto/access/channel.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "proto/access/keep_grpc.h"

namespace longreach::access {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

// gRPC's own call credentials want an encrypted channel, which a connection within a machine is not.
class TokenInterceptor final : public Interceptor {
 public:
  explicit TokenInterceptor(const std::string& header) : header_(header) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->insert({"authorization", header_});
    }
    methods->Proceed();
  }

 private:
  const std::string& header_;
};

class TokenFactory final : public ClientInterceptorFactoryInterface {
 public:
  explicit TokenFactory(const std::string& token) : header_("Bearer " + token) {}
  Interceptor* CreateClientInterceptor(ClientRpcInfo*) override { return new TokenInterceptor(header_); }

 private:
  const std::string header_;
};

// What it has to say of a call it says by its status, which callers tell in their own words. Whoever asks for its log gets it.
void HushGrpc() {
  static const bool hushed = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr && std::getenv("GRPC_TRACE") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)hushed;
}

}  // namespace

bool IsThisMachine(const std::string& address) {
  return address.starts_with("unix:") || address.starts_with("localhost:") || address.starts_with("127.") ||
         address.starts_with("[::1]:");
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const std::string& address, const Credentials& credentials,
                                                           const grpc::ChannelArguments& arguments) {
  KeepGrpc();
  HushGrpc();
  std::shared_ptr<grpc::ChannelCredentials> transport;
  if (!credentials.ca.empty() && !address.starts_with("unix:")) {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = credentials.ca;
    tls.pem_cert_chain = credentials.certificate;
    tls.pem_private_key = credentials.key;
    transport = grpc::SslCredentials(tls);
  } else if (IsThisMachine(address)) {
    transport = grpc::InsecureChannelCredentials();
  } else {
    return absl::FailedPreconditionError(
        fmt::format("{} is another machine, and connections to it are encrypted; set ca to the file of its scheduler's authority "
                    "(--ca FILE or LONGREACH_CA), and certificate and key, or a token",
                    address));
  }
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  if (!credentials.token.empty()) interceptors.push_back(std::make_unique<TokenFactory>(credentials.token));
  return grpc::experimental::CreateCustomChannelWithInterceptors(address, transport, arguments, std::move(interceptors));
}

}  // namespace longreach::access
