#include "scheduler/service/log_board.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "proto/base/utf8.h"
#include "scheduler/service/log_text.h"

namespace longreach::service {
namespace {

// Beyond it a position would not be exact in a double; no log is as long.
constexpr uint64_t kLongestLog = uint64_t{1} << 53;

}  // namespace

LogBoard::Log* LogBoard::Open(State& state, int64_t attempt) {
  const auto found = state.logs.find(attempt);
  if (found == state.logs.end() || found->second.ended || !found->second.in_vain.ok()) return nullptr;
  return &found->second;
}

std::optional<uint64_t> LogBoard::WantedFrom(int64_t attempt) const {
  auto state = state_.Lock();
  const Log* const log = Open(*state, attempt);
  return log == nullptr ? std::nullopt : std::optional(log->end);
}

std::optional<uint64_t> LogBoard::Ask(int64_t attempt) {
  auto state = state_.Lock();
  Log* const log = Open(*state, attempt);
  if (log == nullptr) return std::nullopt;
  ++log->questions;
  return log->end;
}

void LogBoard::Take(int64_t attempt, const v1::AttemptLog& part) {
  auto state = state_.Lock();
  Log* const log = Open(*state, attempt);
  if (log == nullptr) return;
  log->questions = 0;
  std::string_view text = part.text();
  if (text.size() > kMaxLogPartBytes || part.from() > kLongestLog) return;
  if (part.from() > log->end) {
    // A short one was asked for by others, who are gone.
    if (text.size() < kMaxLogPartBytes / 2) return;
    log->bytes.clear();
    log->end = part.from();
  } else {
    text.remove_prefix(static_cast<size_t>(std::min<uint64_t>(log->end - part.from(), text.size())));
  }
  if (text.empty() && log->answered) return;
  log->answered = true;
  log->bytes += text;
  log->end += text.size();
  if (log->bytes.size() > limits_.bytes) log->bytes.erase(0, log->bytes.size() - limits_.bytes);
  log->Wake();
}

void LogBoard::Missed(int64_t attempt, const std::string& worker, const std::string& build) {
  auto state = state_.Lock();
  Log* const log = Open(*state, attempt);
  if (log == nullptr || log->questions < kMostLogQuestions) return;
  log->in_vain = absl::FailedPreconditionError(
      fmt::format("worker '{}' ({}) does not send what attempt {} prints, as one of an older version does not; 'longreach logs JOB' has it when the attempt has ended",
                  worker, build, attempt));
  log->bytes.clear();
  log->Wake();
}

void LogBoard::End(int64_t attempt) {
  auto state = state_.Lock();
  const auto found = state->logs.find(attempt);
  if (found == state->logs.end()) return;
  found->second.ended = true;
  found->second.Wake();
}

void LogBoard::Close() {
  auto state = state_.Lock();
  state->closed = true;
  for (const auto& [attempt, log] : state->logs) log.Wake();
}

absl::StatusOr<std::unique_ptr<LogBoard::Follower>> LogBoard::Follow(int64_t attempt, std::function<void()> wake) {
  auto state = state_.Lock();
  if (state->closed) return absl::UnavailableError("the scheduler is shutting down; try again later");
  if (state->followers >= limits_.followers) {
    return absl::ResourceExhaustedError(fmt::format("logs are followed by {} callers already, and no more are taken; try again when one of them has ended", state->followers));
  }
  const auto known = state->logs.find(attempt);
  if (known == state->logs.end() && state->logs.size() >= limits_.attempts) {
    return absl::ResourceExhaustedError(
        fmt::format("the logs of {} attempts are followed already, and no more at a time; try again when one of them is followed no longer", state->logs.size()));
  }
  if (known != state->logs.end() && !known->second.in_vain.ok()) return known->second.in_vain;
  ++state->followers;
  const uint64_t number = ++state->last;
  state->logs[attempt].followers.emplace(number, std::move(wake));
  return std::unique_ptr<Follower>(new Follower(*this, attempt, number));
}

void LogBoard::Leave(int64_t attempt, uint64_t number) {
  auto state = state_.Lock();
  --state->followers;
  const auto found = state->logs.find(attempt);
  found->second.followers.erase(number);
  if (found->second.followers.empty()) state->logs.erase(found);
}

absl::StatusOr<std::optional<v1::LogPart>> LogBoard::Follower::Next() {
  auto state = board_.state_.Lock();
  const Log& log = state->logs.at(attempt_);
  if (state->closed) return absl::UnavailableError("the scheduler is shutting down; try again later");
  if (!log.in_vain.ok()) return log.in_vain;
  if (!log.answered) return std::nullopt;
  uint64_t skipped = 0;
  if (position_ < log.begin()) {
    skipped = log.begin() - position_;
    skipped += RestOfCharacter(log.bytes);
    position_ += skipped;
  }
  const std::string_view unread = std::string_view(log.bytes).substr(static_cast<size_t>(position_ - log.begin()));
  const std::string_view text = unread.substr(0, WholeCharacters(unread));
  if (text.empty() && skipped == 0 && (told_ || log.ended)) return std::nullopt;
  told_ = true;
  position_ += text.size();
  v1::LogPart part;
  part.set_attempt(static_cast<uint32_t>(attempt_));
  part.set_text(ValidUtf8(text));
  part.set_skipped_bytes(static_cast<double>(skipped));
  return part;
}

bool LogBoard::Follower::ended() const { return board_.state_.Lock()->logs.at(attempt_).ended; }

std::pair<std::string, std::string> LogBoard::Follower::Kept() const {
  auto state = board_.state_.Lock();
  const Log& log = state->logs.at(attempt_);
  const auto before = static_cast<size_t>(std::max(position_, log.begin()) - log.begin());
  return {log.bytes.substr(0, before), log.bytes.substr(before)};
}

}  // namespace longreach::service
