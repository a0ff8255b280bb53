// The logs of running attempts, as far as somebody follows them just now. Only in memory, and only for as long: what an attempt has printed is on its
// worker's disk, and comes to the store when it ends.
//
// Followers are woken and read for themselves. Of each log the newest bytes are kept, once for all of its followers: one that is slow finds that the
// oldest are gone, and keeps nobody waiting. The engine says what workers have sent (running_logs.cc), and asks what they are to send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "longreach/v1/api.pb.h"
#include "longreach/v1/worker.pb.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "proto/types/wire_limits.h"

namespace longreach::service {

// docs/OPERATIONS.md has them for people.
struct LogLimits {
  size_t attempts = 64;    // Whose logs are followed at a time,
  size_t followers = 256;  // by so many of all of them.
  size_t bytes = size_t{64} << 10;  // That are kept of each.
};

// So many answers in turn may ask for a log in vain. Some are lost, as a worker with news ends the call that is held open for it; a worker that does not know the
// question never answers it.
inline constexpr int kMostLogQuestions = 3;

// Safe from several threads.
class LogBoard {
 public:
  class Follower;

  explicit LogBoard(const LogLimits& limits = {}) : limits_(limits) {}

  // From which byte on its worker is to send an attempt's log; nothing: nobody follows it.
  std::optional<uint64_t> WantedFrom(int64_t attempt) const;
  // The same, for an answer that goes to the worker now.
  std::optional<uint64_t> Ask(int64_t attempt);
  // A part of it has come. One that is too long, that repeats what is there, or that begins later than asked without being long is of no effect: a
  // worker leaves something out only where more is there than a part may have.
  void Take(int64_t attempt, const v1::AttemptLog& part);
  // A call of its worker, which is called `worker`, has come without it.
  void Missed(int64_t attempt, const std::string& worker, const std::string& build);
  // The attempt has ended, and the store says so.
  void End(int64_t attempt);
  // Nobody follows anything any further: the scheduler ends.
  void Close();

  // `wake` is called whenever there may be something new to read, on any thread and with this board's lock: it must be quick, and leave the board alone.
  // The board outlives the follower.
  // RESOURCE_EXHAUSTED: the limits. FAILED_PRECONDITION: it is followed in vain. UNAVAILABLE: after Close().
  absl::StatusOr<std::unique_ptr<Follower>> Follow(int64_t attempt, std::function<void()> wake);

 private:
  struct Log {
    std::string bytes;    // The newest of it, without a gap,
    uint64_t end = 0;     // up to this one.
    bool answered = false;  // Its worker has said what there is.
    int questions = 0;      // Asked since.
    bool ended = false;
    absl::Status in_vain;  // Why nothing comes.
    std::map<uint64_t, std::function<void()>> followers;  // What wakes them, by number.

    uint64_t begin() const { return end - bytes.size(); }
    void Wake() const {
      for (const auto& [number, wake] : followers) wake();
    }
  };
  struct State {
    std::map<int64_t, Log> logs;  // Those that have followers.
    size_t followers = 0;
    uint64_t last = 0;  // Number.
    bool closed = false;
  };

  // nullptr: nobody follows it, or there is nothing more to come.
  static Log* Open(State& state, int64_t attempt);
  void Leave(int64_t attempt, uint64_t number);

  const LogLimits limits_;
  mutable Synchronized<State> state_;
};

// Where somebody is in a log. When it goes, its log is followed no longer, unless by others.
class LogBoard::Follower {
 public:
  ~Follower() { board_.Leave(attempt_, number_); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // What has come since the last one; nothing: nothing has. The first is there once the worker has answered, if with no text. An error says why nothing
  // will come.
  absl::StatusOr<std::optional<v1::LogPart>> Next();
  // The attempt has ended; Next() has what came before.
  bool ended() const;

  // Of the log's bytes, so many were read or skipped. Behind them may be the beginning of a character.
  uint64_t position() const { return position_; }
  // What is kept of those, up to there, and of those behind.
  std::string Seen() const { return Kept().first; }
  std::string Unread() const { return Kept().second; }

 private:
  friend class LogBoard;
  Follower(LogBoard& board, int64_t attempt, uint64_t number) : board_(board), attempt_(attempt), number_(number) {}

  std::pair<std::string, std::string> Kept() const;

  LogBoard& board_;
  const int64_t attempt_;
  const uint64_t number_;
  uint64_t position_ = 0;
  bool told_ = false;  // Next() has given something.
};

}  // namespace longreach::service
