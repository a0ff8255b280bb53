#include "worker/agent/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "proto/base/utf8.h"

namespace longreach::agent {
namespace {

void Write(std::string_view level, std::string_view text) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  // One call of fwrite for a line, so that lines of two threads do not mix.
  const std::string line = fmt::format("{:%Y-%m-%d %H:%M:%S} {:<7} {}\n", fmt::gmtime(now), level, ForTerminal(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void LogInfo(std::string_view text) { Write("info", text); }
void LogWarning(std::string_view text) { Write("warning", text); }

}  // namespace longreach::agent
