// The one place that decides who may make a call, for every call of every service, before any of its messages is read.
//
// A caller shows a bearer token or a certificate that carries a role; the method's description says which roles it admits
// (proto/access/roles.h). What is not admitted is refused: UNAUTHENTICATED without valid credentials, PERMISSION_DENIED with
// those of another role.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include <string>

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

}  // namespace longreach::service
