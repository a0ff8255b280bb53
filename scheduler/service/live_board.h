// What is known of the running attempts and the workers right now, between two writes to the store: for answers that people
// read and for whom they mean by a name, never for another decision. The engine fills it (an attempt when its lease is given, at each Synchronize, and at its end; a worker at
// each Synchronize, and when it leaves or its lease term runs out), the writer tells of its disk and the uploads of theirs; the reading handlers take copies. Lost with the process, without
// harm: workers tell everything again within seconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "proto/base/clock.h"
#include "proto/base/synchronized.h"
#include "proto/types/words.h"
#include "scheduler/service/bell.h"

namespace longreach::service {

struct LiveAttempt {
  std::string worker;       // Its id.
  std::string worker_name;
  // Of the pack's specification; its jobs share them.
  std::string task;
  std::string encoding;     // NAME or NAME:randomized.
  bool noop = false;        // A worker's agent does it, without a trainer.
  int members = 0;          // Not dropped.
  int step = 0;
  int steps = 0;
  std::optional<AttemptPhase> phase;  // Nothing: its worker has not called since this process began.
  double steps_per_second = 0;  // Of the whole pack: each step is one of every member.
};

class LiveBoard {
 public:
  struct State {
    std::map<int64_t, LiveAttempt> attempts;    // By attempt.
    std::map<std::string, WallTime> workers;    // Those that are there, by id, with the time of the last call.
    // Of these, those that have begun anew, or with this process, and that the store has not heard since: what it has of them is of before.
    std::set<std::string> unheard;
    std::set<std::string> awaited;              // Those that were there when the store was last written, and have had no chance to call this process yet.
    std::map<int64_t, std::string> stalled;     // Sweeps of which jobs are to come that this program cannot make, by number: why.
    std::string store_trouble;                  // What is wrong with the store's disk; empty: nothing.
    std::string files_trouble;                  // The same of that of its files, which may be another.

    // What people are told: where nothing can be written, files cannot either.
    std::string trouble() const { return store_trouble.empty() ? files_trouble : "the store takes nothing: " + store_trouble; }
  };

  // Adds or replaces.
  void Set(int64_t attempt, LiveAttempt live) { state_.Lock()->attempts.insert_or_assign(attempt, std::move(live)); }
  // The attempt has ended. Of no effect when it is not there; as for RemoveWorker.
  void Remove(int64_t attempt) { state_.Lock()->attempts.erase(attempt); }

  void SetWorker(const std::string& worker, WallTime seen_at) {
    auto state = state_.Lock();
    state->workers.insert_or_assign(worker, seen_at);
    state->awaited.erase(worker);
  }
  // The store has, or has not, what this worker says of itself since it began.
  void SetHeard(const std::string& worker, bool heard) {
    auto state = state_.Lock();
    if (heard) state->unheard.erase(worker);
    else state->unheard.insert(worker);
  }
  // It has left, or has not called for a whole lease term.
  void RemoveWorker(const std::string& worker) {
    auto state = state_.Lock();
    state->workers.erase(worker);
    state->unheard.erase(worker);
  }
  // Workers of before this process began: nobody calls them gone until then, but for those that call and leave. `clock` outlives this.
  void Await(std::set<std::string> workers, const Clock& clock, SteadyTime until) {
    auto state = state_.Lock();
    state->awaited = std::move(workers);
    awaits_by_ = &clock;
    awaits_until_ = until;
  }

  // Whether it was not known yet.
  bool SetStalled(int64_t sweep, const std::string& why) { return state_.Lock()->stalled.insert_or_assign(sweep, why).second; }

  void SetStoreTrouble(const std::string& trouble) { state_.Lock()->store_trouble = trouble; }
  void SetFilesTrouble(const std::string& trouble) { state_.Lock()->files_trouble = trouble; }

  State Read() const {
    auto state = state_.Lock();
    if (!state->awaited.empty() && awaits_by_->Steady() >= awaits_until_) state->awaited.clear();
    return *state;
  }

  // Rung when attempts have ended, or jobs have failed without one, and the store says so: with them, sweeps may have.
  Bell& ended() { return ended_; }

 private:
  mutable Synchronized<State> state_;
  const Clock* awaits_by_ = nullptr;  // Both are reached with the lock of the state.
  SteadyTime awaits_until_{};
  Bell ended_;
};

}  // namespace longreach::service
