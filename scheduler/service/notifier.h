// Tells a program of news (--notify): once of each, one after the other, on a thread of its own. Whoever has news never waits for it. What is told was
// committed before; what is not told when this process ends is told by nobody.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/news.h"

namespace longreach::service {

class Notifier {
 public:
  // News that wait while the program is behind. What comes then is counted only.
  static constexpr size_t kMost = 100;
  // Of one run of the program.
  static constexpr std::chrono::seconds kLimit{30};
  // At the end of the scheduler, for what waits and what is running.
  static constexpr std::chrono::seconds kPatience{5};

  // Tells of one, to the end; ends early where `give_up` says so. Not OK: what went wrong, in words that go on from "the program".
  using Run = std::function<absl::Status(const News& news, WallTime at, const std::function<bool()>& give_up)>;
  // `clock` outlives this.
  Notifier(const Clock& clock, Run run, std::function<void(const std::string& line)> log) : clock_(clock), run_(std::move(run)), log_(std::move(log)) {}
  ~Notifier() { Stop(); }
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Until then all that comes waits: of a scheduler that does not come to work nobody hears.
  void Start();
  // `news` has a notice. Safe from several threads.
  void Add(const News& news);
  // Ends within kPatience, and the log says what was left out.
  void Stop();

 private:
  struct Waiting {
    News news;
    WallTime at{};
  };
  struct Queue {
    std::deque<Waiting> waiting;
    int64_t left_out = 0;  // Since the log said so.
    std::optional<SteadyTime> give_up_at;  // The scheduler ends.
    bool over(SteadyTime now) const { return give_up_at && now >= *give_up_at; }
  };
  void Loop();
  // The next one, once it is there; nothing: it is over.
  std::optional<Waiting> Take();
  void LogLeftOut(int64_t count) const;

  const Clock& clock_;
  const Run run_;
  const std::function<void(const std::string& line)> log_;
  Synchronized<Queue> queue_;
  std::condition_variable changed_;
  std::thread thread_;
};

// Runs this program, with the environment that this process has now, and kills it after `limit`.
Notifier::Run TellProgram(std::filesystem::path program, std::chrono::milliseconds limit = Notifier::kLimit);

}  // namespace longreach::service
