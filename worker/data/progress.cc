#include "worker/data/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace longreach::data {
namespace {

constexpr int kBarWidth = 30;

std::string Duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressBar::Start(int64_t total, int64_t done, const std::string& unit) {
  const std::lock_guard lock(mutex_);
  total_ = total;
  done_ = done_before_ = done;
  unit_ = unit;
  started_ = shown_ = Clock::now();
  if (done > 0) fmt::print(stderr, "going on where an import was interrupted\n");
  if (terminal_) Show(started_);
}

void ProgressBar::Advance(int64_t by) {
  const std::lock_guard lock(mutex_);
  done_ += by;
  const Clock::time_point now = Clock::now();
  if (now - shown_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(30'000))) return;
  Show(now);
}

void ProgressBar::Finish() {
  const std::lock_guard lock(mutex_);
  if (!terminal_) return;
  Show(Clock::now());
  fmt::print(stderr, "\n");
}

void ProgressBar::Show(Clock::time_point now) {
  shown_ = now;
  const double share = total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : 1.0;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double rate = seconds > 0 ? static_cast<double>(done_ - done_before_) / seconds : 0;
  const std::string left = rate > 0 && seconds > 1 ? fmt::format(", {} left", Duration(static_cast<double>(total_ - done_) / rate)) : "";
  const std::string how_far = unit_ == "bytes" ? fmt::format("{:.0f} of {:.0f} MB, {:.0f} MB/s", static_cast<double>(done_) / 1e6,
                                                             static_cast<double>(total_) / 1e6, rate / 1e6)
                                               : fmt::format("{} of {} {}, {:.0f}/s", done_, total_, unit_, rate);
  if (!terminal_) {
    fmt::print(stderr, "{:3.0f} %  {}{}\n", 100 * share, how_far, left);
    return;
  }
  const int filled = std::clamp(static_cast<int>(share * kBarWidth), 0, kBarWidth);
  fmt::print(stderr, "\r[{}{}] {:3.0f} %  {}{}\x1b[K", std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(kBarWidth - filled), '.'), 100 * share, how_far, left);
  std::fflush(stderr);
}

}  // namespace longreach::data
