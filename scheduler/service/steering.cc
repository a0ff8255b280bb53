// What clients change (engine.h): submitting and steering sweeps, steering workers, and rows for uploaded files.
#include <future>
#include <unordered_set>

#include <fmt/format.h>

#include "scheduler/core/health.h"
#include "scheduler/core/sweep_life.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/plan.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "store/artifacts.h"

namespace longreach::service {
namespace {

// Jobs in one event: a large sweep is written in many, and workers' calls go in between.
constexpr int64_t kJobsInEvent = 1000;

store::NewJob ToNewJob(const experiments::ExpandedJob& job) {
  store::NewJob row;
  row.id = job.id.value;
  row.spec = job.canonical;
  row.requirement.experiment = job.spec.experiment();
  row.requirement.task = job.spec.task();
  row.requirement.task_revision = job.spec.revisions().task();
  row.requirement.encoding = job.spec.encoding();
  row.requirement.encoding_revision = job.spec.revisions().encoding();
  row.requirement.model_revision = job.spec.revisions().model();
  row.requirement.data = job.spec.data();
  row.randomized = job.spec.randomized();
  row.learning_rate = job.spec.learning_rate();
  row.seed = job.spec.seed();
  row.steps = job.spec.training().steps();
  row.pack_key = job.pack_key;
  for (const v1::JobInput& input : job.spec.inputs()) {
    row.inputs.push_back({.name = input.name(), .source = input.job(), .artifact = input.artifact(), .metric = input.metric()});
  }
  return row;
}

// Jobs in the order in which they can be written: what makes an input comes before what needs it.
class Batch {
 public:
  explicit Batch(bool distinct) : counter_(distinct) {}

  void Add(experiments::ExpandedJob job, bool member) {
    for (experiments::ExpandedJob& maker : job.prerequisites) Add(std::move(maker), false);
    // A prerequisite of many members is written once; members are different by themselves.
    if (!member && !makers_.insert(job.id.value).second) return;
    rows_.push_back(ToNewJob(job));
    jobs_.push_back({std::move(job), member});
  }

  absl::Status Insert(sql::Transaction& tx) {
    ASSIGN_OR_RETURN(inserted_, store::InsertJobs(tx, rows_));
    return absl::OkStatus();
  }

  // After the event is on disk.
  void Move(std::vector<int64_t>& members, std::vector<int64_t>& prerequisites, std::vector<int64_t>& with_inputs) {
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const auto& [job, member] = jobs_[i];
      const int64_t num = inserted_.nums[i];
      (member ? members : prerequisites).push_back(num);
      if (!rows_[i].inputs.empty()) with_inputs.push_back(num);
      counter_.Add(job, member, inserted_.states[i] == store::State::kSucceeded);
    }
    jobs_.clear();
    rows_.clear();
  }

  const PlanCounter& counter() const { return counter_; }

 private:
  std::vector<std::pair<experiments::ExpandedJob, bool>> jobs_;  // And whether it is a member.
  std::vector<store::NewJob> rows_;
  store::InsertedJobs inserted_;
  std::unordered_set<std::string> makers_;
  PlanCounter counter_;
};

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

void Engine::SubmitSteering(std::function<absl::Status(sql::Transaction&, Effects&)> apply, std::function<void(const absl::Status&)> done) {
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
               }});
}

absl::Status Engine::RunEvent(std::function<absl::Status(sql::Transaction&, Effects&)> apply) {
  std::promise<absl::Status> promise;
  std::future<absl::Status> answer = promise.get_future();
  SubmitSteering(std::move(apply), [&promise](const absl::Status& status) { promise.set_value(status); });
  return answer.get();
}

absl::StatusOr<v1::SubmitSweepResponse> Engine::SubmitSweep(const v1::SubmitSweepRequest& request, store::Store& store) {
  ASSIGN_OR_RETURN(experiments::Expansion sweep, experiments::Expansion::Of(request.spec()));
  v1::SubmitSweepResponse response;
  bool known = false;
  {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
    ASSIGN_OR_RETURN(const std::optional<store::SweepRow> row, store::FindSweep(snapshot, sweep.id().value));
    known = row.has_value();  // Then so are all of its jobs: a sweep comes after them, and neither ever goes.
    if (known) {
      ASSIGN_OR_RETURN(*response.mutable_plan(), PlanOfSweep(snapshot, *row, board_.Read()));
    } else if (request.dry_run()) {
      ASSIGN_OR_RETURN(*response.mutable_plan(), MakePlan(snapshot, sweep, board_.Read()));
    }
  }
  if (request.dry_run()) return response;

  Batch batch(!sweep.has_inputs());
  std::vector<int64_t> members, prerequisites, with_inputs;
  for (int64_t i = 0; i < sweep.size() && !known; ++i) {
    batch.Add(sweep.At(i), true);
    if ((i + 1) % kJobsInEvent != 0 && i + 1 != sweep.size()) continue;
    // Until the sweep itself is there, its jobs are wanted by nobody.
    RETURN_IF_ERROR(RunEvent([&batch](sql::Transaction& tx, Effects&) { return batch.Insert(tx); }));
    batch.Move(members, prerequisites, with_inputs);
  }
  if (!known) {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
    ASSIGN_OR_RETURN(*response.mutable_plan(), Estimated(snapshot, batch.counter(), board_.Read()));
  }
  const auto apply = [&](sql::Transaction& tx, Effects& effects) -> absl::Status {
    const WallTime now = clock_.Wall();
    ASSIGN_OR_RETURN(std::optional<store::SweepRow> before, store::FindSweep(tx, sweep.id().value));
    response.set_created(!before.has_value());
    int64_t num = 0;
    if (before) {
      num = before->num;
      RETURN_IF_ERROR(store::SetSweepState(tx, num, core::Submit(before->state)));
      RETURN_IF_ERROR(store::SetSweepAsked(tx, num, now));
      if (request.has_priority()) RETURN_IF_ERROR(store::SetSweepPriority(tx, num, request.priority()));
      if (sweep.has_inputs()) {
        ASSIGN_OR_RETURN(with_inputs, store::SweepJobsWithInputs(tx, num));
      }
    } else {
      ASSIGN_OR_RETURN(num, store::InsertSweep(tx, {.id = sweep.id().value,
                                                    .name = sweep.name(),
                                                    .spec = sweep.canonical(),
                                                    .priority = request.priority(),
                                                    .submitted_at = now}));
      RETURN_IF_ERROR(store::AddSweepJobs(tx, num, members, prerequisites));
    }
    // A live sweep's jobs are wanted, and none of them is cancelled.
    const bool was_live = before && before->state == SweepState::kLive;
    if (!was_live || request.has_priority()) RETURN_IF_ERROR(store::RefreshWanted(tx, num));
    if (!was_live) RETURN_IF_ERROR(store::ReviveCancelledJobs(tx, num).status());
    for (const int64_t job : with_inputs) RETURN_IF_ERROR(SettleInputs(tx, job, effects));
    effects.work = true;
    // Another sweep's pause may have told packs to stop whose jobs are wanted again.
    ASSIGN_OR_RETURN(std::vector<store::AttemptRow> running, store::UnfinishedAttempts(tx));
    for (const store::AttemptRow& attempt : running) effects.workers.insert(attempt.worker);
    ASSIGN_OR_RETURN(store::SweepRow after, store::GetSweep(tx, num));
    ASSIGN_OR_RETURN(*response.mutable_sweep(), ToSweep(after));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(RunEvent(apply));
  return response;
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
