// Takes connections, of which there is a limit, and hands them to gRPC. One too many is told so before it is closed, and gRPC's own
// listener, once it found no file descriptor left, would take none ever again. Of TCP it also knows from where a connection came over
// which no call was admitted (a stranger's, one that failed to agree on TLS), and it cuts those that send too much.
#pragma once

#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/access/account.h"
#include "scheduler/service/access/call_counts.h"
#include "scheduler/service/access/refusals.h"
#include "scheduler/service/listen.h"

namespace longreach::service {

// Fewer than `wanted` where `open_files` are not enough for so many: each takes two, and connections leave what the store and calls under way need.
size_t AffordableConnections(size_t wanted, size_t open_files);
// By what this process may open.
size_t AffordableConnections(size_t wanted);

class Listener {
 public:
  struct Options {
    size_t max_connections = 0;
    bool tls = false;  // What callers speak, so what one too many is told in.
    // Is told of connections over TCP that ended without an admitted call. Null: nobody is.
    Refusals* strangers = nullptr;
  };
  // Listens on the socket, or on every address that the host's name stands for. FAILED_PRECONDITION: it cannot.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const ListenAddress& address, const Options& options, Refusals& cuts);
  ~Listener();

  int port() const { return port_; }  // 0 of a Unix socket.

  // Notes which connections over TCP had an admitted call. For the server's builder; the listener outlives the server.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Witness();

  // Once the server runs. `to` outlives the listener.
  void Start(grpc::experimental::ExternalConnectionAcceptor& to);
  // Takes no more connections; those that stand are gRPC's to end.
  void Stop();

 private:
  struct Connection {
    std::string peer;  // As gRPC writes it, if it came over TCP.
    bool admitted = false;
    bool cut = false;
    std::chrono::steady_clock::time_point since;
  };
  struct Connections {
    std::map<int, Connection> watched;  // By a second descriptor of the same socket, which tells when it has ended.
    std::unordered_multimap<std::string, int> by_peer;  // Several where this machine has several addresses. None of a Unix socket, where all are one peer.
  };
  class WitnessFactory;

  Listener(const Options& options, Refusals& cuts) : options_(options), cuts_(cuts) {}
  absl::Status Listen(const ListenAddress& address);
  absl::Status ListenOnSocket(const ListenAddress& address);
  void TakeConnections(grpc::experimental::ExternalConnectionAcceptor& to);
  void WatchConnections();
  void Accept(int listening, grpc::experimental::ExternalConnectionAcceptor& to);
  void TurnAway(int socket, size_t connections);
  void CloseTurnedAway();
  void End(int watched);
  void Admit(const std::string& peer);
  // Looks at a connection on which something came, and cuts it if that was too much.
  void Inspect(int watched);
  void Cut(int watched, const std::string& why);

  const Options options_;
  Refusals& cuts_;
  int port_ = 0;
  int new_ones_ = -1;  // epoll's: of the listening sockets, and of the connections.
  int standing_ = -1;
  int stop_ = -1;
  std::vector<int> listening_;
  Synchronized<Connections> connections_;
  // Of `watching_` alone.
  std::vector<int> busy_;  // Something came on these, and they tell of no more until they were looked at.
  CallCounts counts_;
  std::unordered_map<int, Account> accounts_;
  // The last that were turned away, of the taking thread: -1 for none.
  std::array<int, 4> turned_away_ = {-1, -1, -1, -1};
  size_t oldest_turned_away_ = 0;
  // Apart: gRPC begins to read on the thread that hands a connection over, and goes on for as long as bytes come without a pause.
  std::thread taking_;
  std::thread watching_;
};

}  // namespace longreach::service
