// The one place that decides who may make a call, for every call of every service, before any of its messages is read.
//
// A caller shows a bearer token or a certificate that carries a role; the method's description says which roles it admits
// (proto/access/roles.h). What is not admitted is refused: UNAUTHENTICATED without valid credentials, PERMISSION_DENIED with
// those of another role.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include <functional>
#include <string>
#include <string_view>

#include "longreach/v1/options.pb.h"
#include "proto/base/status.h"
#include "scheduler/service/access/refusals.h"
#include "scheduler/service/access/token_file.h"

namespace longreach::service {

class Gate final : public grpc::AuthMetadataProcessor {
 public:
  // `tokens` may be nullptr: then there are certificates only. Both outlive the gate.
  Gate(TokenFile* tokens, Refusals& log) : tokens_(tokens), log_(log) {}

  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata* consumed, OutputMetadata*) override;

 private:
  struct Caller {
    v1::Role role = v1::ROLE_UNSPECIFIED;
    std::string who;  // For the log: "token bob", "certificate gpu-a".
  };
  absl::StatusOr<Caller> CallerOf(const InputMetadata& metadata, const grpc::AuthContext& context) const;

  TokenFile* const tokens_;
  Refusals& log_;
};

// The calls that go on for as long as their callers like. Their handlers see the token, for StillAdmitted(); beside them those of calls that the log tells of,
// for NameOfCaller(). Others do not.
inline constexpr std::string_view kWatchCall = "/longreach.v1.Longreach/WatchSweep";
inline constexpr std::string_view kFollowCall = "/longreach.v1.Longreach/FollowLog";

// Of a call of those kinds, which the gate has admitted and which came with this metadata: says, whenever it is asked, what the gate would say of a new one. A token
// may have been taken away meanwhile, or have another role; a certificate holds for as long as its connection. Keeps no token. `tokens`, which
// may be nullptr as the gate's, outlive it.
std::function<absl::Status()> StillAdmitted(TokenFile* tokens, std::string_view path, const grpc::AuthMetadataProcessor::InputMetadata& metadata);

// Who made a call that the gate has admitted, for the log: "token bob", "certificate gpu-a"; empty where nobody has to say. Of calls whose handlers see the token.
std::string NameOfCaller(TokenFile* tokens, const grpc::AuthMetadataProcessor::InputMetadata& metadata, const grpc::AuthContext* context);

}  // namespace longreach::service
