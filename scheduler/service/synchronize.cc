// A worker's event (engine.h): reads what the store knows of it, takes its reports, decides on what it holds, gives it work.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "proto/types/time.h"
#include "scheduler/core/packs.h"
#include "scheduler/experiments/registry.h"
#include "scheduler/service/began.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/failed_work.h"
#include "scheduler/service/input_files.h"
#include "scheduler/service/needs.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// The first bytes that anybody announces under a name are what the name means; others' are not used. Names stay for good, and whoever announces new ones
// each time must not fill the store with them: behind `most` a name waits until a job asks for it (Leasing). How many of these do.
absl::StatusOr<int64_t> KeepNames(sql::Transaction& tx, const v1::Abilities& abilities, int64_t most, WallTime now) {
  ASSIGN_OR_RETURN(int64_t known, store::CountDataSets(tx));
  int64_t waiting = 0;
  for (const v1::DataSet& data : abilities.data_sets()) {
    ASSIGN_OR_RETURN(const std::optional<store::DataSetRow> row, store::FindDataSet(tx, data.name()));
    if (row) continue;
    if (known >= most) {
      ++waiting;
      continue;
    }
    ++known;
    RETURN_IF_ERROR(store::BindDataSet(tx, {.name = data.name(), .sha256 = data.sha256(), .bytes = data.bytes(), .first_seen_at = now}).status());
  }
  return waiting;
}

// The worker's row, brought up to date. ABORTED: a newer incarnation was here.
absl::StatusOr<store::WorkerRow> Register(sql::Transaction& tx, const v1::SynchronizeRequest& request, std::string json, int64_t max_data_sets, WallTime now,
                                           Leasing& leasing, Effects& effects) {
  ASSIGN_OR_RETURN(std::optional<store::WorkerRow> before, store::FindWorker(tx, request.worker()));
  if (before && before->incarnation > request.incarnation()) {
    return absl::AbortedError("a newer incarnation of this worker took over: this one must stop");
  }
  const bool restarted = before && before->incarnation != request.incarnation();
  const bool is_back = before && before->HasLeft() && !request.leaving();
  if (before && !restarted && !is_back && before->abilities == json) return *before;

  store::WorkerRow row = before.value_or(store::WorkerRow{});
  if (row.HasLeft()) row.reason.clear();
  if (!before) row.first_seen_at = now;
  // A restart gives a worker that was put aside another chance; one that is drained stays so until someone says otherwise.
  if (restarted) row.recent_failures.clear();
  if (restarted && row.state == WorkerState::kPutAside) {
    row.state = WorkerState::kActive;
    row.reason.clear();
  }
  const v1::Abilities& abilities = request.abilities();
  row.id = request.worker();
  row.incarnation = request.incarnation();
  row.seen_at = now;
  // One that begins, and hands in what it had kept: until it says what it can do it is what it was.
  if (!before || SaysWhatItCanDo(abilities)) {
    row.name = abilities.name().empty() ? std::string(ShortId(request.worker())) : abilities.name();
    row.abilities = std::move(json);
    row.build = abilities.build();
    row.device = abilities.device();
    row.device_id = abilities.device_id();
    row.threads = abilities.threads();
    row.pack_limit = core::PackLimit(abilities);
  }
  RETURN_IF_ERROR(store::PutWorker(tx, row));
  if (!before) effects.news.push_back(WorkerIsNew(row));
  else if (restarted) effects.news.push_back(WorkerStartedAnew(row));
  leasing.Forget();
  ASSIGN_OR_RETURN(const int64_t waiting, KeepNames(tx, abilities, max_data_sets, now));
  if (waiting > 0) effects.news.push_back(DataSetsAreNotListed(row, waiting, max_data_sets));
  return row;
}

// What failed there may weigh otherwise than when it did: sweeps have come that have the same jobs, and the oldest failures are forgotten.
absl::Status BringInLine(sql::Transaction& tx, const FailedWork& failed, store::WorkerRow& worker, Effects& effects) {
  const WorkerState state = failed.standing() == core::Standing::kGood ? WorkerState::kActive : WorkerState::kPutAside;
  if (worker.state == WorkerState::kDraining || worker.state == state) return absl::OkStatus();
  worker.state = state;
  worker.reason.clear();
  if (state == WorkerState::kPutAside) {
    ASSIGN_OR_RETURN(worker.reason, failed.Reason(tx, worker, "", {}));
  }
  effects.news.push_back(state == WorkerState::kPutAside ? WorkerPutAside(worker, worker.reason) : WorkerGetsWorkAgain(worker));
  return store::SetWorkerState(tx, worker.id, worker.state, worker.reason);
}

// Reports are acknowledged whether they count or not: a report of an attempt that has ended, is unknown or another's never will.
absl::Status TakeReports(sql::Transaction& tx, const v1::SynchronizeRequest& request, const store::ArtifactFiles* files, WallTime now,
                         v1::SynchronizeResponse& response, Effects& effects) {
  // Something is written anyway; else it is once a minute.
  if (!request.finished().empty()) RETURN_IF_ERROR(store::SetWorkerSeen(tx, request.worker(), now));
  for (const v1::AttemptReport& report : request.finished()) {
    response.add_acknowledged(report.attempt());
    ASSIGN_OR_RETURN(std::optional<store::AttemptRow> attempt, store::FindAttempt(tx, static_cast<int64_t>(report.attempt())));
    if (!attempt || attempt->worker != request.worker() || attempt->outcome) continue;
    RETURN_IF_ERROR(WritePoints(tx, attempt->id, report.points(), now));
    Outcome outcome = *FromProto(report.outcome());
    if (outcome == Outcome::kFailed) {
      ASSIGN_OR_RETURN(const bool lacks, LacksFiles(tx, *attempt, files));
      if (lacks) outcome = Outcome::kGivenBack;
    }
    switch (outcome) {
      case Outcome::kSucceeded: RETURN_IF_ERROR(EndSucceeded(tx, *attempt, report, now, effects)); break;
      case Outcome::kFailed: RETURN_IF_ERROR(EndFailed(tx, *attempt, report, now, effects)); break;
      default: RETURN_IF_ERROR(EndGivenBack(tx, *attempt, report.detail(), report.engine(), now, effects)); break;
    }
  }
  return absl::OkStatus();
}

bool AllWanted(const std::vector<store::JobRow>& jobs) {
  return std::ranges::all_of(jobs, [](const store::JobRow& job) { return job.wanted; });
}

// What should become of an attempt that the worker holds and that is running.
absl::StatusOr<v1::Directive> DirectiveOf(sql::Connection& db, int64_t attempt, bool stop) {
  v1::Directive directive;
  directive.set_attempt(static_cast<uint64_t>(attempt));
  ASSIGN_OR_RETURN(std::vector<store::AttemptMember> members, store::MembersOf(db, attempt));
  for (const store::AttemptMember& member : members) {
    if (member.dropped) directive.add_dropped_jobs(member.id);
  }
  // A pack with a member that nobody wants just now stops as a whole; the wanted ones are leased again without it.
  ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, store::JobsOfAttempt(db, attempt));
  directive.set_action(stop || !AllWanted(jobs) ? v1::Directive::ACTION_STOP : v1::Directive::ACTION_CONTINUE);
  return directive;
}

// What a worker holds by its own account, beside what the store has of it.
struct Held {
  bool any_running = false;                 // Of those that the store has.
  std::vector<store::AttemptRow> not_held;  // They were given to this incarnation.
};

// Says of all that the worker holds what should become of it. What an earlier incarnation was given, and this one does not hold, is lost.
absl::StatusOr<Held> DirectHeld(sql::Transaction& tx, const v1::SynchronizeRequest& request, bool stop, WallTime now, v1::SynchronizeResponse& response,
                                Effects& effects) {
  std::map<int64_t, const v1::HeldAttempt*> told_of;
  for (const v1::HeldAttempt& attempt : request.held()) told_of.emplace(static_cast<int64_t>(attempt.attempt()), &attempt);
  std::set<int64_t> running;
  Held held;
  ASSIGN_OR_RETURN(std::vector<store::AttemptRow> attempts, store::UnfinishedAttempts(tx, request.worker()));
  for (store::AttemptRow& attempt : attempts) {
    if (const auto told = told_of.find(attempt.id); told != told_of.end()) {
      running.insert(attempt.id);
      RETURN_IF_ERROR(WritePoints(tx, attempt.id, told->second->points(), now));
      if (const int step = told->second->step(); BeganEarlier(*told->second, attempt.start_step)) {
        RETURN_IF_ERROR(store::SetAttemptStart(tx, attempt.id, step));
        effects.began_at[attempt.id] = step;
      }
      ASSIGN_OR_RETURN(*response.add_directives(), DirectiveOf(tx, attempt.id, stop));
    } else if (attempt.incarnation != request.incarnation()) {
      RETURN_IF_ERROR(EndLost(tx, attempt, "its worker started anew without it", now, effects));
    } else {
      held.not_held.push_back(std::move(attempt));
    }
  }
  held.any_running = !running.empty();
  for (const v1::HeldAttempt& attempt : request.held()) {
    if (running.contains(static_cast<int64_t>(attempt.attempt()))) continue;
    v1::Directive& directive = *response.add_directives();
    directive.set_attempt(attempt.attempt());
    directive.set_action(v1::Directive::ACTION_DROP);
  }
  return held;
}

// Attempts that this incarnation was given and does not hold: their leases are sent again, or taken back. Those that the answer has no
// room for are the worker's all the same, and come with a later one. How many are the worker's: less room for others.
absl::StatusOr<Room> SendAgain(sql::Transaction& tx, const std::vector<store::AttemptRow>& attempts, const store::ArtifactFiles* files, bool active,
                               WallTime now, AnswerRoom& room, v1::SynchronizeResponse& response, Effects& effects) {
  Room unconfirmed;
  for (const store::AttemptRow& attempt : attempts) {
    ASSIGN_OR_RETURN(std::vector<store::JobRow> jobs, store::JobsOfAttempt(tx, attempt.id));
    const bool wanted = active && AllWanted(jobs);
    int& count = unconfirmed.Of(NeedsNoTrainer(jobs));
    if (wanted && room.full()) {
      ++count;
      continue;
    }
    absl::StatusOr<v1::Lease> lease = BuildLease(tx, attempt.id, files);
    if (wanted && lease.ok()) {
      ++count;
      if (room.Take(*lease)) *response.add_leases() = *std::move(lease);
      continue;
    }
    if (!lease.ok() && lease.status().code() != absl::StatusCode::kNotFound) return lease.status();
    RETURN_IF_ERROR(EndGivenBack(tx, attempt, "taken back before it began", "", now, effects));
  }
  return unconfirmed;
}

// All of the answer that is worth telling at once, but for leases and acknowledgements.
std::string ToldBy(const v1::SynchronizeResponse& response) {
  std::string told = response.refused();
  for (const v1::Directive& directive : response.directives()) {
    if (directive.action() == v1::Directive::ACTION_CONTINUE && directive.dropped_jobs().empty()) continue;
    told += fmt::format("\n{} {}", directive.attempt(), static_cast<int>(directive.action()));
    for (const std::string& job : directive.dropped_jobs()) told += " " + job;
  }
  return told;
}

}  // namespace

absl::StatusOr<std::string> AbilitiesJson::Of(const std::string& worker, const v1::Abilities& abilities) {
  const std::string bytes = abilities.SerializeAsString();
  const auto known = texts_.find(worker);
  if (known != texts_.end() && known->second.bytes == bytes) return known->second.json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(abilities, &json, options).ok()) {
    return absl::InvalidArgumentError("abilities: cannot be written as JSON");
  }
  if (texts_.size() >= kMost) texts_.clear();
  texts_.insert_or_assign(worker, Text{.bytes = bytes, .json = json});
  return json;
}

absl::Status Engine::Decide(sql::Transaction& tx, const v1::SynchronizeRequest& request, Decision& decision) {
  const WallTime now = clock_.Wall();
  v1::SynchronizeResponse& response = decision.response;
  Effects& effects = decision.effects;
  response.set_store(store_);
  *response.mutable_lease_term() = ToDuration(options_.lease_term);
  *response.mutable_renew_every() = ToDuration(options_.renew_every);

  ASSIGN_OR_RETURN(std::string json, abilities_json_.Of(request.worker(), request.abilities()));
  ASSIGN_OR_RETURN(std::optional<store::WorkerRow> worker, Register(tx, request, std::move(json), options_.max_data_sets, now, leasing_, effects));
  RETURN_IF_ERROR(TakeReports(tx, request, options_.files, now, response, effects));
  if (!request.finished().empty()) {  // Its own reports may have put it aside: also one of success, whose results are refused.
    ASSIGN_OR_RETURN(worker, store::FindWorker(tx, request.worker()));
    if (!worker) return absl::InternalError("a worker's row is gone");
  }
  decision.name = worker->name;
  ASSIGN_OR_RETURN(const FailedWork failed, FailedWork::Of(tx, worker->recent_failures));
  RETURN_IF_ERROR(BringInLine(tx, failed, *worker, effects));
  // One that was put aside for some sweeps' jobs gets others.
  const bool gets_work = worker->state != WorkerState::kDraining && failed.standing() != core::Standing::kAside;
  const bool active = gets_work && !request.leaving();
  const bool stop = request.leaving() || worker->state == WorkerState::kDraining;

  ASSIGN_OR_RETURN(const Held held, DirectHeld(tx, request, stop, now, response, effects));
  AnswerRoom answer(options_.answer_bytes);
  answer.TakeBytes(response.ByteSizeLong());
  ASSIGN_OR_RETURN(const Room unconfirmed, SendAgain(tx, held.not_held, options_.files, active, now, answer, response, effects));
  if (effects.work) leasing_.Forget();
  Room room;
  if (active) {
    room.packs = core::NewLeases(request.free_slots(), unconfirmed.packs);
    room.noops = core::NewLeases(request.free_noop_slots(), unconfirmed.noops, core::kMaxNoopSlots);
  }
  RETURN_IF_ERROR(leasing_.Lease(tx, *worker, failed, request.abilities(), room, now, answer, response, effects));
  const bool at_work = gets_work && (held.any_running || !response.leases().empty());
  if (worker->state != WorkerState::kActive && !at_work) response.set_refused(worker->reason);
  // After a start of the scheduler nobody waits for it.
  if (request.leaving() && request.held().empty() && worker->state == WorkerState::kActive) {
    RETURN_IF_ERROR(store::SetWorkerState(tx, worker->id, worker->state, store::kHasLeft));
  }
  decision.gave_up = leasing_.gave_up();
  decision.told = ToldBy(response);
  return absl::OkStatus();
}

}  // namespace longreach::service
