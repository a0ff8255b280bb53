// The log of refused callers: one line each on standard error, with who it was and why, never with a secret; and few of them,
// whatever somebody sends.
#pragma once

#include <string>
#include <string_view>

#include "proto/base/clock.h"
#include "proto/base/synchronized.h"

namespace longreach::service {

class Refusals {
 public:
  // Lines in a period; the rest is counted and told afterwards.
  static constexpr int kLines = 50;
  static constexpr std::chrono::seconds kPeriod{10};

  // `clock` outlives this. Lines begin with `prefix`.
  explicit Refusals(const Clock& clock, std::string_view prefix = "refused") : clock_(clock), prefix_(prefix) {}
  virtual ~Refusals() = default;

  void Add(std::string_view text);

 protected:
  virtual void Write(const std::string& line);

 private:
  struct State {
    SteadyTime since{};
    int lines = 0;
    int64_t unsaid = 0;
  };
  const Clock& clock_;
  const std::string prefix_;
  Synchronized<State> state_;
};

// A line of the scheduler's log, on standard error: "2026-01-31 12:00:00 LINE". The time is UTC. Safe from any thread.
void WriteToLog(const Clock& clock, std::string_view line);

// What a stranger sent, or a path, for a log: at most 120 bytes of it, with \xNN for each byte of what a terminal would act on and of what is no UTF-8, and for
// a '\', so that none of these is mistaken for one that was sent. What people write stays as it is, in whatever alphabet.
std::string ForLog(std::string_view text);

}  // namespace longreach::service
