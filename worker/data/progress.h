// How far an import is: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace longreach::data {

// Called from any thread.
class Progress {
 public:
  virtual ~Progress() = default;
  // `unit`: "images", or "bytes", which are shown as MB. `done`: from an import before this one.
  virtual void Start(int64_t total, int64_t done, const std::string& unit) = 0;
  virtual void Advance(int64_t by) = 0;
  virtual void Finish() = 0;
};

class NoProgress final : public Progress {
 public:
  void Start(int64_t, int64_t, const std::string&) override {}
  void Advance(int64_t) override {}
  void Finish() override {}
};

// On standard error.
class ProgressBar final : public Progress {
 public:
  ProgressBar();
  void Start(int64_t total, int64_t done, const std::string& unit) override;
  void Advance(int64_t by) override;
  void Finish() override;

 private:
  using Clock = std::chrono::steady_clock;
  void Show(Clock::time_point now);

  const bool terminal_;
  std::mutex mutex_;
  int64_t total_ = 0;
  int64_t done_ = 0;
  int64_t done_before_ = 0;
  std::string unit_;
  Clock::time_point started_;
  Clock::time_point shown_;
};

}  // namespace longreach::data
