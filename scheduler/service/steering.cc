// What clients change (engine.h): steering sweeps and workers. What they submit is in submission.cc.
#include <fmt/format.h>

#include "scheduler/core/health.h"
#include "scheduler/core/sweep_life.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/settling.h"
#include "scheduler/service/some_jobs.h"

namespace longreach::service {
namespace {

bool Cancels(v1::SteerSweepRequest::Action action) {
  return action == v1::SteerSweepRequest::ACTION_CANCEL || action == v1::SteerSweepRequest::ACTION_CANCEL_JOBS;
}

absl::StatusOr<SweepState> StateAfter(v1::SteerSweepRequest::Action action, SweepState before) {
  switch (action) {
    case v1::SteerSweepRequest::ACTION_PAUSE: return core::Pause(before);
    case v1::SteerSweepRequest::ACTION_RESUME: return core::Resume(before);
    default: return SweepState::kCancelled;
  }
}

}  // namespace

void Engine::SubmitSteering(std::function<absl::Status(sql::Transaction&, Effects&)> apply, std::function<void(const absl::Status&)> done,
                            bool bulk) {
  SubmitBeside(
      [this, apply = std::move(apply)](sql::Transaction& tx, Effects& effects) {
        RETURN_IF_ERROR(apply(tx, effects));
        leasing_.Forget();  // Jobs may have become ready, or others more urgent.
        return absl::OkStatus();
      },
      std::move(done), bulk);
}

void Engine::SubmitBeside(std::function<absl::Status(sql::Transaction&, Effects&)> apply, std::function<void(const absl::Status&)> done, bool bulk) {
  auto effects = std::make_shared<Effects>();
  submit_({.apply =
               [this, effects, apply = std::move(apply)](sql::Transaction& tx) {
                 if (forget_leasing_.exchange(false)) leasing_.Forget();
                 return apply(tx, *effects);
               },
           .done =
               [this, effects, done = std::move(done)](const absl::Status& status) {
                 if (status.ok()) Carry(*effects);
                 else forget_leasing_ = true;
                 done(status);
               },
           .bulk = bulk});
}

Engine::Part Engine::Retry(const std::shared_ptr<std::optional<int>>& jobs) const {
  return [jobs](sql::Transaction& tx, const store::SweepRow& now, store::Positions part, bool, Effects& effects) -> absl::Status {
    RETURN_IF_ERROR(core::CheckRetry(now.state));
    ASSIGN_OR_RETURN(const int retried, store::RetryFailedJobs(tx, now.num, part));
    *jobs = jobs->value_or(0) + retried;
    effects.work = true;
    return absl::OkStatus();
  };
}

absl::StatusOr<Engine::Part> Engine::SteerJobs(const store::SweepRow& sweep, const v1::SteerSweepRequest& request,
                                               const std::shared_ptr<std::optional<int>>& jobs) const {
  ASSIGN_OR_RETURN(SomeJobs named, SomeJobs::Of(sweep, request));
  return [this, jobs, some = std::make_shared<SomeJobs>(std::move(named))](sql::Transaction& tx, const store::SweepRow& now, store::Positions part, bool last,
                                                                            Effects& effects) -> absl::Status {
    ASSIGN_OR_RETURN(const store::Settled settled, some->Steer(tx, now, part));
    RETURN_IF_ERROR(Follow(tx, settled, clock_.Wall(), effects));
    if (!last) return absl::OkStatus();
    ASSIGN_OR_RETURN(*jobs, some->Steered(now.to_come));
    return absl::OkStatus();
  };
}

absl::StatusOr<Engine::NextSlice> Engine::InParts(sql::Transaction& tx, const store::SweepRow& sweep, const Part& part, Effects& effects) const {
  const int64_t most = options_.jobs_settled_in_slice;
  ASSIGN_OR_RETURN(const bool at_once, GoesInOneEvent(tx, sweep, most));
  if (at_once) {
    RETURN_IF_ERROR(part(tx, sweep, {}, /*last=*/true, effects));
    return NextSlice();
  }
  return [part, most, num = sweep.num, at = std::make_shared<int64_t>(0)](sql::Transaction& in, Effects& then) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const store::SweepRow now, store::GetSweep(in, num));
    const store::Positions next{.from = *at, .to = *at + most};
    RETURN_IF_ERROR(part(in, now, next, next.to >= now.there(), then));
    *at = next.to;
    return *at < now.there();
  };
}

absl::StatusOr<Engine::NextSlice> Engine::Steer(sql::Transaction& tx, const store::SweepRow& sweep, const v1::SteerSweepRequest& request,
                                                const std::shared_ptr<std::optional<int>>& jobs, Effects& effects) {
  const int64_t most = options_.jobs_settled_in_slice;
  if (!request.only().empty() && !IsOfSomeJobs(request.action())) {
    return absl::InvalidArgumentError("only: some jobs of a sweep can be cancelled or retried alone, by ACTION_CANCEL_JOBS or ACTION_RETRY_JOBS; leave it out for the whole sweep");
  }
  switch (request.action()) {
    case v1::SteerSweepRequest::ACTION_PAUSE:
    case v1::SteerSweepRequest::ACTION_RESUME:
    case v1::SteerSweepRequest::ACTION_CANCEL: {
      ASSIGN_OR_RETURN(const SweepState state, StateAfter(request.action(), sweep.state));
      RETURN_IF_ERROR(store::SetSweepState(tx, sweep.num, state));
      break;
    }
    case v1::SteerSweepRequest::ACTION_SET_PRIORITY:
      RETURN_IF_ERROR(store::SetSweepPriority(tx, sweep.num, request.priority()));
      break;
    case v1::SteerSweepRequest::ACTION_RETRY:
      RETURN_IF_ERROR(core::CheckRetry(sweep.state));
      return InParts(tx, sweep, Retry(jobs), effects);
    case v1::SteerSweepRequest::ACTION_RETRY_JOBS:
    case v1::SteerSweepRequest::ACTION_CANCEL_JOBS: {
      const bool cancels = request.action() == v1::SteerSweepRequest::ACTION_CANCEL_JOBS;
      RETURN_IF_ERROR(cancels ? core::CheckCancelJobs(sweep.state, sweep.to_come) : core::CheckRetry(sweep.state));
      ASSIGN_OR_RETURN(const Part part, SteerJobs(sweep, request, jobs));
      return InParts(tx, sweep, part, effects);
    }
    default:
      return absl::InvalidArgumentError(fmt::format("action: {} is no action of this version", static_cast<int>(request.action())));
  }
  ASSIGN_OR_RETURN(const bool more, Settle(tx, sweep, most, clock_.Wall(), effects));
  if (!more) return NextSlice();
  return [this, most, num = sweep.num](sql::Transaction& in, Effects& then) { return SettleNext(in, num, most, clock_.Wall(), then); };
}

void Engine::SteerSweep(v1::SteerSweepRequest request, Answer<v1::Sweep> answer, const std::string& by) {
  struct Steered {
    int64_t sweep = 0;
    bool is_remembered = false;  // What is asked for, so that it goes on by itself when it breaks off.
    NextSlice next;
    std::shared_ptr<std::optional<int>> jobs = std::make_shared<std::optional<int>>();
    std::optional<int> dropped;  // Where it cancels: by all events until now.
    v1::Sweep reply;

    // At the end of an event with these effects.
    absl::Status Look(sql::Connection& db, const Effects& effects) {
      ASSIGN_OR_RETURN(const store::SweepRow after, store::GetSweep(db, sweep));
      reply = ToSweep(after);
      if (*jobs) reply.set_jobs_steered(**jobs);
      if (!dropped) return absl::OkStatus();
      *dropped += effects.dropped;
      reply.set_jobs_dropped(*dropped);
      return absl::OkStatus();
    }
  };
  auto steered = std::make_shared<Steered>();
  if (Cancels(request.action())) steered->dropped = 0;
  const auto finish = [steered, answer = std::move(answer)](const absl::Status& status) {
    if (status.ok()) answer(std::move(steered->reply));
    else answer(status);
  };
  SubmitSteering(
      [this, request = std::move(request), steered, by](sql::Transaction& tx, Effects& effects) -> absl::Status {
        ASSIGN_OR_RETURN(store::SweepRow sweep, ResolveSweep(tx, request.sweep()));
        steered->sweep = sweep.num;
        steered->is_remembered = request.action() != v1::SteerSweepRequest::ACTION_RETRY && !IsOfSomeJobs(request.action());
        ASSIGN_OR_RETURN(steered->next, Steer(tx, sweep, request, steered->jobs, effects));
        effects.news.push_back(SweepSteered(sweep, request, by));
        return steered->Look(tx, effects);
      },
      [this, steered, finish](const absl::Status& status) {
        if (!status.ok() || !steered->next) return finish(status);
        InSlices(
            [steered](sql::Transaction& tx, Effects& effects) -> absl::StatusOr<bool> {
              ASSIGN_OR_RETURN(const bool more, steered->next(tx, effects));
              RETURN_IF_ERROR(steered->Look(tx, effects));
              return more;
            },
            steered->is_remembered, [this, steered, finish](const absl::Status& all) {
              if (all.ok()) return finish(all);
              GoOnWith(steered->sweep);
              finish(steered->is_remembered ? GoesOn(fmt::format("the sweep '{}' is as asked for, but for some of its jobs", steered->reply.name()), all) : all);
            });
      });
}

void Engine::SteerWorker(v1::SteerWorkerRequest request, Answer<v1::WorkerInfo> answer, const std::string& by) {
  auto reply = std::make_shared<v1::WorkerInfo>();
  SubmitSteering(
      [this, request = std::move(request), reply, by](sql::Transaction& tx, Effects& effects) -> absl::Status {
        ASSIGN_OR_RETURN(store::WorkerRow worker, ResolveWorker(tx, request.worker(), board_.Read()));
        if (request.drain()) {
          ASSIGN_OR_RETURN(const std::string in_command, WorkerInCommand(tx, worker));
          RETURN_IF_ERROR(store::SetWorkerState(tx, worker.id, WorkerState::kDraining,
                                                fmt::format("it is drained; 'longreach drain --undo {}' gives it work again", in_command)));
        } else {
          RETURN_IF_ERROR(store::SetWorkerState(tx, worker.id, WorkerState::kActive, ""));
          RETURN_IF_ERROR(store::SetWorkerFailures(tx, worker.id, core::ToText(core::Health{})));
        }
        effects.workers.insert(worker.id);
        effects.news.push_back(WorkerSteered(worker, request.drain(), by));
        ASSIGN_OR_RETURN(std::optional<store::WorkerRow> after, store::FindWorker(tx, worker.id));
        if (!after) return absl::InternalError("a worker's row is gone");
        const LiveBoard::State live = board_.Read();
        *reply = ToWorkerInfo(*after, live, GroupByWorker(live));
        return absl::OkStatus();
      },
      [reply, answer = std::move(answer)](const absl::Status& status) {
        if (status.ok()) answer(std::move(*reply));
        else answer(status);
      });
}

}  // namespace longreach::service
