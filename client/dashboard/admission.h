// Whom the dashboard answers: the page of the person who started it. A port of this machine is open to everybody on it and to every page
// that a browser shows, so what is in the store goes only to who has the key that was printed. It is no cookie: those go to all ports of a
// machine. The page has it from its address, behind '#', which goes to nobody, and shows it with each question.
#pragma once

#include <optional>
#include <string>

#include "client/dashboard/http.h"

namespace longreach::client {

class Admission {
 public:
  // `key`: secret, and of characters that an address may have.
  Admission(int port, std::string key) : port_(port), key_(std::move(key)) {}

  // What to open.
  std::string Url() const;

  // Nothing: answer it. Else what to answer instead: 405 to what is neither GET nor HEAD; 421 under another name than this machine's own
  // (one that somebody lets point here: DNS rebinding); 400 to what is no target.
  std::optional<HttpResponse> Answer(const HttpRequest& request) const;
  // The same of what only the key opens: 403 without it, and to another page of the browser.
  std::optional<HttpResponse> AnswerToSecret(const HttpRequest& request) const;

 private:
  int port_;
  std::string key_;
};

}  // namespace longreach::client
