// Runs a group of events as the store's writer does, each beside what the model makes of it, and lets go wrong what can go wrong with a group.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "proto/base/status.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/simulation/deadlines.h"
#include "tests/simulation/model.h"
#include "tests/simulation/op.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/world.h"

namespace longreach::simulation {

// An event on its way into a group.
struct Pending {
  store::Event event;
  OpPtr op;
};

// Of a process that is gone whoever waits for an answer is gone too; here the thread is ours and needs an end.
template <typename List>
void ReleaseBlocked(List& list) {
  for (Pending& pending : list) {
    if (pending.op->blocks && pending.event.done) std::exchange(pending.event.done, nullptr)(absl::UnavailableError("crashed"));
  }
}

class GroupRunner {
 public:
  // `events` counts those that were run. `answers_first`: the planted bug kAnswersBeforeCommit.
  GroupRunner(World& world, Model& model, Deadlines& deadlines, int64_t& events, bool answers_first)
      : world_(world), model_(model), deadlines_(deadlines), events_(events), answers_first_(answers_first) {}

  // The error that nothing could be written for; it is not that of a crash.
  absl::Status Run(std::vector<Pending>& group, Hazard hazard, store::Store& store);

  // The process has ended; nothing more is run before it is started again.
  bool crashed() const { return crashed_; }
  void Restart() { crashed_ = false; }
  // Whose event is being answered; null: nobody's.
  const OpPtr& answering() const { return answering_; }

 private:
  void AnswerAndCrash(std::vector<Pending>& group, sql::Connection& db);
  absl::Status Apply(sql::Transaction& tx, Pending& pending, bool last, Hazard hazard);
  void OnCommit(const Model& before, Hazard hazard, const absl::Status& first);
  void Compare(sql::Connection& db);

  World& world_;
  Model& model_;
  Deadlines& deadlines_;
  int64_t& events_;
  const bool answers_first_;
  bool crashed_ = false;
  OpPtr answering_;
  int64_t changes_ = -1;
};

}  // namespace longreach::simulation
