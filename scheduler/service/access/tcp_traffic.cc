#include "scheduler/service/access/tcp_traffic.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

namespace longreach::service {

std::optional<TcpTraffic> TrafficOf(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  int unread = 0;
  int unacknowledged = 0;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || ioctl(socket, SIOCINQ, &unread) != 0 ||
      ioctl(socket, SIOCOUTQ, &unacknowledged) != 0) {
    return std::nullopt;
  }
  // Older kernels know less.
  if (size < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return std::nullopt;
  const auto waiting = static_cast<uint64_t>(unread);
  return TcpTraffic{.taken = info.tcpi_bytes_received > waiting ? info.tcpi_bytes_received - waiting : 0,
                    .written = info.tcpi_bytes_acked + static_cast<uint64_t>(unacknowledged)};
}

}  // namespace longreach::service
