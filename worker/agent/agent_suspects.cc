// Whose fault the end of a process was that several packs shared, where nobody knows: a kill from outside, or a GPU that has failed or makes all of them wait.
//
// Nobody has failed then. If all had, three ends by one bad job would fail its neighbours for good, and one with three packs would put this worker aside. All are
// suspects, which go on from their newest checkpoints, half as many at a time as the process had, until each has come past where the end found it. A process that ends
// again halves the number again. At one at a time it is known whose fault that is, and that attempt fails as any other.
//
// They stay here until then, and nothing else is begun beside them. Given back, they would be leased again in the order of their submission, here or by another worker
// that shares a process too, and a bad job would hardly ever be alone.
//
// It comes to an end: with each death that tells nothing there are half as many at a time, and who comes through has a checkpoint that it had not before. So packs that
// only end their process together go on, too, if slowly.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "worker/agent/agent.h"
#include "worker/agent/log.h"

namespace longreach::agent {

int Agent::SuspectsLeft() const {
  return static_cast<int>(std::ranges::count_if(attempts_, [](const auto& entry) { return entry.second->suspected(); }));
}

void Agent::OnSharedEnd() {
  if (packs_at_end_ == 0) packs_at_end_ = SlotsIn(TrainerSlot::State::kTraining) + SlotsIn(TrainerSlot::State::kAbandoning);
}

void Agent::Suspect(const AttemptPtr& attempt, const std::string& detail) {
  if (packs_at_end_ <= 1) return Fail(attempt, detail);  // Nobody else was there.
  const std::string what = fmt::format("its process ended while it trained {} packs, and nobody knows whose fault that was: {}", packs_at_end_, detail);
  // Of members that have left a pack its later checkpoints have nothing: the scheduler leases the others anew.
  const bool some_left = WithoutDropped(attempt->start, attempt->dropped).members_size() < attempt->start.members_size();
  if (attempt->stopping || some_left) return GiveUp(attempt, v1::AttemptReport::OUTCOME_GIVEN_BACK, what);
  suspects_at_a_time_ = std::max(1, packs_at_end_ / 2);
  const std::string line = fmt::format("attempt {}: {}; it goes on from its newest checkpoint, with at most {} of these packs at a time", attempt->number(), what,
                                       suspects_at_a_time_);
  LogWarning(line);
  OnDisk([log = attempt->folder / "log", line] { return (std::ofstream(log, std::ios::app) << line << '\n').good(); }, [](bool) {});
  attempt->suspect_at = std::max(attempt->suspect_at.value_or(0), attempt->step);
  attempt->suspected_why = what;
  attempt->checkpoints_as_suspect = 0;
  attempt->phase = AttemptPhase::kStarting;
  attempt->steps_per_second = 0;
  attempt->began = false;
  attempt->stage = Attempt::Stage::kFetching;
  attempt->start.clear_verified_stamps();  // What it reads may have been the reason.
  GiveBackWaiting(/*begun=*/false, "packs that were begun before have to be trained with fewer others at a time first; the log of this worker says why");
  trainers_for_all_at_ = std::chrono::steady_clock::now();
  WatchWaiting();
  BeginVerifying(attempt);
}

// It went on from a checkpoint that was hardly older than the time between two, so that the second is past the end for certain: also within tests, of which
// there may be many at one step.
void Agent::OnCheckpointOfSuspect(const AttemptPtr& attempt, int step) {
  if (step <= *attempt->suspect_at && ++attempt->checkpoints_as_suspect < 2) return;
  LogInfo(fmt::format("attempt {}: has come past step {}, where its process had ended", attempt->number(), *attempt->suspect_at));
  if (std::ranges::any_of(attempts_, [](const auto& entry) { return entry.second->suspected() && entry.second->waits(); })) {
    attempt->why_stopped = fmt::format("gives way to others: it has come past step {}, where {}", *attempt->suspect_at, attempt->suspected_why);
    Stop(attempt);
  }
  attempt->suspect_at.reset();
  if (SuspectsLeft() == 0) synchronizer_.News();
}

void Agent::OnSuspectFailed(Attempt& attempt) {
  attempt.suspect_at.reset();
  suspects_at_a_time_ = std::max(suspects_at_a_time_, SuspectsLeft() / 2);  // The culprit may have been this one.
}

void Agent::GiveBackWaiting(bool begun, const std::string& why) {
  const auto held = attempts_;  // GiveBack() forgets some.
  for (const auto& [number, attempt] : held) {
    if (attempt->waits() && attempt->begun() == begun) GiveBack(attempt, why);
  }
}

}  // namespace longreach::agent
