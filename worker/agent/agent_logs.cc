// What attempts print, for those who follow it while they run: nothing is read while nobody asks.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "worker/agent/agent.h"
#include "worker/agent/log_part.h"

namespace longreach::agent {
namespace {

using std::chrono::steady_clock;

// Between two looks whether a log has grown.
constexpr std::chrono::seconds kBetweenLooks{1};
// Between two looks where it is asked for from another byte on.
constexpr std::chrono::milliseconds kBetweenQuestions{200};

}  // namespace

void Agent::FollowLog(Attempt& attempt, const v1::Directive& directive) {
  if (!directive.has_log_from()) return attempt.log.reset();
  const uint64_t from = directive.log_from();
  std::optional<AskedLog>& log = attempt.log;
  if (log && log->owes() && from == log->part->from() + log->part->text().size()) {
    // The scheduler has what it was sent.
    log->from = from;
    log->part->set_from(from);
    log->part->clear_text();
  } else if (!log || from != log->from) {
    log.emplace();
    log->from = from;
    log->due = attempt.log_read_at + kBetweenQuestions;
  }
  ReadLogs();
}

// Reads what is due, and comes again when the next is.
void Agent::ReadLogs() {
  const auto now = steady_clock::now();
  std::optional<steady_clock::time_point> next;
  for (const auto& [number, attempt] : attempts_) {
    // What goes with the next call goes first.
    if (!attempt->log || attempt->log->reading || attempt->log->owes()) continue;
    const auto due = attempt->log->due;
    if (due <= now) BeginReading(attempt);
    else next = next ? std::min(*next, due) : due;
  }
  if (!next) return;
  log_timer_.expires_at(*next);
  log_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !ended_already_) ReadLogs();
  });
}

void Agent::BeginReading(const AttemptPtr& attempt) {
  attempt->log->reading = true;
  attempt->log_read_at = steady_clock::now();
  const uint64_t from = attempt->log->from;
  // On the thread of the disk, but nobody who leaves waits for it.
  RunOn(disk_, [file = attempt->folder / "log", from] { return ReadLogPart(file, from); },
        [this, attempt, from](v1::AttemptLog part) {
          if (!Holds(attempt) || ended_already_ || !attempt->log) return;
          AskedLog& log = *attempt->log;
          log.reading = false;
          log.due = attempt->log_read_at + kBetweenLooks;
          // Else it is asked for from another byte on by now.
          if (log.from == from && !log.owes()) {
            const bool news = !log.part || !part.text().empty();
            log.part = std::move(part);
            if (news) synchronizer_.News();
          }
          ReadLogs();
        });
}

bool Agent::AwaitsLogs() const {
  return std::ranges::any_of(attempts_, [](const auto& entry) { return entry.second->log && !entry.second->log->part; });
}

}  // namespace longreach::agent
