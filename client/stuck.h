// Why a sweep stands still although jobs of it are ready: no worker is there, or none of those can take them. Asked now and then by
// commands that wait, so that nobody waits in silence for what will not come.
#pragma once

#include <chrono>
#include <string>

#include "client/connection.h"
#include "client/session.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

class StuckWatch {
 public:
  StuckWatch(Session& session, Connection& connection) : session_(session), connection_(connection) {}

  // Asks the scheduler when nothing of the sweep runs and it was not asked just before. True: there is a reason that was not
  // told yet, or jobs that do not come.
  bool Ask(const v1::SweepUpdate& last);

  // One line: which job, and what each worker lacks; which jobs do not come. Empty: something runs, or a worker can take it, and all come.
  const std::string& reason() const { return reason_; }
  // It is a data set that a worker lacks: the reason says what brings it.
  bool lacks_data() const { return lacks_data_; }
  // Since when nothing has begun without a break, in questions asked.
  int times() const { return times_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Look(const v1::SweepUpdate& last);

  Session& session_;
  Connection& connection_;
  Clock::time_point asked_;
  std::string reason_;
  bool lacks_data_ = false;
  std::string told_;
  int times_ = 0;
};

}  // namespace longreach::client
