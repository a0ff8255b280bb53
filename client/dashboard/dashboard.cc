#include "client/dashboard/dashboard.h"

#include <memory>
#include <sstream>

#include "client/dashboard/page.h"
#include "client/dashboard/questions.h"
#include "client/errors.h"
#include "client/figure/vega_renderer.h"
#include "client/output/json.h"
#include "proto/base/build_info.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr const char* kJson = "application/json; charset=utf-8";
// What failed is not tried again before: each try starts a Python or several.
constexpr std::chrono::seconds kAfterFailure{60};

unsigned HttpStatusOf(int exit_code) {
  switch (exit_code) {
    case kDone: return 200;
    case kUsage: return 400;
    case kNotAllowed: return 403;
    case kNotFound: return 404;
    case kUnreachable: return 503;
    default: return 409;
  }
}

HttpResponse ErrorAnswer(const absl::Status& status) {
  return {.status = HttpStatusOf(ExitCodeOf(status)), .content_type = kJson, .body = FormatErrorAsJson(status)};
}

// Commands may talk before they fail; the error is the last line.
std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = Split(Trim(text), '\n');
  return lines.back() + "\n";
}

}  // namespace

HttpResponse Dashboard::Answer(const HttpRequest& request) {
  if (std::optional<HttpResponse> instead = admission_.Answer(request)) return *std::move(instead);
  const std::optional<Url> url = ParseUrl(request.target);
  if (const PageFile* file = FindPageFile(url->path); file != nullptr) {
    return {.content_type = std::string(file->content_type), .body = std::string(file->bytes)};
  }
  if (url->path == "/vega.js") return AnswerVega();
  if (std::optional<HttpResponse> instead = admission_.AnswerToSecret(request)) return *std::move(instead);
  if (url->path == "/api/place") return AnswerPlace();
  return AnswerCommand(*url);
}

HttpResponse Dashboard::AnswerCommand(const Url& url) {
  const absl::StatusOr<std::vector<std::string>> words = CommandOf(url);
  if (!words.ok()) return ErrorAnswer(words.status());
  // A store's scheduler may have ended since it was last asked; then the store is opened anew, or whoever holds it now is asked.
  for (bool again = false;; again = true) {
    absl::StatusOr<std::shared_ptr<Place::Door>> door = place_.Enter();
    if (!door.ok()) return ErrorAnswer(door.status());
    HttpResponse answer = RunOnce(**door, *words);
    if (answer.status != HttpStatusOf(kUnreachable)) return answer;
    if (!place_.Leave(*door) || again) return answer;
  }
}

HttpResponse Dashboard::RunOnce(const Place::Door& door, const std::vector<std::string>& words) const {
  std::vector<std::string> line = door.words;
  line.insert(line.end(), words.begin(), words.end());
  std::ostringstream out, err;
  Environment environment = environment_;
  environment.out = &out;
  environment.err = &err;
  environment.out_is_terminal = environment.err_is_terminal = false;
  environment.out_width = environment.err_width = [] { return 0; };
  environment.out_fd = -1;
  environment.store = place_.Store();
  environment.variable = [this](const char* name) { return VariableOf(name); };
  const int code = run_(std::move(line), environment);
  // What failed of a sweep is no failure of the command that shows it.
  if (std::string text = out.str(); !text.empty()) return {.content_type = kJson, .body = std::move(text)};
  return {.status = HttpStatusOf(code == kDone ? kFailed : code), .content_type = kJson, .body = LastLine(err.str())};
}

HttpResponse Dashboard::AnswerPlace() {
  const Place::Standing standing = place_.Look();
  return {.content_type = kJson,
          .body = JsonDocument({{"build", JsonText(BuildDescription())},
                                {"flags", JsonText(place_.Flags())},
                                {"changing", standing.changing ? "true" : "false"},
                                {"version", JsonNumber(standing.version)}})};
}

// Where to ask is said by the line itself: what else might say so, the environment and a config file in a home, is not seen by it.
std::string Dashboard::VariableOf(std::string_view name) const {
  const bool hidden = name == "HOME" || name == "XDG_CONFIG_HOME" || (name.starts_with("LONGREACH_") && name != "LONGREACH_TOKEN");
  return hidden ? "" : environment_.variable(std::string(name).c_str());
}

HttpResponse Dashboard::AnswerVega() {
  constexpr const char* kScript = "text/javascript; charset=utf-8";
  {
    auto vega = vega_.Lock();
    if (!vega->script.empty()) return {.content_type = kScript, .body = vega->script};
    // A script that does nothing: the page comes again, and holds no thread meanwhile.
    if (vega->being_made) return {.status = 202, .content_type = kScript, .body = ""};
    if (!vega->failure.ok() && std::chrono::steady_clock::now() - vega->failed < kAfterFailure) return ErrorAnswer(vega->failure);
    vega->being_made = true;
  }
  // Not under the lock: it takes seconds, and others would stand there.
  absl::StatusOr<std::string> made = VegaScript(environment_);
  auto vega = vega_.Lock();
  vega->being_made = false;
  vega->failure = made.status();
  vega->failed = std::chrono::steady_clock::now();
  if (!made.ok()) return ErrorAnswer(made.status());
  vega->script = *std::move(made);
  return {.content_type = kScript, .body = vega->script};
}

}  // namespace longreach::client
