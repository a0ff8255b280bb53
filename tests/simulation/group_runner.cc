#include "tests/simulation/group_runner.h"

#include <string>

#include <fmt/format.h>
#include <sqlite3.h>

#include "tests/simulation/compare.h"

namespace longreach::simulation {
namespace {

constexpr int kFilesInGo = 16;  // As the server does.

}  // namespace

absl::Status GroupRunner::Run(std::vector<Pending>& group, Hazard hazard, store::Store& store) {
  const Model before = model_;
  sql::Connection& db = store.writer_connection();
  if (answers_first_ && hazard == Hazard::kCrashBeforeCommit) {
    AnswerAndCrash(group, db);
    return absl::OkStatus();
  }
  std::vector<store::Event> events_of_group;
  const size_t answered = static_cast<size_t>(world_.dice.Below(static_cast<int>(group.size())));
  bool committed = false;
  for (size_t i = 0; i < group.size(); ++i) {
    const bool last = i + 1 == group.size();
    events_of_group.push_back(
        {.apply = [this, &group, i, last, hazard](sql::Transaction& tx) { return Apply(tx, group[i], last, hazard); },
         .done =
             [&, i](const absl::Status& status) {
               if (!std::exchange(committed, true)) OnCommit(before, hazard, status);
               if (hazard == Hazard::kCrashWhileAnswering && i == answered) crashed_ = true;
               if (crashed_) return;
               answering_ = group[i].op;
               if (group[i].event.done) std::exchange(group[i].event.done, nullptr)(status);
               answering_.reset();
             },
         .origin = ""});
  }
  world_.Log(fmt::format("group of {}", group.size()));
  const absl::Status status = store::RunGroup(db, events_of_group);
  if (crashed_) {
    ReleaseBlocked(group);
    return absl::OkStatus();
  }
  (void)store::RemoveUnusedFiles(db, store.artifacts(), kFilesInGo);
  Compare(db);
  return status;
}

void GroupRunner::AnswerAndCrash(std::vector<Pending>& group, sql::Connection& db) {
  const Model before = model_;
  {
    absl::StatusOr<sql::Transaction> tx = sql::Transaction::Begin(db);
    for (Pending& pending : group) {
      const absl::Status status = Apply(*tx, pending, false, Hazard::kNone);
      answering_ = pending.op;
      if (pending.event.done) std::exchange(pending.event.done, nullptr)(status);
      answering_.reset();
    }
  }
  model_ = before;
  crashed_ = true;
}

absl::Status GroupRunner::Apply(sql::Transaction& tx, Pending& pending, bool last, Hazard hazard) {
  ++events_;
  Op& op = *pending.op;
  const absl::Status status = pending.event.apply(tx);
  op.expected = op.apply(model_);
  if (status.code() != op.expected.status().code()) {
    world_.Violation(fmt::format("{}: {} where the model says {}", op.what, status.ToString(), op.expected.status().ToString()));
  }
  world_.Log(fmt::format("event {}: {}", op.what, absl::StatusCodeToString(status.code())));
  if (!last || (hazard != Hazard::kCrashBeforeCommit && hazard != Hazard::kStoreFull)) return status;
  if (const absl::Status undone = tx.connection().Execute("ROLLBACK"); !undone.ok()) {
    world_.Violation(fmt::format("ROLLBACK: {}", std::string(undone.message())));
  }
  return absl::ResourceExhaustedError("the disk is full");
}

void GroupRunner::OnCommit(const Model& before, Hazard hazard, const absl::Status& first) {
  const bool undone = hazard == Hazard::kCrashBeforeCommit || hazard == Hazard::kStoreFull;
  if (undone) {
    if (first.ok()) world_.Violation("an event of a group that was not committed was answered with OK");
    model_ = before;
  }
  if (hazard == Hazard::kCrashBeforeCommit || hazard == Hazard::kCrashAfterCommit) crashed_ = true;
  deadlines_.Begin(before, model_);
}

// Only what was written can have changed.
void GroupRunner::Compare(sql::Connection& db) {
  const int64_t changes = sqlite3_total_changes(db.raw());
  if (changes == std::exchange(changes_, changes)) return;
  CompareAll(world_, model_, db);
}

}  // namespace longreach::simulation
