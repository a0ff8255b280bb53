#include "scheduler/service/access/tls_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "scheduler/service/access/tls.h"

namespace longreach::service {
namespace {

constexpr int kBacklog = 1024;
constexpr int kPauseMs = 100;            // After a connection could not be taken.
constexpr size_t kOtherDescriptors = 256;  // For the store, files under way and gRPC itself.

// "ipv4:10.0.0.7:4242" or "ipv6:%5Bfe80::1%5D:4242", as gRPC writes a peer.
std::string PeerText(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return fmt::format("ipv4:{}:{}", text, ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof text);
    return fmt::format("ipv4:{}:{}", text, ntohs(v6.sin6_port));
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return fmt::format("ipv6:%5B{}%5D:{}", text, ntohs(v6.sin6_port));
}

void Watch(int epoll, int descriptor, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  // The descriptor is ours and new, so this fails only without memory.
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) std::abort();
}

}  // namespace

size_t AffordableConnections(size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const size_t left = limit.rlim_cur > 2 * kOtherDescriptors ? limit.rlim_cur - kOtherDescriptors : kOtherDescriptors;
  return std::min(wanted, left / 2);
}

class TlsListener::WitnessFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit WitnessFactory(TlsListener& listener) : listener_(listener) {}
  // Is asked for every call that came past the gate, and wants to see none of them.
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* call) override {
    listener_.Admit(call->server_context()->peer());
    return nullptr;
  }

 private:
  TlsListener& listener_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> TlsListener::Witness() {
  return std::make_unique<WitnessFactory>(*this);
}

absl::StatusOr<std::unique_ptr<TlsListener>> TlsListener::Open(const ListenAddress& address, size_t max_connections, Refusals& log) {
  auto listener = std::unique_ptr<TlsListener>(new TlsListener(max_connections, log));
  listener->epoll_ = epoll_create1(EPOLL_CLOEXEC);
  listener->stop_ = eventfd(0, EFD_CLOEXEC);
  if (listener->epoll_ < 0 || listener->stop_ < 0) return absl::ResourceExhaustedError("no file descriptors left to listen with");
  Watch(listener->epoll_, listener->stop_, EPOLLIN);
  RETURN_IF_ERROR(listener->Listen(address));
  return listener;
}

absl::Status TlsListener::Listen(const ListenAddress& address) {
  const auto error = [&address](std::string_view what) {
    return absl::FailedPreconditionError(fmt::format("cannot listen on {}: {}", address.text, what));
  };
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int failed = getaddrinfo(address.host.c_str(), nullptr, &hints, &found); failed != 0) return error(gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  port_ = address.port;
  std::string why = "no address";
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;  // No IPv6 here.
    // The first one chooses a port where any will do; all others take the same.
    sockaddr_storage local{};
    std::memcpy(&local, one->ai_addr, one->ai_addrlen);
    auto& port = one->ai_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(local).sin6_port : reinterpret_cast<sockaddr_in&>(local).sin_port;
    port = htons(static_cast<uint16_t>(port_));
    const int on = 1;
    const int off = 0;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (one->ai_family == AF_INET6) setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(socket, reinterpret_cast<const sockaddr*>(&local), one->ai_addrlen) != 0 || listen(socket, kBacklog) != 0) {
      why = std::strerror(errno);
      close(socket);
      continue;
    }
    socklen_t size = sizeof local;
    getsockname(socket, reinterpret_cast<sockaddr*>(&local), &size);
    port_ = ntohs(port);
    listening_.push_back(socket);
    Watch(epoll_, socket, EPOLLIN);
  }
  return listening_.empty() ? error(why) : absl::OkStatus();
}

void TlsListener::Start(grpc::experimental::ExternalConnectionAcceptor& to) {
  thread_ = std::thread([this, &to] { Run(to); });
}

void TlsListener::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    if (write(stop_, &one, sizeof one) != sizeof one) std::abort();
    thread_.join();
  }
  for (const int socket : listening_) close(socket);
  listening_.clear();
}

TlsListener::~TlsListener() {
  Stop();
  for (const auto& [watched, connection] : connections_.Lock()->watched) close(watched);
  if (stop_ >= 0) close(stop_);
  if (epoll_ >= 0) close(epoll_);
}

void TlsListener::Run(grpc::experimental::ExternalConnectionAcceptor& to) {
  epoll_event events[64];
  while (true) {
    const int count = epoll_wait(epoll_, events, std::size(events), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[i].data.fd;
      if (descriptor == stop_) return;
      if (std::ranges::find(listening_, descriptor) != listening_.end()) {
        Accept(descriptor, to);
      } else {
        End(descriptor);
      }
    }
  }
}

void TlsListener::Accept(int listening, grpc::experimental::ExternalConnectionAcceptor& to) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int socket = accept4(listening, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) {
    // Without descriptors the connection stays in the queue, and asking at once would ask for ever.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      log_.Add(fmt::format("no connection can be taken: {}; raise the limit of open files (LimitNOFILE, ulimit -n)", std::strerror(errno)));
      usleep(kPauseMs * 1000);
    }
    return;
  }
  const std::string peer = PeerText(address);
  const int watched = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  const bool room = watched >= 0 && connections_.Lock()->watched.size() < max_connections_;
  if (!room) {
    log_.Add(fmt::format("connection from {}: there are {} already, and no more are taken", peer, max_connections_));
    if (watched >= 0) close(watched);
    close(socket);
    return;
  }
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  {
    auto connections = connections_.Lock();
    connections->watched[watched] = {.peer = peer, .since = std::chrono::steady_clock::now()};
    connections->by_peer[peer] = watched;
  }
  Watch(epoll_, watched, 0);  // Its end is told without being asked for.
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = socket;
  to.HandleNewConnection(&parameters);
}

void TlsListener::End(int watched) {
  Connection ended;
  {
    auto connections = connections_.Lock();
    const auto found = connections->watched.find(watched);
    if (found == connections->watched.end()) return;
    ended = std::move(found->second);
    connections->watched.erase(found);
    // The same peer may be back already, over another descriptor.
    const auto peer = connections->by_peer.find(ended.peer);
    if (peer != connections->by_peer.end() && peer->second == watched) connections->by_peer.erase(peer);
  }
  close(watched);
  if (ended.admitted) return;
  const std::string tls = TlsFailureSince(ended.since);
  log_.Add(fmt::format("connection from {}: no call of it was admitted{}", ended.peer,
                       tls.empty() ? "" : fmt::format("; TLS failed meanwhile:{}", tls)));
}

void TlsListener::Admit(const std::string& peer) {
  auto connections = connections_.Lock();
  const auto found = connections->by_peer.find(peer);
  if (found != connections->by_peer.end()) connections->watched[found->second].admitted = true;
}

}  // namespace longreach::service
