#include "scheduler/service/listen.h"

#include <algorithm>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include "proto/base/text.h"

namespace longreach::service {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::string_view kUnix = "unix:";
constexpr size_t kMaxSocketPath = 107;
constexpr int64_t kMaxPort = 65535;
constexpr std::string_view kForms = "write HOST:PORT, such as localhost:7070, or unix:PATH";

absl::Status MakeSocketFree(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    if (std::filesystem::is_directory(folder, error)) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format("cannot listen on unix:{}: there is no folder {}", path.string(), folder.string()));
  }
  if (status.type() != std::filesystem::file_type::socket) {
    return absl::FailedPreconditionError(fmt::format("cannot listen on unix:{}: there is a file that is no socket; choose another path", path.string()));
  }
  asio::io_context io;
  asio::local::stream_protocol::socket probe(io);
  error_code refused;
  probe.connect(asio::local::stream_protocol::endpoint(path.string()), refused);
  if (!refused) {
    return absl::FailedPreconditionError(
        fmt::format("cannot listen on unix:{}: another process listens there; stop it, or choose another path with --listen", path.string()));
  }
  std::filesystem::remove(path, error);
  if (error) return absl::FailedPreconditionError(fmt::format("cannot remove the old socket {}: {}", path.string(), error.message()));
  return absl::OkStatus();
}

absl::StatusOr<asio::ip::tcp::resolver::results_type> Resolve(asio::io_context& io, const ListenAddress& address) {
  error_code error;
  auto found = asio::ip::tcp::resolver(io).resolve(address.host, fmt::to_string(address.port), asio::ip::tcp::resolver::passive, error);
  if (!error) return found;
  return absl::FailedPreconditionError(fmt::format("cannot listen on {}: '{}' is not known: {}", address.text, address.host, error.message()));
}

absl::Status MakePortFree(const ListenAddress& address) {
  asio::io_context io;
  error_code error;
  ASSIGN_OR_RETURN(const auto found, Resolve(io, address));
  bool any = false;
  for (const auto& entry : found) {
    asio::ip::tcp::acceptor acceptor(io);
    acceptor.open(entry.endpoint().protocol(), error);
    if (error) continue;  // No IPv6 here.
    acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true), error);
    acceptor.bind(entry.endpoint(), error);
    if (error == asio::error::address_in_use) {
      return absl::FailedPreconditionError(
          fmt::format("cannot listen on {}: the port is in use; stop the process that has it, or choose another with --listen HOST:PORT",
                      address.text));
    }
    any |= !error;
  }
  if (any) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("cannot listen on {}: {}", address.text, error.message()));
}

}  // namespace

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  ListenAddress address;
  address.text = text;
  if (text.starts_with(kUnix)) {
    address.socket = text.substr(kUnix.size());
    if (address.socket.empty()) return absl::InvalidArgumentError(fmt::format("--listen {}: no path after 'unix:'", text));
    if (address.socket.string().size() > kMaxSocketPath) {
      return absl::InvalidArgumentError(
          fmt::format("--listen {}: the path has {} bytes, and a socket's may have {}", text, address.socket.string().size(), kMaxSocketPath));
    }
    return address;
  }
  const size_t colon = text.rfind(':');
  const std::string_view port_text = colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  if (port_text.empty()) return absl::InvalidArgumentError(fmt::format("--listen {}: no port; {}", text, kForms));
  if (colon == 0) return absl::InvalidArgumentError(fmt::format("--listen {}: no host; {}", text, kForms));
  const std::optional<int64_t> port = ParseInteger(port_text);
  if (!port || *port < 0 || *port > kMaxPort) {
    return absl::InvalidArgumentError(
        fmt::format("--listen {}: '{}' is no port; a port is a number from 0 (any that is free) to {}", text, port_text, kMaxPort));
  }
  address.host = text.substr(0, colon);
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  address.port = static_cast<int>(*port);
  return address;
}

std::string FoundAt(const ListenAddress& address, int port) {
  if (!address.socket.empty()) return fmt::format("{}{}", kUnix, std::filesystem::absolute(address.socket).string());
  error_code error;
  const asio::ip::address numbers = asio::ip::make_address(address.host, error);  // Else it is a name.
  if (!error && numbers.is_unspecified()) return fmt::format("localhost:{}", port);
  return fmt::format("{}:{}", address.text.substr(0, address.text.rfind(':')), port);
}

absl::StatusOr<bool> IsWithinThisMachine(const ListenAddress& address) {
  if (!address.socket.empty()) return true;
  asio::io_context io;
  ASSIGN_OR_RETURN(const auto found, Resolve(io, address));
  return std::ranges::all_of(found, [](const auto& entry) { return entry.endpoint().address().is_loopback(); });
}

absl::Status MakeFree(const ListenAddress& address) {
  return address.socket.empty() ? MakePortFree(address) : MakeSocketFree(address.socket);
}

}  // namespace longreach::service
