#include "scheduler/service/access/listener.h"

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
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "proto/access/turned_away.h"
#include "scheduler/service/access/tcp_traffic.h"
#include "scheduler/service/access/tls.h"
#include "scheduler/service/limits.h"

namespace longreach::service {
namespace {

constexpr int kBacklog = 1024;
constexpr int kPauseMs = 100;            // After a connection could not be taken.
constexpr size_t kOtherDescriptors = 256;  // For the store, files under way and gRPC itself.
constexpr size_t kMostUnread = 16 << 10;  // Of a connection that is not taken: HTTP/2's first frames or a ClientHello are in it many times.
// How often connections are looked at on which something comes.
constexpr std::chrono::milliseconds kInspectEvery{50};
// Told once, then armed again when it was looked at. The end is told without being asked for.
constexpr uint32_t kSomethingCame = EPOLLIN | EPOLLONESHOT;
constexpr uint32_t kEndAlone = EPOLLONESHOT;

// "ipv4:10.0.0.7:4242" or "ipv6:%5Bfe80::1%252%5D:4242", as gRPC writes a peer; those of a Unix socket have no names.
std::string PeerText(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) return "the Unix socket";
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
  const std::string interface = v6.sin6_scope_id == 0 ? "" : fmt::format("%25{}", v6.sin6_scope_id);
  return fmt::format("ipv6:%5B{}{}%5D:{}", text, interface, ntohs(v6.sin6_port));
}

void Watch(int epoll, int descriptor, uint32_t events, int how = EPOLL_CTL_ADD) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  // The descriptor is ours, so this fails only without memory.
  if (epoll_ctl(epoll, how, descriptor, &event) != 0) std::abort();
}

}  // namespace

size_t AffordableConnections(size_t wanted, size_t open_files) {
  // Where there are few, half of them are for connections.
  const size_t others = std::min(kOtherDescriptors, open_files / 2);
  return std::min(wanted, (open_files - others) / 2);
}

size_t AffordableConnections(size_t wanted) {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? AffordableConnections(wanted, limit.rlim_cur) : wanted;
}

class Listener::WitnessFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit WitnessFactory(Listener& listener) : listener_(listener) {}
  // Is asked for every call that came past the gate, and wants to see none of them.
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* call) override {
    listener_.Admit(call->server_context()->peer());
    return nullptr;
  }

 private:
  Listener& listener_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Listener::Witness() {
  return std::make_unique<WitnessFactory>(*this);
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const ListenAddress& address, const Options& options, Refusals& cuts) {
  auto listener = std::unique_ptr<Listener>(new Listener(options, cuts));
  listener->new_ones_ = epoll_create1(EPOLL_CLOEXEC);
  listener->standing_ = epoll_create1(EPOLL_CLOEXEC);
  listener->stop_ = eventfd(0, EFD_CLOEXEC);
  if (listener->new_ones_ < 0 || listener->standing_ < 0 || listener->stop_ < 0) {
    return absl::ResourceExhaustedError("no file descriptors left to listen with");
  }
  Watch(listener->new_ones_, listener->stop_, EPOLLIN);  // Never read: both threads hear of it.
  Watch(listener->standing_, listener->stop_, EPOLLIN);
  RETURN_IF_ERROR(address.socket.empty() ? listener->Listen(address) : listener->ListenOnSocket(address));
  return listener;
}

absl::Status Listener::Listen(const ListenAddress& address) {
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
    Watch(new_ones_, socket, EPOLLIN);
  }
  return listening_.empty() ? error(why) : absl::OkStatus();
}

absl::Status Listener::ListenOnSocket(const ListenAddress& address) {
  const std::string path = address.socket.string();
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  // A longer one was refused when the address was read.
  if (path.size() >= sizeof local.sun_path) return absl::InternalError(fmt::format("cannot listen on {}: the path is too long", address.text));
  std::memcpy(local.sun_path, path.data(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0 || bind(socket, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0 || listen(socket, kBacklog) != 0) {
    const std::string why = std::strerror(errno);
    if (socket >= 0) close(socket);
    return absl::FailedPreconditionError(fmt::format("cannot listen on {}: {}; choose another address with --listen", address.text, why));
  }
  listening_.push_back(socket);
  Watch(new_ones_, socket, EPOLLIN);
  return absl::OkStatus();
}

void Listener::Start(grpc::experimental::ExternalConnectionAcceptor& to) {
  taking_ = std::thread([this, &to] { TakeConnections(to); });
  watching_ = std::thread([this] { WatchConnections(); });
}

void Listener::Stop() {
  if (taking_.joinable()) {
    const uint64_t one = 1;
    if (write(stop_, &one, sizeof one) != sizeof one) std::abort();
    taking_.join();
    watching_.join();
  }
  for (const int socket : listening_) close(socket);
  listening_.clear();
}

Listener::~Listener() {
  Stop();
  CloseTurnedAway();
  for (const auto& [watched, connection] : connections_.Lock()->watched) close(watched);
  if (stop_ >= 0) close(stop_);
  if (new_ones_ >= 0) close(new_ones_);
  if (standing_ >= 0) close(standing_);
}

void Listener::TakeConnections(grpc::experimental::ExternalConnectionAcceptor& to) {
  epoll_event events[16];
  while (true) {
    const int count = epoll_wait(new_ones_, events, std::size(events), -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == stop_) return;
      Accept(events[i].data.fd, to);
    }
  }
}

void Listener::WatchConnections() {
  epoll_event events[64];
  auto next = std::chrono::steady_clock::now();
  while (true) {
    const int count = epoll_wait(standing_, events, std::size(events), busy_.empty() ? -1 : static_cast<int>(kInspectEvery.count()));
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[i].data.fd;
      if (descriptor == stop_) return;
      if ((events[i].events & (EPOLLHUP | EPOLLERR)) != 0) {
        End(descriptor);
      } else {
        busy_.push_back(descriptor);
      }
    }
    const auto now = std::chrono::steady_clock::now();
    if (busy_.empty() || now < next) continue;
    for (const int watched : std::exchange(busy_, {})) Inspect(watched);
    next = now + kInspectEvery;
  }
}

void Listener::Accept(int listening, grpc::experimental::ExternalConnectionAcceptor& to) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int socket = accept4(listening, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) {
    // Without descriptors the connection stays in the queue, and asking at once would ask for ever.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      cuts_.Add(fmt::format("no connection can be taken: {}; raise the limit of open files (LimitNOFILE, ulimit -n)", std::strerror(errno)));
      CloseTurnedAway();
      usleep(kPauseMs * 1000);
    }
    return;
  }
  const std::string peer = PeerText(address);
  const int watched = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  const size_t standing = connections_.Lock()->watched.size();
  if (watched < 0 || standing >= options_.max_connections) {
    const bool scarce = watched < 0 || options_.max_connections < kMaxConnections;
    cuts_.Add(fmt::format("connection from {}: there are {} already, and no more are taken{}", peer, standing,
                          scarce ? "; a higher limit of open files (LimitNOFILE, ulimit -n) has room for more" : ""));
    if (watched >= 0) close(watched);
    TurnAway(socket, standing);
    return;
  }
  const bool tcp = address.ss_family != AF_UNIX;
  if (tcp) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  {
    auto connections = connections_.Lock();
    connections->watched[watched] = {.peer = peer, .since = std::chrono::steady_clock::now()};
    if (tcp) connections->by_peer.emplace(peer, watched);
  }
  Watch(standing_, watched, tcp ? kSomethingCame : kEndAlone);
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = socket;
  to.HandleNewConnection(&parameters);
}

// However many come, nothing of them is kept but the last few descriptors, and nobody is waited for: a new connection has room for so few
// bytes. Those few, as who finds a Unix socket closed when it writes its own first bytes does not read what is there.
void Listener::TurnAway(int socket, size_t connections) {
  // Closed with something unread, a connection is reset, and what was said before might be lost with it. Who has sent more than any
  // caller's first bytes may lose it.
  char unread[kMostUnread];
  recv(socket, unread, sizeof unread, MSG_DONTWAIT);
  const std::string told = options_.tls ? access::FullAlert() : access::FullAnswer(connections);
  if (send(socket, told.data(), told.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) shutdown(socket, SHUT_WR);
  const int oldest = std::exchange(turned_away_[oldest_turned_away_], socket);
  if (oldest >= 0) close(oldest);
  oldest_turned_away_ = (oldest_turned_away_ + 1) % turned_away_.size();
}

void Listener::CloseTurnedAway() {
  for (int& socket : turned_away_) {
    if (socket >= 0) close(socket);
    socket = -1;
  }
}

void Listener::End(int watched) {
  Connection ended;
  {
    auto connections = connections_.Lock();
    const auto found = connections->watched.find(watched);
    if (found == connections->watched.end()) return;
    ended = std::move(found->second);
    connections->watched.erase(found);
    // The same peer may be back already, over another descriptor.
    const auto [first, last] = connections->by_peer.equal_range(ended.peer);
    const auto of_this = std::find_if(first, last, [watched](const auto& one) { return one.second == watched; });
    if (of_this != last) connections->by_peer.erase(of_this);
  }
  counts_.Forget(ended.peer);
  accounts_.erase(watched);
  std::erase(busy_, watched);  // Before another connection gets the number.
  close(watched);
  if (ended.admitted || ended.cut || options_.strangers == nullptr) return;
  const std::string tls = TlsFailureSince(ended.since);
  options_.strangers->Add(fmt::format("connection from {}: no call of it was admitted{}", ended.peer,
                                      tls.empty() ? "" : fmt::format("; TLS failed meanwhile: {}", tls)));
}

void Listener::Admit(const std::string& peer) {
  auto connections = connections_.Lock();
  const auto [first, last] = connections->by_peer.equal_range(peer);
  for (auto one = first; one != last; ++one) connections->watched[one->second].admitted = true;
}

void Listener::Inspect(int watched) {
  std::string peer;
  bool admitted = false;
  {
    auto connections = connections_.Lock();
    const auto found = connections->watched.find(watched);
    if (found == connections->watched.end() || found->second.cut) return;
    peer = found->second.peer;
    admitted = found->second.admitted;
  }
  Watch(standing_, watched, kSomethingCame, EPOLL_CTL_MOD);
  const std::optional<TcpTraffic> traffic = TrafficOf(watched);
  if (!traffic) return;
  const std::optional<Sent> sent = accounts_[watched].Read(*traffic, admitted, [this, &peer] { return counts_.Of(peer); });
  if (!sent) return;
  if (const std::string why = Excess(*sent); !why.empty()) Cut(watched, why);
}

void Listener::Cut(int watched, const std::string& why) {
  auto connections = connections_.Lock();
  Connection& connection = connections->watched[watched];
  connection.cut = true;
  shutdown(watched, SHUT_RDWR);  // gRPC hears of it as of any end, once it has read what had come: some MiB, thrown away here.
  while (recv(watched, nullptr, size_t{1} << 30, MSG_TRUNC | MSG_DONTWAIT) > 0) {
  }
  cuts_.Add(fmt::format("connection from {}: cut, {}", connection.peer, why));
}

}  // namespace longreach::service
