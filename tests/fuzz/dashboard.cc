// What a browser sends the dashboard: lines METHOD, TARGET, HOST, AUTHORIZATION, SEC-FETCH-SITE.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/dashboard/admission.h"
#include "client/dashboard/questions.h"
#include "client/dashboard/url.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "tests/fuzz/must.h"

using longreach::fuzz::Must;

namespace {

constexpr std::string_view kKey = "the-key";
constexpr std::array<std::string_view, 11> kLooking = {"compare", "explain", "job", "jobs", "list", "logs", "plot", "results", "status", "sweeps", "workers"};

void Ask(const longreach::client::Url& url) {
  const absl::StatusOr<std::vector<std::string>> words = longreach::client::CommandOf(url);
  if (!words.ok()) {
    const std::string message(words.status().message());
    Must(longreach::client::Printable(message, true) == message, "an error holds nothing that a terminal obeys", message);
    return;
  }
  Must(std::ranges::find(kLooking, words->front()) != kLooking.end(), "the command only looks", words->front());
  bool rest = false;
  for (const std::string& word : *words) {
    if (word == "--") rest = true;
    if (rest) continue;
    for (const char* other : {"--store", "--scheduler", "--token-file", "--get", "--spec"}) Must(!word.starts_with(other), "options are the page's", word);
    Must(!word.starts_with("--file") || word == "--file=-", "nothing is written", word);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> lines = longreach::Split(text, '\n');
  lines.resize(5);
  const longreach::client::HttpRequest request{.method = lines[0], .target = lines[1], .host = lines[2], .authorization = lines[3], .fetch_site = lines[4]};
  const longreach::client::Admission admission(7071, std::string(kKey));
  if (!admission.AnswerToSecret(request)) {
    Must(request.authorization == "Bearer " + std::string(kKey), "nobody gets in without the key", text);
    Must(request.method == "GET" || request.method == "HEAD", "nor to change anything", text);
    Must(request.host.starts_with("127.0.0.1") || request.host.starts_with("localhost") || request.host.starts_with("[::1]"), "nor under another name", text);
    Must(!admission.Answer(request), "what the key opens is a request", text);
  }
  if (const std::optional<longreach::client::Url> url = longreach::client::ParseUrl(request.target)) {
    for (const auto& [name, value] : url->parameters) Must(longreach::client::IsPlainText(name) && longreach::client::IsPlainText(value), "parameters are plain text", text);
    Ask(*url);
  }
  return 0;
}
