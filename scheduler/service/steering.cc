// What clients change (engine.h): steering sweeps and workers, and rows for uploaded files. What they submit is in submission.cc.
#include <fmt/format.h>

#include "scheduler/core/health.h"
#include "scheduler/core/sweep_life.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "store/artifacts.h"

namespace longreach::service {
namespace {

// All workers that train something of a sweep that it does not want now.
absl::Status NoteStopped(sql::Connection& db, int64_t sweep, Effects& effects) {
  ASSIGN_OR_RETURN(std::vector<int64_t> attempts, store::RunningAttemptsOfSweep(db, sweep));
  for (const int64_t id : attempts) {
    ASSIGN_OR_RETURN(std::optional<store::AttemptRow> attempt, store::FindAttempt(db, id));
    if (attempt) effects.workers.insert(attempt->worker);
  }
  return absl::OkStatus();
}

absl::Status SetState(sql::Transaction& tx, int64_t sweep, SweepState state) {
  RETURN_IF_ERROR(store::SetSweepState(tx, sweep, state));
  return store::RefreshWanted(tx, sweep);
}

absl::Status Steer(sql::Transaction& tx, const store::SweepRow& sweep, const v1::SteerSweepRequest& request, WallTime now, Effects& effects) {
  switch (request.action()) {
    case v1::SteerSweepRequest::ACTION_PAUSE: {
      ASSIGN_OR_RETURN(SweepState state, core::Pause(sweep.state));
      RETURN_IF_ERROR(SetState(tx, sweep.num, state));
      return NoteStopped(tx, sweep.num, effects);
    }
    case v1::SteerSweepRequest::ACTION_RESUME: {
      ASSIGN_OR_RETURN(SweepState state, core::Resume(sweep.state));
      RETURN_IF_ERROR(SetState(tx, sweep.num, state));
      effects.work = true;
      // Packs that were told to stop and have not yet may go on.
      ASSIGN_OR_RETURN(std::vector<store::AttemptRow> running, store::UnfinishedAttempts(tx));
      for (const store::AttemptRow& attempt : running) effects.workers.insert(attempt.worker);
      return absl::OkStatus();
    }
    case v1::SteerSweepRequest::ACTION_CANCEL: {
      ASSIGN_OR_RETURN(SweepState state, core::CancelSweep(sweep.state));
      RETURN_IF_ERROR(SetState(tx, sweep.num, state));
      ASSIGN_OR_RETURN(std::vector<store::DroppedJob> dropped, store::CancelUnwantedJobs(tx, sweep.num));
      RETURN_IF_ERROR(DropMembers(tx, dropped, now, effects));
      return NoteStopped(tx, sweep.num, effects);
    }
    case v1::SteerSweepRequest::ACTION_RETRY: {
      RETURN_IF_ERROR(core::CheckRetry(sweep.state));
      effects.work = true;
      return store::RetryFailedJobs(tx, sweep.num).status();
    }
    case v1::SteerSweepRequest::ACTION_SET_PRIORITY:
      RETURN_IF_ERROR(store::SetSweepPriority(tx, sweep.num, request.priority()));
      return store::RefreshWanted(tx, sweep.num);
    default:
      return absl::InvalidArgumentError(fmt::format("action: {} is no action of this version", static_cast<int>(request.action())));
  }
}

}  // namespace

void Engine::SubmitSteering(std::function<absl::Status(sql::Transaction&, Effects&)> apply, std::function<void(const absl::Status&)> done,
                            bool bulk) {
  auto effects = std::make_shared<Effects>();
  submit_({.apply =
               [this, effects, apply = std::move(apply)](sql::Transaction& tx) {
                 if (forget_leasing_.exchange(false)) leasing_.Forget();
                 RETURN_IF_ERROR(apply(tx, *effects));
                 leasing_.Forget();  // Jobs may have become ready, or others more urgent.
                 return absl::OkStatus();
               },
           .done =
               [this, effects, done = std::move(done)](const absl::Status& status) {
                 if (status.ok()) Carry(*effects);
                 else forget_leasing_ = true;
                 done(status);
               },
           .bulk = bulk});
}

void Engine::SteerSweep(v1::SteerSweepRequest request, Answer<v1::Sweep> answer) {
  auto reply = std::make_shared<v1::Sweep>();
  SubmitSteering(
      [this, request = std::move(request), reply](sql::Transaction& tx, Effects& effects) -> absl::Status {
        ASSIGN_OR_RETURN(store::SweepRow sweep, ResolveSweep(tx, request.sweep()));
        RETURN_IF_ERROR(Steer(tx, sweep, request, clock_.Wall(), effects));
        ASSIGN_OR_RETURN(store::SweepRow after, store::GetSweep(tx, sweep.num));
        ASSIGN_OR_RETURN(*reply, ToSweep(after));
        return absl::OkStatus();
      },
      [reply, answer = std::move(answer)](const absl::Status& status) {
        if (status.ok()) answer(std::move(*reply));
        else answer(status);
      });
}

void Engine::SteerWorker(v1::SteerWorkerRequest request, Answer<v1::WorkerInfo> answer) {
  auto reply = std::make_shared<v1::WorkerInfo>();
  SubmitSteering(
      [this, request = std::move(request), reply](sql::Transaction& tx, Effects& effects) -> absl::Status {
        ASSIGN_OR_RETURN(store::WorkerRow worker, ResolveWorker(tx, request.worker()));
        if (request.drain()) {
          RETURN_IF_ERROR(store::SetWorkerState(tx, worker.id, store::WorkerState::kDraining,
                                                fmt::format("it is drained; 'longreach drain --undo {}' gives it work again", WorkerInCommand(worker))));
        } else {
          RETURN_IF_ERROR(store::SetWorkerState(tx, worker.id, store::WorkerState::kActive, ""));
          RETURN_IF_ERROR(store::SetWorkerFailures(tx, worker.id, core::ToText(core::Health{})));
        }
        effects.workers.insert(worker.id);
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

void Engine::RecordUpload(v1::UploadHeader header, Answer<WallTime> answer) {
  const WallTime now = clock_.Wall();
  SubmitSteering(
      [now, header = std::move(header)](sql::Transaction& tx, Effects&) -> absl::Status {
        const int64_t id = static_cast<int64_t>(header.attempt());
        ASSIGN_OR_RETURN(std::optional<store::AttemptRow> attempt, store::FindAttempt(tx, id));
        if (!attempt || attempt->outcome || attempt->worker != header.worker()) {
          return absl::AbortedError(fmt::format("attempt {} holds no lease (any more): drop it", header.attempt()));
        }
        ASSIGN_OR_RETURN(std::vector<store::AttemptMember> members, store::MembersOf(tx, id));
        std::map<std::string_view, const store::AttemptMember*> by_id;
        for (const store::AttemptMember& member : members) by_id.emplace(member.id, &member);
        for (int member = 0; member < header.jobs_size(); ++member) {
          const auto found = by_id.find(header.jobs(member));
          if (found == by_id.end()) {
            return absl::InvalidArgumentError(fmt::format("job {} is no member of attempt {}", header.jobs(member), header.attempt()));
          }
          if (found->second->dropped) continue;  // Nobody wants it any more; the others' parts count.
          store::ArtifactRow row;
          row.job = found->second->job;
          row.kind = header.kind();
          row.step = header.step();
          row.attempt = id;
          row.member = member;
          row.sha256 = header.sha256();
          row.bytes = static_cast<int64_t>(header.bytes());
          row.created_at = now;
          RETURN_IF_ERROR(store::AddArtifact(tx, row));
        }
        return absl::OkStatus();
      },
      [now, answer = std::move(answer)](const absl::Status& status) {
        if (status.ok()) answer(now);
        else answer(status);
      });
}

}  // namespace longreach::service
