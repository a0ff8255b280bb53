// The worker's way to its scheduler: the channels that its calls and files take, made anew when what it shows there was renewed.
#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "proto/access/current_credentials.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"

namespace longreach::agent {

// The channel for the next call.
using ChannelNow = std::function<std::shared_ptr<grpc::Channel>()>;

// All functions are safe from any thread.
class Channels {
 public:
  // Makes no connection yet; that happens with the first call. FAILED_PRECONDITION: another machine, and no authority to know it by, or files that
  // cannot be used (access::ReadCredentials).
  static absl::StatusOr<std::unique_ptr<Channels>> Open(std::string address, access::CredentialFiles files);

  // For calls and for files: on a slow line a file on its way would hold a call of the same connection up for longer than a lease is good for.
  // Each looks first whether another certificate, key, authority or token lies there, at most every few seconds. What is under way on the
  // channel of before goes on there.
  std::shared_ptr<grpc::Channel> ForCall();
  std::shared_ptr<grpc::Channel> ForFile();

  // What is wrong on this side, when no answer comes: it ends with what to do. Empty: nothing that is known.
  std::string OwnTrouble();

  // Looks now. For tests.
  void Look() { credentials_->Look(); }

 private:
  struct Made {
    std::shared_ptr<const access::Credentials> shown;
    std::shared_ptr<grpc::Channel> calls;
    std::shared_ptr<grpc::Channel> files;
  };

  Channels(std::string address, access::CredentialFiles files, std::unique_ptr<access::CurrentCredentials> credentials)
      : address_(std::move(address)), files_(std::move(files)), credentials_(std::move(credentials)) {}
  static absl::StatusOr<Made> Make(const std::string& address, std::shared_ptr<const access::Credentials> shown);
  Made Now();

  const std::string address_;
  const access::CredentialFiles files_;
  const std::unique_ptr<access::CurrentCredentials> credentials_;
  Synchronized<Made> made_;
};

}  // namespace longreach::agent
