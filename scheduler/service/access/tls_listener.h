// Takes TCP connections, of which there is a limit, and hands them to gRPC, which speaks TLS over them. So it knows, and logs,
// from where a connection came over which no call was admitted: a stranger's, one that failed to agree on TLS, one too many.
#pragma once

#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/access/refusals.h"
#include "scheduler/service/listen.h"

namespace longreach::service {

// Fewer than `wanted` where the process may not have the file descriptors for so many.
size_t AffordableConnections(size_t wanted);

class TlsListener {
 public:
  // Listens on every address that the host's name stands for. FAILED_PRECONDITION: it cannot.
  static absl::StatusOr<std::unique_ptr<TlsListener>> Open(const ListenAddress& address, size_t max_connections, Refusals& log);
  ~TlsListener();

  int port() const { return port_; }

  // Notes which connections had an admitted call. For the server's builder; the listener outlives the server.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Witness();

  // Once the server runs. `to` outlives the listener.
  void Start(grpc::experimental::ExternalConnectionAcceptor& to);
  // Takes no more connections; those that stand are gRPC's to end.
  void Stop();

 private:
  struct Connection {
    std::string peer;  // As gRPC writes it.
    bool admitted = false;
    std::chrono::steady_clock::time_point since;
  };
  struct Connections {
    std::map<int, Connection> watched;  // By a second descriptor of the same socket, which tells when it has ended.
    std::unordered_map<std::string, int> by_peer;
  };
  class WitnessFactory;

  TlsListener(size_t max_connections, Refusals& log) : max_connections_(max_connections), log_(log) {}
  absl::Status Listen(const ListenAddress& address);
  void Run(grpc::experimental::ExternalConnectionAcceptor& to);
  void Accept(int listening, grpc::experimental::ExternalConnectionAcceptor& to);
  void End(int watched);
  void Admit(const std::string& peer);

  const size_t max_connections_;
  Refusals& log_;
  int port_ = 0;
  int epoll_ = -1;
  int stop_ = -1;
  std::vector<int> listening_;
  Synchronized<Connections> connections_;
  std::thread thread_;
};

}  // namespace longreach::service
