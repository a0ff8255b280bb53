#include "client/no_answer.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>

#include "client/errors.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

constexpr const char* kMakeRoom =
    "try again; end what is connected and not needed (dashboards, 'longreach watch', workers); or start the scheduler with a higher limit of open files "
    "(LimitNOFILE=, 'ulimit -n'), of which each connection takes two";

absl::Status Unavailable(std::string_view message, std::string_view hint) { return Error(absl::StatusCode::kUnavailable, message, hint); }

// Until they end, or a second is over.
template <typename Stream, typename... Where>
std::string FirstBytes(const Where&... where) {
  Stream stream;
  stream.expires_after(std::chrono::seconds(1));
  stream.connect(where...);
  std::array<char, 1024> bytes{};
  stream.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<size_t>(stream.gcount())};
}

absl::Status NoAnswerWithTls(const Unreached& unreached, const std::string& address) {
  switch (unreached.end) {
    case access::ConnectEnd::kNobody:
      for (const char* far : {"Connection refused", "DNS resolution failed", "No route to host", "Network is unreachable"}) {
        if (unreached.grpc_text.find(far) == std::string::npos) continue;
        return Unavailable(fmt::format("no scheduler at {}: {}", address, far),
                           "start one with 'longreach-scheduler --store FILE', or name another with --scheduler HOST:PORT");
      }
      break;
    case access::ConnectEnd::kAlert:
      return Unavailable(fmt::format("the scheduler at {} takes no more connections, or has trouble with its own TLS", address),
                         fmt::format("its log says which, and how many connections it has; {}", kMakeRoom));
    case access::ConnectEnd::kTurnedAway:
    case access::ConnectEnd::kClosed:
    case access::ConnectEnd::kOther: break;
  }
  return Unavailable(fmt::format("no TLS with a scheduler at {}: {}", address, Printable(unreached.grpc_text)),
                     "is it there, does it speak TLS, is --ca its authority, is its certificate for this name, and are that one and yours still good? "
                     "its log says whom it refused and why");
}

}  // namespace

absl::Status NoAnswer(const Unreached& unreached) {
  const std::string address = Printable(unreached.address);
  if (unreached.tls) return NoAnswerWithTls(unreached, address);
  if (unreached.connections) {
    return Unavailable(fmt::format("the scheduler at {} has {} connections, and takes no more", address, *unreached.connections), kMakeRoom);
  }
  if (unreached.end == access::ConnectEnd::kTurnedAway) {
    return Unavailable(fmt::format("what listens at {} answers in HTTP/1.1", address),
                       fmt::format("a scheduler that has as many connections as it takes does so, and its log says that: {}; else it is a web server, and "
                                   "--scheduler HOST:PORT names another place",
                                   kMakeRoom));
  }
  if (unreached.end == access::ConnectEnd::kClosed) {
    return Unavailable(fmt::format("what listens at {} closed the connection at once", address),
                       "a scheduler that speaks TLS does so, and needs --ca FILE; so does one of another version that has as many connections as it takes: its log says "
                       "what it was; else it is no scheduler, and --scheduler HOST:PORT names another place");
  }
  if (unreached.timed_out) {
    return Unavailable(fmt::format("somebody listens at {} and does not answer", address),
                       "a scheduler does so that is stopped (Ctrl-Z, SIGSTOP), is short of memory or has a machine with too much else to do: 'ps' shows it, and the same command tries "
                       "again; else it is no scheduler, and --scheduler HOST:PORT names another place");
  }
  return Unavailable(fmt::format("no scheduler at {}", address),
                     "start one with 'longreach-scheduler --store FILE', name another with --scheduler HOST:PORT, or open a store "
                     "with --store FILE; one that speaks TLS needs --ca FILE\n'longreach run SPEC --store FILE' needs none");
}

std::optional<uint64_t> ConnectionsOfFullScheduler(const std::string& address) {
  namespace asio = boost::asio;
  constexpr std::string_view kOfSocket = "unix:";
  constexpr size_t kMostOfPath = 107;  // A socket's path has no room for more.
  if (address.starts_with(kOfSocket)) {
    const std::string path = address.substr(kOfSocket.size());
    if (path.size() > kMostOfPath) return std::nullopt;
    return access::ConnectionsOfFull(FirstBytes<asio::local::stream_protocol::iostream>(asio::local::stream_protocol::endpoint(path)));
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return access::ConnectionsOfFull(FirstBytes<asio::ip::tcp::iostream>(host, address.substr(colon + 1)));
}

}  // namespace longreach::client
