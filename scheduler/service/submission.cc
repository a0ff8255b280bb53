// How the jobs of a sweep get into the store (engine.h): in slices, each an event of its own, so that workers' calls go in between.
//
// The first event makes the sweep, with as many jobs to come as it has; each slice takes its number off. So after every commit the
// sweep is sound: it is there, its first jobs can be trained, the others are to come. Whoever asked goes on until none is; if that breaks
// off (a full disk, kill -9), the engine goes on by itself, slice by slice, whenever its deadline comes (deadlines.cc).
#include <deque>
#include <future>

#include <fmt/format.h>

#include "scheduler/core/sweep_life.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/plan.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/settling.h"
#include "scheduler/service/slice.h"

namespace longreach::service {
namespace {

// Another sweep's pause may have told packs to stop whose jobs are wanted again.
absl::Status NoteRunning(sql::Connection& db, Effects& effects) {
  ASSIGN_OR_RETURN(std::vector<store::AttemptRow> running, store::UnfinishedAttempts(db));
  for (const store::AttemptRow& attempt : running) effects.workers.insert(attempt.worker);
  return absl::OkStatus();
}

// What a submission does to a sweep that is there, but for jobs that are to come.
absl::Status SubmitAgain(sql::Transaction& tx, const store::SweepRow& before, bool has_inputs, std::optional<int> priority, int64_t most,
                         WallTime now, Effects& effects) {
  const SweepState after = core::Submit(before.state);
  RETURN_IF_ERROR(store::SetSweepState(tx, before.num, after));
  RETURN_IF_ERROR(store::SetSweepAsked(tx, before.num, now));
  if (priority) RETURN_IF_ERROR(store::SetSweepPriority(tx, before.num, *priority));
  // Else its jobs are wanted, and none of them is cancelled.
  if (before.state != SweepState::kLive || priority) RETURN_IF_ERROR(Settle(tx, before, most, now, effects).status());
  if (has_inputs) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> with_inputs, store::SweepJobsWithInputs(tx, before.num));
    for (const int64_t job : with_inputs) RETURN_IF_ERROR(SettleInputs(tx, job, effects));
  }
  effects.work = true;
  return NoteRunning(tx, effects);
}

// Adds the slice if its place is the next; it is not if somebody else, or this caller without having heard of it, has added it already.
absl::Status AddSlice(sql::Transaction& tx, const store::SweepRow& sweep, Slice& slice, Effects& effects) {
  if (sweep.to_come == 0 || sweep.there() != slice.first()) return absl::OkStatus();
  if (sweep.state == SweepState::kCancelled) {
    return absl::AbortedError(fmt::format("the sweep '{}' was cancelled while its jobs came, and {} of them are to come; submit it again to go on",
                                          sweep.name, sweep.to_come));
  }
  ASSIGN_OR_RETURN(const bool any_found, slice.Write(tx, sweep, effects));
  if (any_found) RETURN_IF_ERROR(NoteRunning(tx, effects));
  return absl::OkStatus();
}

}  // namespace

std::future<absl::Status> Engine::StartEvent(std::function<absl::Status(sql::Transaction&, Effects&)> apply, bool bulk) {
  auto promise = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> answer = promise->get_future();
  SubmitSteering(std::move(apply), [promise](const absl::Status& status) { promise->set_value(status); }, bulk);
  return answer;
}

absl::StatusOr<v1::SubmitSweepResponse> Engine::SubmitSweep(const v1::SubmitSweepRequest& request, store::Store& store) {
  ASSIGN_OR_RETURN(experiments::Expansion sweep, experiments::Expansion::Of(request.spec(), options_.revisions));
  v1::SubmitSweepResponse response;
  std::optional<store::SweepRow> known;
  {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
    ASSIGN_OR_RETURN(known, store::FindSweep(snapshot, sweep.id().value));
    if (known && known->to_come == 0) {
      ASSIGN_OR_RETURN(*response.mutable_plan(), PlanOfSweep(snapshot, *known, board_.Read()));
    } else if (request.dry_run()) {
      ASSIGN_OR_RETURN(*response.mutable_plan(), MakePlan(snapshot, sweep, board_.Read()));
    }
  }
  if (request.dry_run()) return response;

  // What an event has come to. Shared with it: it may outlive this call when the scheduler ends.
  struct Written {
    bool created = false;
    store::SweepRow after;
  };
  struct InFlight {
    std::shared_ptr<Slice> slice;
    std::shared_ptr<Written> written;
    std::future<absl::Status> answer;
  };
  const std::optional<int> priority = request.has_priority() ? std::optional(request.priority()) : std::nullopt;
  const auto begin = [this, priority, id = sweep.id().value, name = sweep.name(), spec = sweep.canonical(), size = sweep.size(),
                      has_inputs = sweep.has_inputs()](sql::Transaction& tx, Effects& effects, Written& written) -> absl::Status {
    const WallTime now = clock_.Wall();
    ASSIGN_OR_RETURN(const std::optional<store::SweepRow> before, store::FindSweep(tx, id));
    written.created = !before;
    if (before) return SubmitAgain(tx, *before, has_inputs, priority, options_.jobs_settled_in_slice, now, effects);
    return store::InsertSweep(tx, {.id = id, .name = name, .spec = spec, .priority = priority.value_or(0), .submitted_at = now, .jobs = size})
        .status();
  };
  const int64_t most = sweep.has_inputs() ? sweep.size() : options_.jobs_in_slice;
  const auto start = [&](int64_t at, bool begins) {
    InFlight next{.slice = std::make_shared<Slice>(sweep, at, most), .written = std::make_shared<Written>(), .answer = {}};
    const bool bulk = sweep.size() > most;  // A small sweep waits for no other.
    next.answer = StartEvent([begin, begins, slice = next.slice, written = next.written,
                              id = sweep.id().value](sql::Transaction& tx, Effects& effects) -> absl::Status {
      if (begins) RETURN_IF_ERROR(begin(tx, effects, *written));
      ASSIGN_OR_RETURN(const std::optional<store::SweepRow> row, store::FindSweep(tx, id));
      if (!row) return absl::InternalError("a sweep's row is gone");
      RETURN_IF_ERROR(AddSlice(tx, *row, *slice, effects));
      ASSIGN_OR_RETURN(written->after, store::GetSweep(tx, row->num));
      return absl::OkStatus();
    }, bulk);
    return next;
  };

  // The sweep itself first; then the next jobs are made while others are written.
  InFlight first = start(known ? known->there() : 0, true);
  RETURN_IF_ERROR(first.answer.get());
  response.set_created(first.written->created);
  store::SweepRow after = first.written->after;
  if (after.unsettled_from) {
    auto settled = std::make_shared<store::SweepRow>();
    auto promise = std::make_shared<std::promise<absl::Status>>();
    std::future<absl::Status> answer = promise->get_future();
    InSlices(
        [this, settled, num = after.num](sql::Transaction& tx, Effects& effects) -> absl::StatusOr<bool> {
          ASSIGN_OR_RETURN(const bool more, SettleNext(tx, num, options_.jobs_settled_in_slice, clock_.Wall(), effects));
          ASSIGN_OR_RETURN(*settled, store::GetSweep(tx, num));
          return more;
        },
        [promise](const absl::Status& status) { promise->set_value(status); });
    if (absl::Status status = answer.get(); !status.ok()) {
      GoOnWith(after.num);
      return status;
    }
    after = *settled;
  }
  PlanCounter counter(!sweep.has_inputs());
  bool counted = !known;  // All jobs.
  const auto count = [&](const Slice& slice) {
    if (slice.is_written()) slice.CountInto(counter);
    else counted = false;
  };
  count(*first.slice);
  absl::Status status;
  std::deque<InFlight> in_flight;
  int64_t at = 0;
  while (status.ok() ? after.to_come > 0 : !in_flight.empty()) {
    if (in_flight.empty()) at = after.there();  // Another caller may have added some.
    while (status.ok() && at < sweep.size() && in_flight.size() < options_.slices_in_flight) {
      in_flight.push_back(start(at, false));
      at = in_flight.back().slice->end();
    }
    const absl::Status answer = in_flight.front().answer.get();
    const InFlight done = std::move(in_flight.front());
    in_flight.pop_front();
    if (answer.ok() && memory_.Lock()->stopping) status = absl::UnavailableError("the scheduler is shutting down; it goes on with the sweep at its next start");
    status.Update(answer);  // Behind one that failed no other has found its place.
    if (!status.ok()) continue;
    after = done.written->after;
    count(*done.slice);
  }
  if (!status.ok()) {
    GoOnWith(after.num);
    return status;
  }
  *response.mutable_sweep() = ToSweep(after);
  if (response.has_plan()) return response;
  ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
  if (counted) {
    ASSIGN_OR_RETURN(*response.mutable_plan(), Estimated(snapshot, counter, board_.Read()));
  } else {
    ASSIGN_OR_RETURN(*response.mutable_plan(), PlanOfSweep(snapshot, after, board_.Read()));
  }
  return response;
}

void Engine::GoOnWith(int64_t sweep) {
  memory_.Lock()->unfinished.Set(sweep, clock_.Steady());
  wake_();
}

absl::StatusOr<bool> Engine::AddNextSlice(sql::Transaction& tx, int64_t num, Effects& effects) {
  ASSIGN_OR_RETURN(const store::SweepRow sweep, store::GetSweep(tx, num));
  if (sweep.to_come == 0 || sweep.state == SweepState::kCancelled) return false;
  if (!going_on_ || going_on_->first != num) {
    going_on_.reset();
    // What this program cannot expand (it was submitted to another version) stays as it is; submitting it again says why.
    absl::StatusOr<experiments::Expansion> expansion = experiments::ExpandStored(sweep.spec);
    if (!expansion.ok()) return false;
    going_on_.emplace(num, *std::move(expansion));
  }
  Slice slice(going_on_->second, sweep.there(), going_on_->second.has_inputs() ? going_on_->second.size() : options_.jobs_in_slice);
  RETURN_IF_ERROR(AddSlice(tx, sweep, slice, effects));
  const bool more = slice.end() < going_on_->second.size();
  if (!more) going_on_.reset();
  return more;
}

}  // namespace longreach::service
