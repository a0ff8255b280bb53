#include "scheduler/service/access/refusals.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "proto/base/utf8.h"

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
  size_t end = std::min(text.size(), kMost);
  // A character is shown as a whole, or not at all.
  while (end < text.size() && end > kMost - 4 && IsWithinCharacter(text[end])) --end;
  const std::string out = Escaped(text.substr(0, end), [](int32_t point) { return !IsControl(point) && point != '\\'; });
  return text.size() > end ? out + "..." : out;
}

}  // namespace longreach::service
