#include "scheduler/service/access/refusals.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>

namespace longreach::service {

void Refusals::Add(std::string_view text) {
  const SteadyTime now = clock_.Steady();
  auto state = state_.Lock();
  if (state->since == SteadyTime{} || now - state->since >= kPeriod) {
    if (state->unsaid > 0) Write(fmt::format("{}: {} more in {} s before this", prefix_, state->unsaid, kPeriod.count()));
    *state = {.since = now};
  }
  if (state->lines == kLines) {
    ++state->unsaid;
    return;
  }
  ++state->lines;
  Write(fmt::format("{}: {}", prefix_, text));
}

void Refusals::Write(const std::string& line) { WriteToLog(clock_, line); }

void WriteToLog(const Clock& clock, std::string_view line) {
  const std::string text = fmt::format("{:%Y-%m-%d %H:%M:%S} {}\n", std::chrono::floor<std::chrono::seconds>(clock.Wall()), line);
  // One call, so that lines of two threads do not mix.
  std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string ForLog(std::string_view text) {
  constexpr size_t kMost = 120;
  std::string out;
  for (const char c : text.substr(0, kMost)) {
    if (c >= ' ' && c <= '~' && c != '\\') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text.size() > kMost ? out + "..." : out;
}

}  // namespace longreach::service
