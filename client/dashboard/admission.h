// Whom the dashboard answers: the browser of the person who started it. A port of this machine is open to everybody on it, and to every
// page that a browser shows; so an answer needs the key that was printed, and goes to no other page and no other name.
#pragma once

#include <optional>
#include <string>

#include "client/dashboard/http.h"

namespace longreach::client {

class Admission {
 public:
  // `key`: of URL-safe characters, and secret.
  Admission(int port, std::string key) : port_(port), key_(std::move(key)) {}

  // What to open: with the key, which becomes a cookie and leaves the address bar.
  std::string Url() const;

  // Nothing: answer it. Else what to answer instead: 405 to what is neither GET nor HEAD; 421 under another name than this machine's own
  // (one that somebody lets point here: DNS rebinding); 400 to what is no target; 200 with the key in the address: the cookie, and a page
  // that goes on; 403 asked by another page, or without the key.
  std::optional<HttpResponse> Answer(const HttpRequest& request) const;

 private:
  std::string CookieName() const;
  bool HasKey(const HttpRequest& request) const;

  int port_;
  std::string key_;
};

}  // namespace longreach::client
