#include "store/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>

namespace longreach::store {
namespace {

constexpr std::chrono::microseconds kPauseAfterFailure = std::chrono::seconds(1);

// Changes nothing, and yet a page is written: whether the disk takes anything.
absl::Status WriteWhatIsThere(sql::Transaction& tx) {
  ASSIGN_OR_RETURN(const int64_t version, tx.One<int64_t>("PRAGMA user_version"));
  return tx.Run(fmt::format("PRAGMA user_version = {}", version)).status();
}

// Runs one event; not OK in `broken` when the whole transaction is lost.
absl::Status RunOne(sql::Transaction& tx, Event& event, absl::Status& broken) {
  absl::StatusOr<sql::Savepoint> savepoint = sql::Savepoint::Begin(tx);
  if (!savepoint.ok()) {
    broken = savepoint.status();
    return broken;
  }
  absl::Status status = event.apply(tx);
  if (status.ok()) {
    status = savepoint->Release();
    if (!status.ok()) broken = status;
  } else if (absl::Status back = savepoint->RollBack(); !back.ok()) {
    broken = back;  // Half of the event is still there: it must not be committed with the others.
  }
  // Some errors (disk full, I/O) make SQLite take back the whole transaction by itself.
  if (tx.connection().InAutocommit()) {
    broken = status.ok() ? absl::InternalError("an event has ended the transaction") : status;
  }
  return status;
}

}  // namespace

absl::Status RunGroup(sql::Connection& connection, std::vector<Event>& events, const std::function<std::optional<Event>()>& more,
                      std::string* trouble) {
  std::vector<absl::Status> statuses;
  absl::Status group;
  {
    absl::StatusOr<sql::Transaction> tx = sql::Transaction::Begin(connection);
    group = tx.status();
    for (size_t i = 0; group.ok(); ++i) {
      if (i == events.size()) {
        std::optional<Event> another = more ? more() : std::nullopt;
        if (!another) break;
        events.push_back(*std::move(another));
      }
      statuses.push_back(RunOne(*tx, events[i], group));
    }
    if (group.ok()) group = tx->Commit();
  }
  if (trouble != nullptr) {
    *trouble = sql::DiskTrouble(group);
    for (const absl::Status& status : statuses) {
      if (trouble->empty()) *trouble = sql::DiskTrouble(status);
    }
  }
  statuses.resize(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    if (!events[i].done) continue;
    // Nothing was written: an event that was fine, or was not run, fails with the group.
    events[i].done(statuses[i].ok() ? group : statuses[i]);
  }
  return group;
}

Writer::Writer(sql::Connection& connection, const Clock& clock, WriterOptions options)
    : connection_(connection), clock_(clock), options_(std::move(options)), thread_([this] { Loop(); }) {}

Writer::~Writer() { Stop(); }

void Writer::Submit(Event event) {
  absl::Status refused;
  {
    auto queue = queue_.Lock();
    if (queue->stopping) {
      refused = absl::UnavailableError("the scheduler is shutting down; try again later");
    } else if (queue->events.size() + queue->bulk.size() >= options_.queue_limit) {
      refused = absl::ResourceExhaustedError("too many calls are waiting for the store; try again later");
    } else {
      (event.bulk ? queue->bulk : queue->events).push_back(std::move(event));
    }
  }
  if (!refused.ok()) {
    if (event.done) event.done(refused);
    return;
  }
  changed_.notify_one();
}

absl::Status Writer::Run(std::function<absl::Status(sql::Transaction&)> apply) {
  // Shared: it outlives the writer's last touch.
  auto answer = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> waiting = answer->get_future();
  Submit({.apply = std::move(apply), .done = [answer](const absl::Status& status) { answer->set_value(status); }});
  return waiting.get();
}

void Writer::Wake() {
  queue_.Lock()->woken = true;
  changed_.notify_one();
}

void Writer::Stop() {
  queue_.Lock()->stopping = true;
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::vector<Event> Writer::TakeGroup(Queue& queue) const {
  std::vector<Event> group;
  const auto take = [&group](std::deque<Event>& events, size_t most) {
    for (; most > 0 && !events.empty(); --most) {
      group.push_back(std::move(events.front()));
      events.pop_front();
    }
  };
  const bool bulk_too = queue.bulk_waited || queue.events.empty();
  take(queue.events, options_.group_limit);
  if (bulk_too) take(queue.bulk, 1);
  queue.bulk_waited = !bulk_too && !queue.bulk.empty();
  return group;
}

std::optional<Event> Writer::TakeBulk() {
  auto queue = queue_.Lock();
  if (!queue->events.empty() || queue->bulk.empty()) return std::nullopt;
  Event event = std::move(queue->bulk.front());
  queue->bulk.pop_front();
  return event;
}

absl::Status Writer::RunAndTell(std::vector<Event>& group) {
  // Of bulk events alone others may follow.
  const bool is_bulk = std::ranges::all_of(group, &Event::bulk);
  const auto more = [this, &group, is_bulk]() -> std::optional<Event> {
    return is_bulk && group.size() < options_.bulk_limit ? TakeBulk() : std::nullopt;
  };
  std::string trouble;
  absl::Status status = RunGroup(connection_, group, more, &trouble);
  // Nothing was written, for another reason: that says nothing of the disk, which may be as full as before.
  if (!status.ok() && trouble.empty()) trouble = trouble_;
  if (trouble != trouble_) {
    trouble_ = trouble;
    if (options_.on_disk) options_.on_disk(trouble_);
  }
  return status;
}

void Writer::TellOfDeadline(const absl::Status& status) {
  const bool failed = !status.ok();
  if (failed == deadline_failed_ || !sql::DiskTrouble(status).empty()) return;
  deadline_failed_ = failed;
  if (options_.on_deadline) options_.on_deadline(status);
}

void Writer::Loop() {
  SteadyTime not_before{};  // What was due and could not be written (disk full, an event that fails) comes again, but not at once.
  while (true) {
    std::optional<SteadyTime> deadline = options_.next_deadline ? options_.next_deadline() : std::nullopt;
    if (deadline.has_value()) deadline = std::max(*deadline, not_before);
    std::optional<SteadyTime> wake = deadline;
    if (!trouble_.empty()) wake = std::min(deadline.value_or(SteadyTime::max()), clock_.Steady() + kPauseAfterFailure);
    std::vector<Event> group;
    bool last = false;
    {
      auto queue = queue_.Lock();
      const auto has_news = [&queue] { return !queue->empty() || queue->woken || queue->stopping; };
      if (wake.has_value()) {
        changed_.wait_until(queue.lock(), *wake, has_news);
      } else {
        changed_.wait(queue.lock(), has_news);
      }
      queue->woken = false;
      group = TakeGroup(*queue);
      last = queue->stopping && queue->empty();
    }
    const SteadyTime now = clock_.Steady();
    const bool is_due = !last && options_.at_deadline && deadline.has_value() && now >= *deadline;
    absl::Status due;  // What has come of the event, if one is due.
    if (is_due) {
      Event event = options_.at_deadline(now);
      event.done = [&due, done = std::move(event.done)](const absl::Status& status) {
        due = status;
        if (done) done(status);
      };
      group.push_back(std::move(event));
    }
    // A group that has nothing to write would be committed on a full disk too.
    if (!trouble_.empty() && !last) group.push_back({.apply = WriteWhatIsThere});
    if (!group.empty()) {
      const absl::Status written = RunAndTell(group);  // Every event has been told.
      if (!written.ok() || !due.ok()) not_before = now + kPauseAfterFailure;
      if (is_due) TellOfDeadline(due);
      group.clear();  // What the events hold (calls, pins) goes before the next wait.
      if (options_.after_group) options_.after_group(connection_);
    }
    if (last) return;
  }
}

}  // namespace longreach::store
