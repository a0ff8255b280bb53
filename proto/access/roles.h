// Roles: what a caller may do, and which of them each call of the API asks for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "longreach/v1/options.pb.h"

namespace longreach::access {

// client, reader, worker: those that a certificate or a token may have.
std::span<const v1::Role> AllRoles();

// "client", "reader", "worker"; "nobody" for none.
std::string_view RoleName(v1::Role role);
std::optional<v1::Role> ParseRole(std::string_view name);

// How a certificate tells its role: as a URI among its alternative names, for example "longreach:role:worker".
std::string RoleUri(v1::Role role);
std::optional<v1::Role> RoleOfUri(std::string_view uri);

// Who may call a method. Found in its description, so that a new RPC is closed until its role is written down.
struct Admission {
  bool known = false;                         // There is such a method.
  v1::Role role = v1::ROLE_UNSPECIFIED;       // This role, and those that include it.
  v1::Role also_role = v1::ROLE_UNSPECIFIED;  // And this one.
  bool any_role = false;                      // Every role: the health service.
};

// `path` as HTTP/2 has it: "/longreach.v1.Longreach/SubmitSweep".
Admission AdmissionOf(std::string_view path);

bool Admits(const Admission& admission, v1::Role role);

// "client", "reader or worker": for those who were refused.
std::string AdmittedRoles(const Admission& admission);

}  // namespace longreach::access
