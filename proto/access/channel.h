// Channels to a scheduler: TLS with an authority, plaintext within a machine, and nothing else.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "proto/access/credentials.h"
#include "proto/base/status.h"

namespace longreach::access {

// unix:PATH, localhost, 127.x.y.z or ::1, with a port.
bool IsThisMachine(const std::string& address);

// Makes no connection yet. With an authority TLS is spoken, but for a Unix socket; without one, only with this machine.
// Every call carries the token, if there is one.
// FAILED_PRECONDITION: another machine and no authority; the text says what to set.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const std::string& address, const Credentials& credentials,
                                                           const grpc::ChannelArguments& arguments);

}  // namespace longreach::access
