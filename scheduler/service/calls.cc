// Workers' calls on their way in and out (engine.h): which count, which need an event, which are held open.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "proto/catalog/limits.h"
#include "proto/types/words.h"
#include "scheduler/service/began.h"
#include "scheduler/service/check_call.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/needs.h"
#include "store/identity.h"
#include "store/measurements.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// Gathered between two writes: of a curve that is told twice, at its end again.
constexpr size_t kPointsOfMember = size_t{2} * catalog::kMaxLossPoints;
// store knows no catalog.
static_assert(store::kMaxProgressRows == catalog::kMaxLossPoints);

// All that a decision depends on beside the store, for a call without reports.
std::string ShapeOf(const v1::SynchronizeRequest& request) {
  std::vector<uint64_t> held;
  for (const v1::HeldAttempt& attempt : request.held()) held.push_back(attempt.attempt());
  std::ranges::sort(held);
  std::string shape = fmt::format("{} {} {} {}", request.incarnation(), request.free_slots(), request.free_noop_slots(), request.leaving());
  for (const uint64_t attempt : held) shape += fmt::format(" {}", attempt);
  shape += '\n';
  request.abilities().AppendToString(&shape);
  return shape;
}

absl::Status Overtaken() { return absl::AbortedError("a newer call of this worker was seen"); }

}  // namespace

Room Engine::RoomOf(const v1::SynchronizeRequest& request) {
  if (request.leaving()) return {};
  return {.packs = request.free_slots(), .noops = request.free_noop_slots()};
}

bool Engine::HasPoints(const v1::SynchronizeRequest& request) {
  return std::ranges::any_of(request.held(), [](const v1::HeldAttempt& held) { return !held.points().empty(); });
}

bool Engine::TellsOfABegin(const v1::SynchronizeRequest& request, const Memory& memory) {
  return std::ranges::any_of(request.held(), [&](const v1::HeldAttempt& held) {
    const auto attempt = memory.attempts.find(static_cast<int64_t>(held.attempt()));
    return attempt != memory.attempts.end() && attempt->second.live.worker == request.worker() && BeganEarlier(held, attempt->second.start_step);
  });
}

Engine::Engine(const Clock& clock, const EngineOptions& options, std::function<void(store::Event)> submit, std::function<void()> wake)
    : clock_(clock), options_(options), submit_(std::move(submit)), wake_(std::move(wake)) {}

absl::Status Engine::Restore(sql::Connection& db) {
  ASSIGN_OR_RETURN(store_, store::Identity(db));
  ASSIGN_OR_RETURN(std::vector<store::AttemptRow> running, store::UnfinishedAttempts(db));
  ASSIGN_OR_RETURN(const std::vector<int64_t> unfinished, store::UnfinishedSweeps(db));
  // The store has the time of an idle worker's call once a minute only.
  ASSIGN_OR_RETURN(const std::vector<std::string> of_late, store::WorkersOfLate(db, options_.write_seen_every + options_.lease_term));
  std::set<std::string> awaited(of_late.begin(), of_late.end());
  Effects effects;
  for (const store::AttemptRow& attempt : running) {
    ASSIGN_OR_RETURN(LiveAttempt live, LiveAttemptOf(db, attempt));
    effects.started.push_back({.attempt = attempt.id, .start_step = attempt.start_step, .live = std::move(live)});
    awaited.insert(attempt.worker);
  }
  Carry(effects);
  // None can have been silent for a whole term before that.
  if (options_.awaits_workers) board_.Await(std::move(awaited), clock_, clock_.Steady() + options_.lease_term);
  auto memory = memory_.Lock();
  for (const auto& [id, worker] : memory->workers) memory->gone.insert(id);  // Until they call.
  for (const int64_t sweep : unfinished) memory->unfinished.Set(sweep, clock_.Steady());
  return absl::OkStatus();
}

absl::Status Engine::Arrive(const CallPtr& call, Memory& memory, CallPtr& overtaken) {
  const v1::SynchronizeRequest& request = call->request;
  if (memory.stopping) return absl::UnavailableError("the scheduler is shutting down; try again later");
  const auto known = memory.workers.find(request.worker());
  if (known == memory.workers.end() && memory.workers.size() >= options_.max_workers) {
    return absl::ResourceExhaustedError(fmt::format("{} workers are here already, and no more are taken; try again later", options_.max_workers));
  }
  WorkerMemory& worker = known == memory.workers.end() ? memory.workers[request.worker()] : known->second;
  if (request.incarnation() < worker.incarnation) {
    return absl::AbortedError("a newer incarnation of this worker took over: this one must stop");
  }
  const bool seen_before = request.incarnation() == worker.incarnation && worker.sequence > 0;
  if (seen_before && request.sequence() <= worker.sequence) return Overtaken();
  overtaken = Release(request.worker(), worker, memory);
  if (request.incarnation() != worker.incarnation) {
    worker.quiet.reset();
    worker.told.clear();
    board_.SetHeard(request.worker(), false);
  }
  worker.incarnation = request.incarnation();
  worker.sequence = request.sequence();
  worker.seen_at = clock_.Wall();
  worker.unwritten = true;
  const SteadyTime now = clock_.Steady();
  worker.called_at = now;
  worker.broken = false;
  memory.broken.erase(request.worker());
  worker.room = RoomOf(request);
  if (!worker.room.IsNone()) {
    for (const auto& [id, free_at] : memory.broken) {
      if (free_at > now) continue;
      for (const int64_t attempt : memory.workers[id].attempts) {
        if (worker.room.Of(memory.attempts[attempt].live.noop) > 0) memory.leases.Set(attempt, now);
      }
    }
  }
  if (!memory.silences.Of(request.worker())) {
    worker.came = true;
    worker.quiet.reset();  // Whether it is new its event will say.
  }
  memory.silences.Set(request.worker(), now + options_.lease_term);
  memory.gone.erase(request.worker());
  for (const int64_t attempt : worker.attempts) {
    memory.leases.Set(attempt, now + options_.lease_term);
    memory.attempts[attempt].spared = false;
  }
  board_.SetWorker(request.worker(), worker.seen_at);
  NoteProgress(request, memory);
  AskToWrite(memory);
  return absl::OkStatus();
}

void Engine::NoteProgress(const v1::SynchronizeRequest& request, Memory& memory) {
  for (const v1::HeldAttempt& held : request.held()) {
    const auto found = memory.attempts.find(static_cast<int64_t>(held.attempt()));
    if (found == memory.attempts.end() || found->second.live.worker != request.worker()) continue;
    AttemptMemory& attempt = found->second;
    if (BeganEarlier(held, attempt.start_step)) attempt.live.step = held.step();
    attempt.live.step = std::max(attempt.live.step, std::clamp(held.step(), 0, std::max(attempt.live.steps, 0)));
    attempt.live.steps_per_second = std::isfinite(held.steps_per_second()) ? std::max(0.0, held.steps_per_second()) : 0;
    if (const std::optional<AttemptPhase> phase = ParseAttemptPhase(held.phase())) attempt.live.phase = phase;
    attempt.unwritten = true;
    board_.Set(found->first, attempt.live);
  }
}

void Engine::GatherPoints(const v1::SynchronizeRequest& request, Memory& memory) {
  for (const v1::HeldAttempt& held : request.held()) {
    const auto found = memory.attempts.find(static_cast<int64_t>(held.attempt()));
    if (found == memory.attempts.end() || found->second.live.worker != request.worker()) continue;
    std::vector<v1::ProgressPoint>& points = found->second.points;
    const size_t most = kPointsOfMember * static_cast<size_t>(std::max(found->second.live.members, 1));
    for (const v1::ProgressPoint& point : held.points()) {
      if (points.size() < most) points.push_back(point);
    }
  }
}

void Engine::Synchronize(v1::SynchronizeRequest request, Answer<v1::SynchronizeResponse> answer) {
  if (absl::Status status = CheckCall(request); !status.ok()) return answer(std::move(status));
  // Its attempts are another store's: ours have other numbers, or the same ones by chance.
  if (!request.store().empty() && request.store() != store_) {
    v1::SynchronizeResponse elsewhere;
    elsewhere.set_store(store_);
    return answer(std::move(elsewhere));
  }
  auto call = std::make_shared<Call>(Call{std::move(request), std::move(answer)});
  CallPtr overtaken;
  absl::Status refused;
  std::optional<v1::SynchronizeResponse> quiet;
  bool held = false;
  {
    auto memory = memory_.Lock();
    refused = Arrive(call, *memory, overtaken);
    if (refused.ok()) TakeLogs(call->request, *memory);
    const bool may_wait = call->request.may_wait() && !AsksAnew(call->request, *memory);
    // An answer says that what the call told is on disk. Points can wait for the next write only if the call can.
    const bool tells = !call->request.finished().empty() || TellsOfABegin(call->request, *memory);
    if (refused.ok() && !tells && (may_wait || !HasPoints(call->request))) {
      WorkerMemory& worker = memory->workers[call->request.worker()];
      if (worker.quiet && worker.quiet_epoch == memory->epoch && worker.quiet->shape == ShapeOf(call->request)) {
        quiet = worker.quiet->response;
        held = may_wait;
        if (held) {
          GatherPoints(call->request, *memory);
          Hold(call, *quiet, worker, *memory);
        }
      }
    }
  }
  if (overtaken) overtaken->answer(Overtaken());
  if (!refused.ok()) return call->answer(std::move(refused));
  wake_();  // A deadline may have come nearer.
  if (held) return;
  if (quiet) return Give(call, *std::move(quiet));
  Run(std::move(call));
}

void Engine::Run(CallPtr call) {
  auto decision = std::make_shared<Decision>();
  submit_({.apply =
               [this, call, decision](sql::Transaction& tx) {
                 if (forget_leasing_.exchange(false)) leasing_.Forget();
                 Gathered ending;
                 {
                   auto memory = memory_.Lock();
                   decision->epoch = memory->epoch;
                   if (const auto worker = memory->workers.find(call->request.worker()); worker != memory->workers.end()) {
                     decision->changes = worker->second.changes;
                   }
                   ending = OfFinished(call->request, *memory);
                 }
                 absl::Status decided = WriteGathered(tx, ending, clock_.Wall());
                 if (decided.ok()) decided = Decide(tx, call->request, *decision);
                 // It is taken back, and with it what the next event of its group would find.
                 if (!decided.ok()) leasing_.Forget();
                 return decided;
               },
           .done =
               [this, call, decision](const absl::Status& status) {
                 if (status.ok()) return Finish(call, *decision);
                 forget_leasing_ = true;
                 // To a worker it says that the two cannot work together; a store in such a state may come back.
                 call->answer(absl::IsFailedPrecondition(status) ? absl::UnavailableError(status.message()) : status);
               },
           .origin = fmt::format("{}/{}/{}", call->request.worker(), call->request.incarnation(), call->request.sequence())});
}

Engine::WorkerMemory& Engine::CallerOf(const v1::SynchronizeRequest& request, Memory& memory) {
  const auto [found, back] = memory.workers.try_emplace(request.worker());
  WorkerMemory& worker = found->second;
  if (!back) return worker;
  worker.came = true;
  worker.incarnation = request.incarnation();
  worker.sequence = request.sequence();
  worker.seen_at = clock_.Wall();
  worker.called_at = clock_.Steady();
  worker.room = RoomOf(request);
  memory.silences.Set(request.worker(), worker.called_at + options_.lease_term);
  board_.SetWorker(request.worker(), worker.seen_at);
  return worker;
}

void Engine::Finish(const CallPtr& call, const Decision& decision) {
  const v1::SynchronizeRequest& request = call->request;
  std::vector<CallPtr> woken;
  std::vector<News> happened = decision.effects.news;
  bool overtaken = false;
  bool again = false;
  bool held = false;
  {
    auto memory = memory_.Lock();
    WorkerMemory& worker = CallerOf(request, *memory);
    const bool current = decision.epoch == memory->epoch && decision.changes == worker.changes;
    woken = CarryLocked(decision.effects, *memory);
    worker.name = decision.name;
    const bool said = std::ranges::any_of(happened, [](const News& one) { return one.kind == News::Kind::kWorkerCame; });
    if (std::exchange(worker.came, false) && !said && !request.leaving()) happened.push_back(WorkerIsBack(request.worker(), worker.name));
    if (worker.incarnation == request.incarnation() && SaysWhatItCanDo(request.abilities())) board_.SetHeard(request.worker(), true);
    overtaken = worker.incarnation != request.incarnation() || worker.sequence != request.sequence();
    worker.quiet.reset();
    if (overtaken && !decision.response.leases().empty()) {
      // The newer call may have been answered from memory, or be held open so: it knows nothing of what this one was given.
      if (CallPtr newer = Release(request.worker(), worker, *memory)) woken.push_back(std::move(newer));
    }
    if (!overtaken) {
      const v1::SynchronizeResponse& response = decision.response;
      const bool news = !response.leases().empty() || !response.acknowledged().empty() || decision.told != worker.told;
      worker.told = decision.told;
      worker.refused = !response.refused().empty();
      if (!response.leases().empty()) worker.room = {};
      if (worker.broken) Shorten(request.worker(), worker, *memory);  // Of what it was given just now, too.
      if (current && response.leases().empty() && !decision.gave_up) {
        worker.quiet = WorkerMemory::Quiet{ShapeOf(request), response};
        worker.quiet->response.clear_acknowledged();
        worker.quiet_epoch = memory->epoch;
      }
      const bool may_wait = request.may_wait() && !news && !memory->stopping && !worker.broken && !AsksAnew(request, *memory);
      again = may_wait && !current;
      held = may_wait && current;
      if (held) Hold(call, response, worker, *memory);
      if (request.leaving() && request.held().empty()) {
        board_.RemoveWorker(request.worker());
        memory->silences.Remove(request.worker());
        memory->gone.insert(request.worker());
        happened.push_back(WorkerLeft(request.worker(), worker.name));
      }
    }
  }
  Tell(happened);
  if (overtaken) {
    call->answer(Overtaken());
  } else if (again) {
    Run(call);
  } else if (!held) {
    Give(call, decision.response);
  }
  for (CallPtr& other : woken) Run(std::move(other));
}

void Engine::Hold(const CallPtr& call, const v1::SynchronizeResponse& response, WorkerMemory& worker, Memory& memory) {
  worker.held = call;
  worker.held_response = response;
  SteadyTime until = clock_.Steady() + options_.hold;
  if (HasPoints(call->request) && memory.write_at) until = std::min(until, *memory.write_at);
  memory.holds.Set(call->request.worker(), until);
}

Engine::CallPtr Engine::Release(const std::string& id, WorkerMemory& worker, Memory& memory) {
  memory.holds.Remove(id);
  return std::exchange(worker.held, nullptr);
}

std::vector<Engine::CallPtr> Engine::CarryLocked(const Effects& effects, Memory& memory) {
  std::vector<CallPtr> woken;
  const SteadyTime deadline = clock_.Steady() + options_.lease_term;
  for (const StartedAttempt& started : effects.started) {
    AttemptMemory& attempt = memory.attempts[started.attempt];
    attempt.live = started.live;
    attempt.start_step = started.start_step;
    memory.workers[started.live.worker].attempts.insert(started.attempt);
    memory.leases.Set(started.attempt, deadline);
    board_.Set(started.attempt, started.live);
  }
  for (const auto& [id, step] : effects.began_at) {
    if (const auto attempt = memory.attempts.find(id); attempt != memory.attempts.end()) attempt->second.start_step = step;
  }
  for (const auto& [id, members] : effects.members) {
    const auto attempt = memory.attempts.find(id);
    if (attempt == memory.attempts.end()) continue;
    attempt->second.live.members = members;
    board_.Set(id, attempt->second.live);
  }
  for (const int64_t id : effects.ended) {
    memory.leases.Remove(id);
    board_.Remove(id);
    logs_.End(id);
    const auto attempt = memory.attempts.find(id);
    if (attempt == memory.attempts.end()) continue;
    std::set<int64_t>& of_worker = memory.workers[attempt->second.live.worker].attempts;
    of_worker.erase(id);
    if (of_worker.empty()) memory.broken.erase(attempt->second.live.worker);  // There is nothing to take from it any more.
    memory.attempts.erase(attempt);
  }
  if (!effects.ended.empty() || effects.unstarted_failed) board_.ended().Ring();
  for (const std::string& id : effects.workers) {
    const auto worker = memory.workers.find(id);
    if (worker == memory.workers.end()) continue;
    ++worker->second.changes;
    worker->second.quiet.reset();
    if (CallPtr call = Release(id, worker->second, memory)) woken.push_back(std::move(call));
  }
  if (effects.work) {
    ++memory.epoch;
    forget_leasing_ = true;
    for (auto& [id, worker] : memory.workers) {
      // One without room is given nothing, but what it was told that it is not given may be another thing now.
      if (!worker.held || (RoomOf(worker.held->request).IsNone() && !worker.refused)) continue;
      woken.push_back(Release(id, worker, memory));
    }
  }
  return woken;
}

void Engine::Carry(const Effects& effects) {
  std::vector<CallPtr> woken;
  {
    auto memory = memory_.Lock();
    woken = CarryLocked(effects, *memory);
  }
  Tell(effects.news);
  for (CallPtr& call : woken) Run(std::move(call));
}

void Engine::Tell(const std::vector<News>& news) const {
  if (!options_.news) return;
  for (const News& one : news) options_.news(one);
}

absl::Status Engine::DropMembers(sql::Transaction& tx, std::span<const store::DroppedJob> dropped, Effects& effects) const {
  return service::DropMembers(tx, dropped, clock_.Wall(), effects);
}

void Engine::Forget(const std::string& worker, uint64_t incarnation, uint64_t sequence) {
  CallPtr call;
  {
    auto memory = memory_.Lock();
    const auto found = memory->workers.find(worker);
    // A worker that has called anew is there, and calls that end with the scheduler say nothing of workers.
    if (found == memory->workers.end() || memory->stopping) return;
    if (found->second.incarnation != incarnation || found->second.sequence != sequence) return;
    found->second.broken = true;
    call = Release(worker, found->second, *memory);
    Shorten(worker, found->second, *memory);
  }
  wake_();
  if (call) call->answer(absl::CancelledError("the caller is gone"));
}

void Engine::Shorten(const std::string& id, WorkerMemory& worker, Memory& memory) const {
  if (worker.attempts.empty()) return;
  const SteadyTime free_at = clock_.Steady() + std::min(options_.come_back_within, options_.lease_term);
  memory.broken[id] = free_at;
  for (const int64_t attempt : worker.attempts) {
    memory.leases.Set(attempt, std::min(free_at, memory.leases.Of(attempt).value_or(free_at)));
  }
}

void Engine::Shutdown() {
  logs_.Close();
  std::vector<CallPtr> calls;
  {
    auto memory = memory_.Lock();
    memory->stopping = true;
    for (auto& [id, worker] : memory->workers) {
      if (CallPtr call = Release(id, worker, *memory)) calls.push_back(std::move(call));
    }
  }
  for (const CallPtr& call : calls) call->answer(absl::UnavailableError("the scheduler is shutting down; try again later"));
}

}  // namespace longreach::service
