// The log of what happens: one line for each event that whoever runs the scheduler would look for (news.h), and few of them, however many workers or
// sweeps there are. Nothing is told of single jobs and calls: the store has those.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/base/clock.h"
#include "proto/base/synchronized.h"
#include "scheduler/service/news.h"
#include "store/sql/connection.h"

namespace longreach::service {

class EventLog {
 public:
  // Lines of a kind in a period; the rest is counted, and told when the period is over.
  static constexpr int kLines = 10;
  static constexpr std::chrono::seconds kPeriod{10};
  // Jobs that wait for so long, while nobody works, are news.
  static constexpr std::chrono::minutes kNobodyWorks{10};

  // `write` takes a line, without its end; `notify` takes what has a notice (news.h), and must not wait. Of sweeps that is all of it, for whoever waits
  // for one; of what else comes in numbers only as much as the log tells, and how many more. `clock` outlives this.
  EventLog(const Clock& clock, std::function<void(const std::string& line)> write, std::function<void(const News& news)> notify = nullptr)
      : clock_(clock), write_(std::move(write)), notify_(std::move(notify)) {}

  // Safe from several threads.
  void Add(const News& news);
  // Sweeps may have come to their end.
  void AttemptsHaveEnded();

  // When Look() has something to do.
  std::optional<SteadyTime> NextLook();
  // Tells how many were not said, which sweeps are done, and that nobody works. Before the first Add() it learns which are not, and tells nothing. Not within a transaction.
  void Look(sql::Connection& db, SteadyTime now);
  // At the end, when nothing more happens: what was counted is told, though its period is not over, and which sweeps are done since the last look.
  void Close(sql::Connection& db);

 private:
  // Sweeps that are not done are looked for this often, and only where there is reason to.
  static constexpr std::chrono::seconds kBetweenLooks{1};
  // And whether anybody works.
  static constexpr std::chrono::minutes kBetweenLooksForWork{1};
  struct Said {
    SteadyTime since{};
    int lines = 0;
    int64_t unsaid = 0;
    int64_t not_notified = 0;    // Of these,
    std::string_view event = {};  // which are of this one.
  };
  struct State {
    std::map<News::Kind, Said> said;
    std::set<int64_t> open;  // Sweeps with jobs to do.
    std::optional<SteadyTime> look_at = SteadyTime{};
    SteadyTime look_for_work_at{};
    bool worked = false;                      // An attempt has ended since that look.
    std::optional<SteadyTime> nobody_since;   // Jobs wait, and nobody works.
    bool nobody_told = false;
  };
  void TellCounted(State& state, std::optional<SteadyTime> now);
  std::optional<News> TakeNobodyWorks(sql::Connection& db, SteadyTime now);
  std::vector<News> TakeDone(sql::Connection& db, SteadyTime now);

  const Clock& clock_;
  const std::function<void(const std::string& line)> write_;
  const std::function<void(const News& news)> notify_;
  Synchronized<State> state_;
};

}  // namespace longreach::service
