// The one writer: takes the events that have arrived, runs each in a savepoint of one transaction, commits, and only then
// answers all of them. Durable answers at the price of one sync per group.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "proto/base/clock.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "store/sql/connection.h"

namespace longreach::store {

// Something that happened: a call, or a deadline.
struct Event {
  // Reads, decides and writes. Not OK: what it wrote is taken back, the other events of the group stay.
  std::function<absl::Status(sql::Transaction&)> apply{};
  // Called once, after the commit and in the order of the events: with what `apply` returned, or with the error of the commit. Memory
  // that mirrors the file changes here, not in `apply`. May be empty. Must not block.
  std::function<void(const absl::Status&)> done{};
  // Whose it is, for those who watch or replay events: "WORKER/INCARNATION/SEQUENCE" of a worker's call; else empty.
  std::string origin{};
  // One of many that belong together and take long. While others wait, these take turns with them, one in a group. They keep their own order.
  bool bulk = false;
};

// Runs a group of events in one transaction and calls all their `done`s. When the commit or anything that concerns the whole
// transaction fails (disk full, I/O error), all of the events fail with that status and nothing is written; the next group starts afresh.
// An event that runs into a full disk fails alone only if the rest can still be committed.
// `more`, if given, is asked after the last event, and again, for another one that goes with the group.
// Returns the status of the commit; `trouble`, if given, becomes what is wrong with the disk, of the commit or of an event.
absl::Status RunGroup(sql::Connection& connection, std::vector<Event>& events, const std::function<std::optional<Event>()>& more = {},
                      std::string* trouble = nullptr);

struct WriterOptions {
  // At most this many events in a transaction.
  size_t group_limit = 256;
  // At most this many bulk events, as long as nothing else waits.
  size_t bulk_limit = 32;
  // At most this many wait; a further one is refused with RESOURCE_EXHAUSTED.
  size_t queue_limit = 65'536;
  // When the writer must wake at the latest; nothing: only for events. Called on the writer's thread after each group.
  std::function<std::optional<SteadyTime>()> next_deadline{};
  // Called on the writer's thread once that time has come; what it returns is run like any other event.
  std::function<Event(SteadyTime now)> at_deadline{};
  // Called on the writer's thread after each group has been answered, outside of any transaction.
  std::function<void(sql::Connection&)> after_group{};
  // Called on the writer's thread when changes cannot be written, with what is wrong with the disk, when that becomes something else, and
  // with an empty text once they can be again, which the writer tries every second.
  std::function<void(const std::string& trouble)> on_disk{};
  // Called on the writer's thread when an event of at_deadline() has failed, with why, and with OK after the next that is well. One that fails is tried again every second,
  // which is not told anew. What is wrong with the disk is told by on_disk() alone.
  std::function<void(const absl::Status& status)> on_deadline{};
};

// The thread around RunGroup. The connection is its own until it is destroyed.
class Writer {
 public:
  Writer(sql::Connection& connection, const Clock& clock, WriterOptions options);
  // Runs what is queued, answers it, and ends.
  ~Writer();

  // Queues an event; its `done` is called on the writer's thread, or at once, on this one, with RESOURCE_EXHAUSTED or UNAVAILABLE when
  // the queue is full or the writer ends.
  void Submit(Event event);
  // Queues `apply` and waits for its answer. Not from the writer's own thread.
  absl::Status Run(std::function<absl::Status(sql::Transaction&)> apply);
  // Makes the writer ask for `next_deadline` again.
  void Wake();
  // No event is taken any more; what is queued is run. Waits for the end. May be called twice.
  void Stop();

 private:
  struct Queue {
    std::deque<Event> events;
    std::deque<Event> bulk;
    bool bulk_waited = false;  // The last group was without them.
    bool empty() const { return events.empty() && bulk.empty(); }
    bool woken = false;
    bool stopping = false;
  };
  void Loop();
  // The next events to be run together. While bulk events wait, every other group is without any: so a call waits for one of these at
  // most, and not for that of its own group as well.
  std::vector<Event> TakeGroup(Queue& queue) const;
  // Another bulk event, if nothing else has come meanwhile.
  std::optional<Event> TakeBulk();
  // Runs and answers a group, and tells of the disk.
  absl::Status RunAndTell(std::vector<Event>& group);
  // Tells what has come of an event of at_deadline().
  void TellOfDeadline(const absl::Status& status);

  sql::Connection& connection_;
  const Clock& clock_;
  const WriterOptions options_;
  Synchronized<Queue> queue_;
  std::condition_variable changed_;
  std::string trouble_;           // Of the disk, as it was told last; of the writer's thread, as is
  bool deadline_failed_ = false;  // whether it was told last that what was due has failed.
  std::thread thread_;
};

}  // namespace longreach::store
