// Where the scheduler listens: HOST:PORT or unix:PATH, checked before gRPC takes it.
#pragma once

#include <filesystem>
#include <string>

#include "proto/base/status.h"

namespace longreach::service {

struct ListenAddress {
  std::string text;             // As gRPC takes it.
  std::filesystem::path socket;  // Of unix:PATH; empty otherwise.
  std::string host;              // Of HOST:PORT.
  int port = 0;
};

// INVALID_ARGUMENT: neither form, a port out of range, or a path too long for a socket.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

// FAILED_PRECONDITION: somebody else listens there, the path is something else than a socket, or the host is not this
// machine's. The socket that a killed scheduler has left behind is removed.
absl::Status MakeFree(const ListenAddress& address);

// It is a socket, or every address that the host's name stands for is a loopback one: nobody else's machine gets there.
// FAILED_PRECONDITION: the name stands for nothing.
absl::StatusOr<bool> IsWithinThisMachine(const ListenAddress& address);

// By what a client of this machine, in whatever folder, finds a scheduler that listens there. `port`: what it got. All addresses (0.0.0.0)
// are none that a certificate is for, so of these it is localhost.
std::string FoundAt(const ListenAddress& address, int port);

}  // namespace longreach::service
