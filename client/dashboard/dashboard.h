// A page of a store or a scheduler for the browser: each panel of it is one command's JSON, asked anew while it is looked at.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/dashboard/admission.h"
#include "client/dashboard/http.h"
#include "client/dashboard/place.h"
#include "client/dashboard/url.h"
#include "client/environment.h"
#include "proto/base/synchronized.h"

namespace longreach::client {

class Dashboard {
 public:
  // Runs one command line, as RunClient().
  using RunLine = std::function<int(std::vector<std::string> words, const Environment& environment)>;

  // `place` outlives it.
  Dashboard(Admission admission, Place& place, Environment environment, RunLine run)
      : admission_(std::move(admission)), place_(place), environment_(std::move(environment)), run_(std::move(run)) {}

  // /, /style.css, /*.js: the page. /vega.js: what draws its figures. These have nothing of the store, and need no key. /api/place: where it
  // looks, and whether that changes. /api/*: the JSON of a command (CommandOf()). What went wrong is {"error":{code,message,hint}} as with every command, with the status 400, 403,
  // 404, 409 or 503.
  HttpResponse Answer(const HttpRequest& request);

 private:
  HttpResponse AnswerCommand(const Url& url);
  HttpResponse RunOnce(const Place::Door& door, const std::vector<std::string>& words) const;
  std::string VariableOf(std::string_view name) const;
  HttpResponse AnswerPlace();
  HttpResponse AnswerVega();

  const Admission admission_;
  Place& place_;
  const Environment environment_;
  const RunLine run_;

  struct Vega {
    std::string script;  // Empty: not made yet.
    bool being_made = false;
    absl::Status failure;
    std::chrono::steady_clock::time_point failed;
  };
  Synchronized<Vega> vega_;
};

}  // namespace longreach::client
