#include "scheduler/service/access/gate.h"

#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "proto/access/roles.h"
#include "scheduler/service/grpc_support.h"

namespace longreach::service {
namespace {

constexpr std::string_view kAuthorization = "authorization";
constexpr std::string_view kBearer = "Bearer ";

// What the log tells of, with who asked.
constexpr std::array<std::string_view, 5> kToldCalls = {"/longreach.v1.Longreach/BackupStore", "/longreach.v1.Longreach/MergeStore",
                                                        "/longreach.v1.Longreach/SteerSweep", "/longreach.v1.Longreach/SteerWorker",
                                                        "/longreach.v1.Longreach/SubmitSweep"};

std::string_view View(grpc::string_ref text) { return {text.data(), text.size()}; }

std::string_view PathOf(const grpc::AuthMetadataProcessor::InputMetadata& metadata) {
  const auto path = metadata.find(":path");
  return path == metadata.end() ? std::string_view() : View(path->second);
}

std::string NameOf(const access::Token& token) { return fmt::format("token {}", token.name); }

std::string NameOf(grpc::string_ref certificate) { return fmt::format("certificate {}", ForLog(View(certificate))); }

// Its first, whatever it holds.
std::optional<std::string_view> AuthorizationIn(const grpc::AuthMetadataProcessor::InputMetadata& metadata) {
  const auto found = metadata.find(grpc::string_ref(kAuthorization.data(), kAuthorization.size()));
  return found == metadata.end() ? std::nullopt : std::optional(View(found->second));
}

// Of a header that the gate has let in. nullopt: the token was taken away just now.
std::optional<access::Token> TokenOf(TokenFile& tokens, std::string_view authorization) {
  authorization.remove_prefix(std::min(authorization.size(), kBearer.size()));
  return tokens.Find(authorization);
}

absl::Status UnknownToken() {
  return absl::UnauthenticatedError("this token is not known here (any more); ask who runs the scheduler for one ('longreach certs token')");
}

absl::Status CheckRole(const access::Admission& admission, v1::Role role, const std::string& who) {
  if (access::Admits(admission, role)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      fmt::format("{} has the role {}, and this call is for {}; call with a certificate or a token of such a role", who, access::RoleName(role),
                  access::AdmittedRoles(admission)));
}

}  // namespace

absl::StatusOr<Gate::Caller> Gate::CallerOf(const InputMetadata& metadata, const grpc::AuthContext& context) const {
  const auto [first, last] = metadata.equal_range(grpc::string_ref(kAuthorization.data(), kAuthorization.size()));
  if (first != last) {
    // A token says who calls, also over a connection that has a certificate.
    const std::string_view value = View(first->second);
    if (std::next(first) != last || !value.starts_with(kBearer)) {
      return absl::UnauthenticatedError("the header 'authorization' must be there once, as 'Bearer TOKEN'");
    }
    const std::optional<access::Token> token = tokens_ == nullptr ? std::nullopt : tokens_->Find(value.substr(kBearer.size()));
    if (token) return Caller{.role = token->role, .who = NameOf(*token)};
    return UnknownToken();
  }
  const std::vector<grpc::string_ref> names = context.FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  if (names.empty()) {
    return absl::UnauthenticatedError("no certificate and no token: set LONGREACH_CERTIFICATE and LONGREACH_KEY, or LONGREACH_TOKEN_FILE");
  }
  Caller caller{.who = NameOf(names.front())};
  int roles = 0;
  for (const grpc::string_ref& uri : context.FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME)) {
    if (!View(uri).starts_with("longreach:")) continue;
    ++roles;
    caller.role = access::RoleOfUri(View(uri)).value_or(v1::ROLE_UNSPECIFIED);
  }
  if (roles == 1 && caller.role != v1::ROLE_UNSPECIFIED) return caller;
  return absl::UnauthenticatedError(
      fmt::format("{} has no role: it needs one URI like {} among its alternative names", caller.who, access::RoleUri(v1::ROLE_CLIENT)));
}

grpc::Status Gate::Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata* consumed, OutputMetadata*) {
  const std::string_view path = PathOf(metadata);
  const auto refuse = [&](const absl::Status& why) {
    const auto agent = metadata.find("user-agent");
    log_.Add(fmt::format("call {}: {} ({})", ForLog(path), std::string(why.message()),
                         agent == metadata.end() ? "no user agent" : ForLog(View(agent->second))));
    return ToGrpc(why);
  };
  const absl::StatusOr<Caller> caller = CallerOf(metadata, *context);
  if (!caller.ok()) return refuse(caller.status());
  const access::Admission admission = access::AdmissionOf(path);
  if (!admission.known) return refuse(absl::UnimplementedError("there is no such call here; caller and scheduler may be of different versions"));
  if (const absl::Status status = CheckRole(admission, caller->role, caller->who); !status.ok()) return refuse(status);
  // Handlers of other calls see no token.
  if (path == kWatchCall || path == kFollowCall || std::ranges::find(kToldCalls, path) != kToldCalls.end()) return grpc::Status::OK;
  if (const auto shown = AuthorizationIn(metadata)) consumed->insert({std::string(kAuthorization), std::string(*shown)});
  return grpc::Status::OK;
}

std::function<absl::Status()> StillAdmitted(TokenFile* tokens, std::string_view path, const grpc::AuthMetadataProcessor::InputMetadata& metadata) {
  const std::optional<std::string_view> shown = AuthorizationIn(metadata);
  if (tokens == nullptr || !shown) return [] { return absl::OkStatus(); };
  const std::optional<access::Token> token = TokenOf(*tokens, *shown);
  if (!token) return UnknownToken;
  return [tokens, token = *token, admission = access::AdmissionOf(path)]() -> absl::Status {
    const std::optional<access::Token> now = tokens->FindAgain(token);
    return now ? CheckRole(admission, now->role, NameOf(*now)) : UnknownToken();
  };
}

std::string NameOfCaller(TokenFile* tokens, const grpc::AuthMetadataProcessor::InputMetadata& metadata, const grpc::AuthContext* context) {
  if (const std::optional<std::string_view> shown = AuthorizationIn(metadata)) {
    // Without tokens there is no gate that has looked at it.
    if (tokens == nullptr) return "";
    const std::optional<access::Token> token = TokenOf(*tokens, *shown);
    return token ? NameOf(*token) : "a token that was taken away just now";
  }
  if (context == nullptr) return "";
  const std::vector<grpc::string_ref> names = context->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.empty() ? "" : NameOf(names.front());
}

}  // namespace longreach::service
