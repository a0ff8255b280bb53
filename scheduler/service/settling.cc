// A large sweep that is paused, resumed, cancelled, or gets another priority, has its new state at once, and its jobs follow in slices, each
// an event of its own, so that workers' calls go in between. The store says from which job on they do not follow yet. Whoever asked is
// answered after the last one; if that breaks off (a full disk, kill -9), the engine goes on by itself, as with a submission. A slice does what
// the states of all sweeps say at that moment, so changes may overtake each other.
#include "scheduler/service/settling.h"

#include <limits>
#include <memory>

#include <fmt/format.h>

#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"

namespace longreach::service {

absl::Status Follow(sql::Transaction& tx, const store::Settled& settled, WallTime now, Effects& effects) {
  RETURN_IF_ERROR(DropMembers(tx, settled.dropped, now, effects));
  effects.dropped += static_cast<int>(settled.dropped.size());
  // Packs have to stop after a checkpoint, or may go on that were told to.
  for (const int64_t id : settled.running) {
    ASSIGN_OR_RETURN(const std::optional<store::AttemptRow> attempt, store::FindAttempt(tx, id));
    if (attempt) effects.workers.insert(attempt->worker);
  }
  // Whatever its state is now: which sweeps a worker gets no jobs of depends on which of them are live.
  effects.work = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> SettleNext(sql::Transaction& tx, int64_t num, int64_t most, WallTime now, Effects& effects) {
  ASSIGN_OR_RETURN(const store::SweepRow sweep, store::GetSweep(tx, num));
  ASSIGN_OR_RETURN(const store::Settled settled, store::SettleJobs(tx, sweep, most));
  RETURN_IF_ERROR(Follow(tx, settled, now, effects));
  return settled.more;
}

absl::StatusOr<bool> Settle(sql::Transaction& tx, const store::SweepRow& sweep, int64_t most, WallTime now, Effects& effects) {
  RETURN_IF_ERROR(store::SetUnsettled(tx, sweep.num, 0));
  // Of few members there may be many prerequisites.
  ASSIGN_OR_RETURN(const bool at_once, GoesInOneEvent(tx, sweep, most));
  return SettleNext(tx, sweep.num, at_once ? std::numeric_limits<int64_t>::max() : most, now, effects);
}

absl::StatusOr<bool> GoesInOneEvent(sql::Connection& db, const store::SweepRow& sweep, int64_t most) {
  if (sweep.there() <= most) return true;
  return store::SweepHasInputs(db, sweep.num);
}

absl::Status GoesOn(const std::string& done, const absl::Status& why) {
  if (why.code() != absl::StatusCode::kResourceExhausted) return why;
  return absl::ResourceExhaustedError(fmt::format("{}, and the scheduler goes on by itself once it can: {}", done, std::string(why.message())));
}

absl::Status BrokenOffByEnd(bool remembered) {
  return absl::UnavailableError(remembered ? "the scheduler is shutting down; it goes on with the sweep at its next start"
                                           : "the scheduler is shutting down; ask it again for what is left once it is there");
}

struct Engine::Slices {
  NextSlice next;  // Within events.
  bool remembered = false;
  std::function<void(const absl::Status&)> done;
  struct State {
    size_t in_flight = 0;
    bool over = false;
    absl::Status status;
  };
  Synchronized<State> state;
};

void Engine::InSlices(NextSlice next, bool remembered, std::function<void(const absl::Status&)> done) {
  auto slices = std::make_shared<Slices>();
  slices->next = std::move(next);
  slices->remembered = remembered;
  slices->done = std::move(done);
  for (size_t i = 0; i < options_.slices_in_flight; ++i) StartSlice(slices);
}

void Engine::StartSlice(const std::shared_ptr<Slices>& slices) {
  {
    auto state = slices->state.Lock();
    if (state->over) return;
    ++state->in_flight;
  }
  auto more = std::make_shared<bool>(false);
  SubmitSteering(
      [slices, more](sql::Transaction& tx, Effects& effects) -> absl::Status {
        ASSIGN_OR_RETURN(*more, slices->next(tx, effects));
        return absl::OkStatus();
      },
      [this, slices, more](const absl::Status& status) {
        // The process ends only when whoever asked is answered: of a million jobs that would be minutes.
        const bool broken_off = *more && memory_.Lock()->stopping;
        bool last = false;
        absl::Status all;
        {
          auto state = slices->state.Lock();
          state->status.Update(status);
          if (broken_off) state->status.Update(BrokenOffByEnd(slices->remembered));
          state->over = state->over || !status.ok() || !*more || broken_off;
          last = --state->in_flight == 0 && state->over;
          all = state->status;
        }
        if (last) slices->done(all);
        else StartSlice(slices);
      },
      true);
}

absl::StatusOr<bool> Engine::GoOn(sql::Transaction& tx, int64_t num, Effects& effects) {
  ASSIGN_OR_RETURN(const store::SweepRow sweep, store::GetSweep(tx, num));
  if (!sweep.unsettled_from) return AddNextSlice(tx, num, effects);
  ASSIGN_OR_RETURN(const bool more, SettleNext(tx, num, options_.jobs_settled_in_slice, clock_.Wall(), effects));
  return more || (sweep.to_come > 0 && sweep.state != SweepState::kCancelled);
}

}  // namespace longreach::service
