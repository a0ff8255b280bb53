#include "scheduler/service/notice.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "proto/base/utf8.h"

namespace longreach::service {
namespace {

// Bytes of one text: a name has no limit of its own, and an environment has one.
constexpr size_t kMostOfText = 4000;

// A code point of a text, and its bytes.
struct Character {
  int32_t point = 0;
  std::string_view bytes;
  // What a terminal, a mail's header or a shell script that reads lines would act on.
  bool is_control() const { return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029; }
};

// Calls `take` with each; what is no UTF-8 is U+FFFD, and what is beyond the limit is left out.
template <typename Take>
void ForEachCharacter(std::string_view text, const Take& take) {
  const std::string valid = ValidUtf8(text.substr(0, kMostOfText));
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view before = rest;
    const int32_t point = TakeCodePoint(rest);
    take(Character{.point = point, .bytes = before.substr(0, before.size() - rest.size())});
  }
}

std::string Quoted(std::string_view text) {
  std::string json = "\"";
  ForEachCharacter(text, [&json](const Character& one) {
    if (one.is_control()) {
      json += fmt::format("\\u{:04x}", one.point);
      return;
    }
    if (one.point == '"' || one.point == '\\') json += '\\';
    json += one.bytes;
  });
  return json + "\"";
}

std::string Plain(std::string_view text) {
  std::string plain;
  ForEachCharacter(text, [&plain](const Character& one) { plain += one.is_control() ? " " : one.bytes; });
  return plain;
}

}  // namespace

std::string NoticeLine(const News& news, WallTime at) {
  const Notice& notice = *news.notice;
  std::string line = fmt::format(R"({{"schema":"longreach/v1","event":{},"time":"{:%Y-%m-%dT%H:%M:%SZ}","text":{})", Quoted(notice.event),
                                 std::chrono::floor<std::chrono::seconds>(at), Quoted(news.line));
  const auto text = [&line](std::string_view key, std::string_view value) {
    if (!value.empty()) line += fmt::format(R"(,"{}":{})", key, Quoted(value));
  };
  const auto number = [&line](std::string_view key, int64_t value) { line += fmt::format(R"(,"{}":{})", key, value); };
  text("sweep", notice.sweep);
  text("worker", notice.worker);
  text("name", notice.name);
  text("job", notice.job);
  text("reason", notice.reason);
  if (notice.counts) {
    number("jobs", notice.counts->jobs());
    number("done", notice.counts->succeeded);
    number("diverged", notice.counts->diverged);
    number("failed", notice.counts->failed);
    number("cancelled", notice.counts->cancelled);
  }
  if (notice.more > 0) number("more", notice.more);
  return line + "}\n";
}

std::vector<std::string> NoticeEnvironment(const News& news, std::span<const std::string> inherited) {
  const Notice& notice = *news.notice;
  const std::array<std::pair<std::string_view, std::string_view>, 4> own = {{{"LONGREACH_EVENT=", notice.event},
                                                                              {"LONGREACH_TEXT=", news.line},
                                                                              {"LONGREACH_SWEEP=", notice.sweep},
                                                                              {"LONGREACH_NAME=", notice.name}}};
  std::vector<std::string> environment;
  for (const std::string& one : inherited) {
    if (std::ranges::none_of(own, [&one](const auto& variable) { return one.starts_with(variable.first); })) environment.push_back(one);
  }
  for (const auto& [name, value] : own) environment.push_back(std::string(name) + Plain(value));
  return environment;
}

}  // namespace longreach::service
