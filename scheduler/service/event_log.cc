#include "scheduler/service/event_log.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace longreach::service {

void EventLog::Add(const News& news) {
  const SteadyTime now = clock_.Steady();
  auto state = state_.Lock();
  TellCounted(*state, now);
  if (news.sweep) {
    state->open.insert(*news.sweep);
    if (!state->look_at) state->look_at = now + kBetweenLooks;
  }
  Said& said = state->said[news.kind];
  if (said.lines == 0) said.since = now;
  const bool is_told = said.lines < kLines;
  if (is_told) {
    ++said.lines;
    write_(news.line);
  } else {
    ++said.unsaid;
  }
  if (!notify_ || !news.notice) return;
  if (is_told || !news.notice->sweep.empty()) return notify_(news);
  ++said.not_notified;
  said.event = news.notice->event;
}

void EventLog::AttemptsHaveEnded() {
  auto state = state_.Lock();
  state->worked = true;
  if (!state->open.empty() && !state->look_at) state->look_at = clock_.Steady() + kBetweenLooks;
}

std::optional<SteadyTime> EventLog::NextLook() {
  auto state = state_.Lock();
  std::optional<SteadyTime> next = state->look_at;
  if (!state->open.empty() && (!next || state->look_for_work_at < *next)) next = state->look_for_work_at;
  for (const auto& [kind, said] : state->said) {
    if (said.unsaid > 0 && (!next || said.since + kPeriod < *next)) next = said.since + kPeriod;
  }
  return next;
}

void EventLog::Look(sql::Connection& db, SteadyTime now) {
  for (const News& news : TakeDone(db, now)) Add(news);
  if (const std::optional<News> nobody = TakeNobodyWorks(db, now)) Add(*nobody);
  auto state = state_.Lock();
  TellCounted(*state, now);
}

void EventLog::Close(sql::Connection& db) {
  if (auto state = state_.Lock(); state->look_at) state->look_at = SteadyTime{};
  for (const News& news : TakeDone(db, clock_.Steady())) Add(news);
  auto state = state_.Lock();
  TellCounted(*state, std::nullopt);
}

// Of kinds whose period is over by then, or of all.
void EventLog::TellCounted(State& state, std::optional<SteadyTime> now) {
  for (auto& [kind, said] : state.said) {
    if (said.lines == 0 || (now && *now - said.since < kPeriod)) continue;
    const auto more = [kind = kind](int64_t count) { return fmt::format("{} in {} s", MoreOf(kind, count), kPeriod.count()); };
    if (said.unsaid > 0) write_(more(said.unsaid));
    if (said.not_notified > 0) {
      notify_({.kind = kind, .line = more(said.not_notified), .notice = Notice{.event = said.event, .more = said.not_notified}});
    }
    said = {};
  }
}

// Once, until somebody has worked, or there was nothing to do.
std::optional<News> EventLog::TakeNobodyWorks(sql::Connection& db, SteadyTime now) {
  {
    auto state = state_.Lock();
    if (now < state->look_for_work_at) return std::nullopt;
    state->look_for_work_at = now + kBetweenLooksForWork;
  }
  const absl::StatusOr<std::vector<int64_t>> waiting = store::SweepsThatWait(db);
  if (!waiting.ok()) return std::nullopt;
  {
    auto state = state_.Lock();
    if (std::exchange(state->worked, false) || waiting->empty()) {
      state->nobody_since.reset();
      state->nobody_told = false;
    }
    if (waiting->empty()) return std::nullopt;
    if (!state->nobody_since) state->nobody_since = now;
    if (state->nobody_told || now - *state->nobody_since < kNobodyWorks) return std::nullopt;
    state->nobody_told = true;
  }
  const absl::StatusOr<store::SweepRow> first = store::GetSweep(db, waiting->front());
  if (!first.ok()) return std::nullopt;
  return NobodyWorks(*first, waiting->size() - 1, kNobodyWorks);
}

// What cannot be read now is looked for again.
std::vector<News> EventLog::TakeDone(sql::Connection& db, SteadyTime now) {
  std::set<int64_t> before;
  {
    auto state = state_.Lock();
    if (!state->look_at || now < *state->look_at) return {};
    state->look_at.reset();
    before = state->open;
  }
  const absl::StatusOr<std::vector<int64_t>> open = store::OpenSweeps(db);
  if (!open.ok()) {
    state_.Lock()->look_at = now + kBetweenLooks;
    return {};
  }
  std::vector<News> done;
  for (const int64_t num : before) {
    if (std::ranges::binary_search(*open, num)) continue;
    const absl::StatusOr<store::SweepRow> sweep = store::GetSweep(db, num);
    // That it is cancelled was told when it was asked for.
    if (sweep.ok() && sweep->state != SweepState::kCancelled) done.push_back(SweepIsDone(*sweep));
  }
  auto state = state_.Lock();
  for (const int64_t num : before) state->open.erase(num);
  state->open.insert(open->begin(), open->end());
  return done;
}

}  // namespace longreach::service
