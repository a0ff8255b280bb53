#include "proto/access/roles.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>

namespace longreach::access {
namespace {

constexpr std::array<v1::Role, 3> kRoles = {v1::ROLE_CLIENT, v1::ROLE_READER, v1::ROLE_WORKER};
constexpr std::string_view kUriStart = "longreach:role:";

// Services that gRPC brings, whose descriptions have no role of ours.
constexpr std::string_view kHealth = "/grpc.health.v1.Health/";
constexpr std::string_view kReflection = "/grpc.reflection.v1alpha.ServerReflection/";

// A client may do all that a reader may. Nothing else includes anything.
bool Includes(v1::Role has, v1::Role needed) {
  return has == needed || (has == v1::ROLE_CLIENT && needed == v1::ROLE_READER);
}

}  // namespace

std::span<const v1::Role> AllRoles() { return kRoles; }

std::string_view RoleName(v1::Role role) {
  switch (role) {
    case v1::ROLE_CLIENT: return "client";
    case v1::ROLE_READER: return "reader";
    case v1::ROLE_WORKER: return "worker";
    default: return "nobody";
  }
}

std::optional<v1::Role> ParseRole(std::string_view name) {
  const auto* const found = std::ranges::find(kRoles, name, RoleName);
  return found == kRoles.end() ? std::nullopt : std::optional(*found);
}

std::string RoleUri(v1::Role role) { return std::string(kUriStart) + std::string(RoleName(role)); }

std::optional<v1::Role> RoleOfUri(std::string_view uri) {
  if (!uri.starts_with(kUriStart)) return std::nullopt;
  return ParseRole(uri.substr(kUriStart.size()));
}

Admission AdmissionOf(std::string_view path) {
  if (path.starts_with(kHealth)) return {.known = true, .any_role = true};
  if (path.starts_with(kReflection)) return {.known = true, .role = v1::ROLE_READER};
  const size_t slash = path.rfind('/');
  if (!path.starts_with('/') || slash == 0) return {};
  const std::string name = std::string(path.substr(1, slash - 1)) + "." + std::string(path.substr(slash + 1));
  const google::protobuf::MethodDescriptor* const method =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  if (method == nullptr) return {};
  return {.known = true,
          .role = method->options().GetExtension(v1::role),
          .also_role = method->options().GetExtension(v1::also_role)};
}

bool Admits(const Admission& admission, v1::Role role) {
  if (!admission.known || std::ranges::find(kRoles, role) == kRoles.end()) return false;
  if (admission.any_role) return true;
  // ROLE_UNSPECIFIED asks for what nobody has.
  return Includes(role, admission.role) || role == admission.also_role;
}

std::string AdmittedRoles(const Admission& admission) {
  std::string names;
  for (const v1::Role role : kRoles) {
    if (!Admits(admission, role)) continue;
    if (!names.empty()) names += " or ";
    names += RoleName(role);
  }
  return names.empty() ? "nobody" : names;
}

}  // namespace longreach::access
