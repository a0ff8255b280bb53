// What an event changes in memory once it is committed: `apply` writes it down, `done` carries it out.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/service/live_board.h"
#include "scheduler/service/news.h"

namespace longreach::service {

struct StartedAttempt {
  int64_t attempt = 0;
  int start_step = 0;
  LiveAttempt live = {};
};

struct Effects {
  // Jobs may have become ready to be leased, or a worker able to take some.
  bool work = false;
  std::vector<StartedAttempt> started = {};
  std::vector<int64_t> ended = {};
  // Jobs that no attempt had have failed: with them, sweeps may have come to their end.
  bool unstarted_failed = false;
  // Jobs that attempts had, and that nobody wants any more.
  int dropped = 0;
  // The steps at which attempts began, before those that they were leased for.
  std::map<int64_t, int> began_at = {};
  // Attempts that have fewer members now.
  std::map<int64_t, int> members = {};
  // Workers whose next answer differs from their last one.
  std::set<std::string> workers = {};
  // What the log tells of it.
  std::vector<News> news = {};
};

}  // namespace longreach::service
