#include "client/given_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace longreach::client {
namespace {

bool IsOfWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'; }

// What is refused: "only: ...", "sweep 'a': only: ...". What a file says is told by its place in it, "a.yaml:3:1: table: ...".
bool IsRefused(std::string_view line, size_t at, size_t end) {
  return line.substr(end).starts_with(": ") && (at == 0 || line.substr(0, at).ends_with("': "));
}

std::string Replaced(std::string_view line, const std::string& option) {
  std::string field = option;
  std::ranges::replace(field, '-', '_');
  std::string text;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && IsOfWord(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    if (word == "table." + field || (word == field && IsRefused(line, at, end))) {
      text += "--" + option;
    } else {
      text += word;
    }
    if (end < line.size()) text += line[end++];
    at = end;
  }
  return text;
}

}  // namespace

absl::Status NameGivenOptions(const absl::Status& error, const std::vector<std::string>& options) {
  const std::string_view message(error.message().data(), error.message().size());
  const size_t end = std::min(message.find('\n'), message.size());
  std::string first(message.substr(0, end));
  for (const std::string& option : options) first = Replaced(first, option);
  return absl::Status(error.code(), first.append(message.substr(end)));
}

}  // namespace longreach::client
