#include "client/dashboard/admission.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "client/dashboard/url.h"
#include "proto/base/sha256.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr std::string_view kKeyParameter = "key";

// How long it takes says nothing of the key.
bool IsKey(std::string_view shown, std::string_view key) { return Sha256Of(shown) == Sha256Of(key); }

// Goes on to the dashboard. Not a redirect: after a link in another page, such as a notebook's, browsers would leave out the new cookie.
constexpr std::string_view kGoOn =
    "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><link rel=\"icon\" href=\"data:,\"><meta http-equiv=\"refresh\" content=\"0;url=/\"><title>Longreach</title>"
    "<p><a href=\"/\">Go on to the dashboard</a></p></html>\n";

HttpResponse Refuse(unsigned status, std::string text) { return {.status = status, .body = std::move(text)}; }

}  // namespace

std::string Admission::Url() const { return fmt::format("http://127.0.0.1:{}/?{}={}", port_, kKeyParameter, key_); }

// Cookies are those of a host, whatever its port: one of its own for each dashboard.
std::string Admission::CookieName() const { return fmt::format("longreach-{}", port_); }

bool Admission::HasKey(const HttpRequest& request) const {
  for (const std::string& part : Split(request.cookie, ';')) {
    const std::string_view cookie = Trim(part);
    const size_t equals = cookie.find('=');
    if (equals != std::string_view::npos && cookie.substr(0, equals) == CookieName() && IsKey(cookie.substr(equals + 1), key_)) return true;
  }
  return false;
}

std::optional<HttpResponse> Admission::Answer(const HttpRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refusal = Refuse(405, "the dashboard changes nothing: only GET and HEAD\n");
    refusal.fields.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  const std::array<std::string, 3> own = {fmt::format("127.0.0.1:{}", port_), fmt::format("localhost:{}", port_), fmt::format("[::1]:{}", port_)};
  if (std::ranges::find(own, request.host) == own.end()) {
    return Refuse(421, fmt::format("this is not the host that was asked for; open http://127.0.0.1:{}/\n", port_));
  }
  const std::optional<longreach::client::Url> url = ParseUrl(request.target);
  if (!url) return Refuse(400, "not a target of a request\n");
  if (url->path == "/" && std::ranges::any_of(url->parameters, [this](const auto& one) { return one.first == kKeyParameter && IsKey(one.second, key_); })) {
    HttpResponse entry{.content_type = "text/html; charset=utf-8", .body = std::string(kGoOn)};
    entry.fields.emplace_back("Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", CookieName(), key_));
    return entry;
  }
  // "none": typed, or opened from a terminal.
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin" && request.fetch_site != "none") {
    return Refuse(403, "asked for by another page; open the address that 'longreach dashboard' printed\n");
  }
  if (!HasKey(request)) return Refuse(403, "open the address that 'longreach dashboard' printed, with the key at its end\n");
  return std::nullopt;
}

}  // namespace longreach::client
