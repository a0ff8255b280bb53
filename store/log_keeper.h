// Takes the log (SQLite's WAL) over into the store's file beside the writer, so that no commit has to wait while thousands of pages are
// copied and synced. The writer itself only copies the few that came meanwhile, after which its log begins anew.
#pragma once

#include <condition_variable>
#include <memory>
#include <stop_token>
#include <thread>

#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "store/sql/connection.h"

namespace longreach::store {

// In pages of the log.
struct LogKeeperOptions {
  int begin = 1000;    // So many that are not in the file yet are worth a go.
  int turn = 4000;     // A log of this length is to begin anew,
  int few = 500;       // once the writer has no more than this to copy,
  int most = 40'000;   // or, for want of time, however many it has.
};

class LogKeeper {
 public:
  // From here on the writer's connection leaves its log to this. Both must outlive it.
  static absl::StatusOr<std::unique_ptr<LogKeeper>> Start(sql::Connection& writer, LogKeeperOptions options = {});
  ~LogKeeper();
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

  // On the writer's thread, outside of any transaction, after each group.
  void AfterGroup();
  // Pages in the log. On the writer's thread.
  int pages() { return state_.Lock()->pages; }

 private:
  LogKeeper(sql::Connection& writer, sql::Connection own, LogKeeperOptions options);
  void OnCommit(int pages);
  // Copies what can be copied without waiting for anybody. Whether that was anything.
  bool Copy(sql::Connection& connection);
  void Loop(const std::stop_token& stop);

  sql::Connection& writer_;
  sql::Connection own_;
  const LogKeeperOptions options_;
  struct State {
    int pages = 0;
    int copied = 0;  // Of those.
    int looked = 0;  // When the writer copied last: somebody who reads may keep the log from beginning anew.
  };
  Synchronized<State> state_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace longreach::store
