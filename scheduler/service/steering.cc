// What clients change (engine.h): steering sweeps and workers. What they submit is in submission.cc.
#include <fmt/format.h>

#include "scheduler/core/health.h"
#include "scheduler/core/sweep_life.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/settling.h"

namespace longreach::service {
namespace {

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

absl::StatusOr<Engine::NextSlice> Engine::Retry(sql::Transaction& tx, const store::SweepRow& sweep, Effects& effects) const {
  RETURN_IF_ERROR(core::CheckRetry(sweep.state));
  effects.work = true;
  const int64_t most = options_.jobs_settled_in_slice;
  ASSIGN_OR_RETURN(const bool at_once, GoesInOneEvent(tx, sweep, most));
  if (at_once) {
    RETURN_IF_ERROR(store::RetryFailedJobs(tx, sweep.num).status());
    return NextSlice();
  }
  // Nothing is remembered of this: when it breaks off, whoever asked is told so, and asks again.
  return [most, num = sweep.num, at = std::make_shared<int64_t>(0)](sql::Transaction& in, Effects& then) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const store::SweepRow now, store::GetSweep(in, num));
    RETURN_IF_ERROR(core::CheckRetry(now.state));
    RETURN_IF_ERROR(store::RetryFailedJobs(in, num, {.from = *at, .to = *at + most}).status());
    *at += most;
    then.work = true;
    return *at < now.there();
  };
}

absl::StatusOr<Engine::NextSlice> Engine::Steer(sql::Transaction& tx, const store::SweepRow& sweep, const v1::SteerSweepRequest& request,
                                                Effects& effects) {
  const int64_t most = options_.jobs_settled_in_slice;
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
      return Retry(tx, sweep, effects);
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
    v1::Sweep reply;
  };
  auto steered = std::make_shared<Steered>();
  const auto finish = [steered, answer = std::move(answer)](const absl::Status& status) {
    if (status.ok()) answer(std::move(steered->reply));
    else answer(status);
  };
  SubmitSteering(
      [this, request = std::move(request), steered, by](sql::Transaction& tx, Effects& effects) -> absl::Status {
        ASSIGN_OR_RETURN(store::SweepRow sweep, ResolveSweep(tx, request.sweep()));
        steered->sweep = sweep.num;
        steered->is_remembered = request.action() != v1::SteerSweepRequest::ACTION_RETRY;
        ASSIGN_OR_RETURN(steered->next, Steer(tx, sweep, request, effects));
        effects.news.push_back(SweepSteered(sweep, request, by));
        ASSIGN_OR_RETURN(store::SweepRow after, store::GetSweep(tx, sweep.num));
        steered->reply = ToSweep(after);
        return absl::OkStatus();
      },
      [this, steered, finish](const absl::Status& status) {
        if (!status.ok() || !steered->next) return finish(status);
        InSlices(
            [steered](sql::Transaction& tx, Effects& effects) -> absl::StatusOr<bool> {
              ASSIGN_OR_RETURN(const bool more, steered->next(tx, effects));
              ASSIGN_OR_RETURN(const store::SweepRow after, store::GetSweep(tx, steered->sweep));
              steered->reply = ToSweep(after);
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
        *reply = ToWorkerInfo(*after, board_.Read());
        return absl::OkStatus();
      },
      [reply, answer = std::move(answer)](const absl::Status& status) {
        if (status.ok()) answer(std::move(*reply));
        else answer(status);
      });
}

}  // namespace longreach::service
