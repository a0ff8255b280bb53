#include "client/dashboard/admission.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "client/dashboard/url.h"
#include "proto/base/sha256.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kOwnNames[] = {"127.0.0.1", "localhost", "[::1]"};

// How long it takes says nothing of the key.
bool IsKey(std::string_view shown, std::string_view key) { return Sha256Of(shown) == Sha256Of(key); }

// This machine by its own name, with any port: a tunnel may have another one at its near end.
bool IsOwnHost(std::string_view host) {
  return std::ranges::any_of(kOwnNames, [host](std::string_view name) {
    if (!host.starts_with(name)) return false;
    const std::string_view rest = host.substr(name.size());
    return rest.empty() || (rest[0] == ':' && ParseInteger(rest.substr(1)).value_or(-1) >= 0);
  });
}

HttpResponse Refuse(unsigned status, std::string text) { return {.status = status, .body = std::move(text)}; }

}  // namespace

std::string Admission::Url() const { return fmt::format("http://127.0.0.1:{}/#key={}", port_, key_); }

std::optional<HttpResponse> Admission::Answer(const HttpRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refusal = Refuse(405, "the dashboard changes nothing: only GET and HEAD\n");
    refusal.fields.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  if (!IsOwnHost(request.host)) return Refuse(421, "the dashboard is asked under the names 127.0.0.1 and localhost alone\n");
  if (!ParseUrl(request.target)) return Refuse(400, "not a target of a request\n");
  return std::nullopt;
}

std::optional<HttpResponse> Admission::AnswerToSecret(const HttpRequest& request) const {
  if (std::optional<HttpResponse> instead = Answer(request)) return instead;
  // "none": typed, or asked by a program.
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin" && request.fetch_site != "none") {
    return Refuse(403, "asked for by another page; open the address that 'longreach dashboard' printed\n");
  }
  if (!request.authorization.starts_with(kBearer) || !IsKey(std::string_view(request.authorization).substr(kBearer.size()), key_)) {
    return Refuse(403, "open the address that 'longreach dashboard' printed, with the key at its end\n");
  }
  return std::nullopt;
}

}  // namespace longreach::client
