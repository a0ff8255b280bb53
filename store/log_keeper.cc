#include "store/log_keeper.h"

#include <chrono>

#include <sqlite3.h>

namespace longreach::store {
namespace {

// After a go without success: somebody reads, or the disk is full, which the writer meets too, and says so.
constexpr std::chrono::milliseconds kPause{100};

}  // namespace

absl::StatusOr<std::unique_ptr<LogKeeper>> LogKeeper::Start(sql::Connection& writer, LogKeeperOptions options) {
  ASSIGN_OR_RETURN(sql::Connection own, sql::Connection::Open(writer.file(), sql::Mode::kReadWrite));
  return std::unique_ptr<LogKeeper>(new LogKeeper(writer, std::move(own), options));
}

LogKeeper::LogKeeper(sql::Connection& writer, sql::Connection own, LogKeeperOptions options)
    : writer_(writer), own_(std::move(own)), options_(options), thread_([this](const std::stop_token& stop) { Loop(stop); }) {
  const auto on_commit = [](void* self, sqlite3*, const char*, int pages) {
    static_cast<LogKeeper*>(self)->OnCommit(pages);
    return SQLITE_OK;
  };
  sqlite3_wal_hook(writer_.raw(), on_commit, this);
}

LogKeeper::~LogKeeper() {
  sqlite3_wal_hook(writer_.raw(), nullptr, nullptr);
  thread_.request_stop();
  changed_.notify_one();
}

void LogKeeper::OnCommit(int pages) {
  {
    auto state = state_.Lock();
    if (pages < state->pages) state->copied = state->looked = 0;  // It has begun anew.
    state->pages = pages;
    if (state->pages - state->copied < options_.begin) return;
  }
  changed_.notify_one();
}

bool LogKeeper::Copy(sql::Connection& connection) {
  int pages = -1;
  int copied = -1;
  const int code = sqlite3_wal_checkpoint_v2(connection.raw(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
  if (code != SQLITE_OK || copied < 0) return false;
  auto state = state_.Lock();
  // The log may have begun anew since.
  if (copied > state->pages || copied <= state->copied) return false;
  state->copied = copied;
  return true;
}

void LogKeeper::AfterGroup() {
  {
    auto state = state_.Lock();
    const int left = state->pages - state->copied;
    const bool turns = state->pages >= options_.turn && left <= options_.few;
    if (!turns && state->pages < options_.most) return;
    if (left == 0 || state->pages - state->looked < options_.few) return;
    state->looked = state->pages;
  }
  (void)Copy(writer_);  // If the other one is at it just now, then after the next group.
}

void LogKeeper::Loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      auto state = state_.Lock();
      const auto is_worth_it = [&state, this] { return state->pages - state->copied >= options_.begin; };
      if (!changed_.wait(state.lock(), stop, is_worth_it)) return;
    }
    if (Copy(own_)) continue;
    auto state = state_.Lock();
    changed_.wait_for(state.lock(), stop, kPause, [] { return false; });
  }
}

}  // namespace longreach::store
