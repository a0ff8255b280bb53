// What the engine does by itself when its time has come (engine.h), and what it gathers for then.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/takers.h"
#include "store/sql/connection.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// After a slice of a sweep that could not be written.
constexpr std::chrono::seconds kTryAgainAfter{1};
// Workers whose newest call is written down in one event.
constexpr size_t kSeenAtOnce = 100;

double Seconds(std::chrono::microseconds duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void Engine::AskToWrite(Memory& memory) const {
  if (!memory.write_at) memory.write_at = clock_.Steady() + options_.write_every;
}

Engine::Gathered Engine::TakeGathered(SteadyTime now, Memory& memory) const {
  Gathered gathered;
  bool more = false;
  for (auto& [id, worker] : memory.workers) {
    // The board has the newest time of those that call; a row is as long as what a worker can do, and 1,000 of them every few seconds
    // would make all others wait.
    const bool silent = !memory.silences.Of(id);
    if (!worker.unwritten || (!silent && worker.written_at && now - *worker.written_at < options_.write_seen_every)) continue;
    if (gathered.seen.size() >= kSeenAtOnce) {
      more = true;
      break;
    }
    worker.unwritten = false;
    worker.written_at = now;
    gathered.seen[id] = worker.seen_at;
  }
  for (auto& [id, attempt] : memory.attempts) {
    if (!std::exchange(attempt.unwritten, false)) continue;
    gathered.attempts[id] = {attempt.live.step, std::exchange(attempt.points, {})};
  }
  memory.write_at.reset();
  if (more) AskToWrite(memory);
  return gathered;
}

void Engine::TakeSilent(SteadyTime now, Memory& memory, Gathered& gathered) const {
  for (const std::string& id : memory.silences.Due(now)) {
    if (gathered.seen.size() >= kSeenAtOnce) return;  // ForgetSilent() asks for the others.
    WorkerMemory& worker = memory.workers[id];
    if (!std::exchange(worker.unwritten, false)) continue;
    worker.written_at = now;
    gathered.seen[id] = worker.seen_at;
  }
}

Engine::Gathered Engine::OfFinished(const v1::SynchronizeRequest& request, const Memory& memory) const {
  Gathered ending;
  for (const v1::AttemptReport& report : request.finished()) {
    const auto attempt = memory.attempts.find(static_cast<int64_t>(report.attempt()));
    if (attempt == memory.attempts.end() || !attempt->second.unwritten || attempt->second.live.worker != request.worker()) continue;
    ending.attempts[attempt->first] = {attempt->second.live.step, attempt->second.points};
  }
  return ending;
}

void Engine::PutBack(Gathered gathered, Memory& memory) const {
  for (const auto& [id, at] : gathered.seen) {
    if (const auto worker = memory.workers.find(id); worker != memory.workers.end()) {
      worker->second.unwritten = true;
      worker->second.written_at.reset();
    }
  }
  for (auto& [id, progress] : gathered.attempts) {
    const auto attempt = memory.attempts.find(id);
    if (attempt == memory.attempts.end()) continue;
    std::vector<v1::ProgressPoint>& points = attempt->second.points;
    points.insert(points.begin(), std::make_move_iterator(progress.second.begin()), std::make_move_iterator(progress.second.end()));
    attempt->second.unwritten = true;
  }
  AskToWrite(memory);
}

std::optional<store::Event> Engine::AtEnd() {
  auto gathered = std::make_shared<Gathered>();
  {
    auto memory = memory_.Lock();
    for (auto& [id, worker] : memory->workers) {
      if (std::exchange(worker.unwritten, false)) gathered->seen[id] = worker.seen_at;
    }
  }
  if (gathered->seen.empty()) return std::nullopt;
  return store::Event{.apply = [this, gathered](sql::Transaction& tx) { return WriteGathered(tx, *gathered, clock_.Wall()); }};
}

absl::Status Engine::WriteGathered(sql::Transaction& tx, const Gathered& gathered, WallTime now) {
  for (const auto& [id, at] : gathered.seen) RETURN_IF_ERROR(store::SetWorkerSeen(tx, id, at));
  for (const auto& [id, progress] : gathered.attempts) {
    RETURN_IF_ERROR(store::SetAttemptStep(tx, id, progress.first));
    const google::protobuf::RepeatedPtrField<v1::ProgressPoint> points(progress.second.begin(), progress.second.end());
    RETURN_IF_ERROR(WritePoints(tx, id, points, now));
  }
  return absl::OkStatus();
}

std::optional<SteadyTime> Engine::NextDeadline() {
  auto memory = memory_.Lock();
  std::optional<SteadyTime> next = memory->write_at;
  for (const std::optional<SteadyTime>& at : {memory->leases.Next(), memory->silences.Next(), memory->holds.Next(), memory->unfinished.Next()}) {
    if (at && (!next || *at < *next)) next = at;
  }
  return next;
}

Engine::Lost Engine::TakeLost(SteadyTime now, Memory& memory) const {
  const auto asks = [&memory, now](const auto& entry) {
    const auto& [id, worker] = entry;
    const std::optional<SteadyTime> silent_at = memory.silences.Of(id);
    return !worker.room.IsNone() && !worker.refused && !worker.broken && silent_at && *silent_at > now;
  };
  const SteadyTime::duration much_too_late = std::min<SteadyTime::duration>(std::chrono::seconds(1), options_.lease_term / 2);
  bool asked = false;
  Lost lost;
  for (const int64_t id : memory.leases.Due(now)) {
    const auto attempt = memory.attempts.find(id);
    if (attempt != memory.attempts.end() && !attempt->second.spared && now - *memory.leases.Of(id) > much_too_late) {
      attempt->second.spared = true;
      memory.leases.Set(id, now + options_.lease_term);
      // A call that was held all the time breaks off now, as its caller has waited too long: that does not end this term either.
      memory.workers[attempt->second.live.worker].called_at = now;
      continue;
    }
    const WorkerMemory* worker = attempt == memory.attempts.end() ? nullptr : &memory.workers[attempt->second.live.worker];
    const SteadyTime end = worker == nullptr ? now : worker->called_at + options_.lease_term;
    if (worker == nullptr || !worker->broken || end <= now) {
      lost.attempts[id] = std::nullopt;
      continue;
    }
    if (!std::exchange(asked, true)) {
      for (const auto& entry : memory.workers) {
        if (asks(entry)) lost.asking.emplace(entry.first, entry.second.room);
      }
    }
    if (!lost.asking.empty()) lost.attempts[id] = end;
    else memory.leases.Set(id, end);
  }
  return lost;
}

// What falls due at a time, from the event that writes it to what follows it.
struct Engine::DueWork {
  Gathered gathered;
  Effects effects;
  std::optional<int64_t> unfinished = {};  // The sweep that got a slice,
  std::optional<SteadyTime> more_at = {};  // and when it gets the next.
  std::map<std::string, Room> promised;    // Room of workers that attempts were taken from others for.
};

store::Event Engine::AtDeadline(SteadyTime now) {
  auto work = std::make_shared<DueWork>();
  return {.apply = [this, work, now](sql::Transaction& tx) { return WriteDue(tx, now, *work); },
          .done = [this, work, now](const absl::Status& status) { FollowDue(status, now, *work); }};
}

absl::Status Engine::WriteDue(sql::Transaction& tx, SteadyTime now, DueWork& work) {
  Lost lost;
  {
    auto memory = memory_.Lock();
    lost = TakeLost(now, *memory);
    if (memory->write_at && *memory->write_at <= now) work.gathered = TakeGathered(now, *memory);
    TakeSilent(now, *memory, work.gathered);
    if (const std::vector<int64_t> due = memory->unfinished.Due(now); !due.empty()) {
      // One to its end before another: expanding a large sweep takes longer than a slice of it.
      const bool same = going_on_ && std::ranges::find(due, going_on_->first) != due.end();
      work.unfinished = same ? going_on_->first : due[0];
    }
  }
  const WallTime wall = clock_.Wall();
  RETURN_IF_ERROR(WriteGathered(tx, work.gathered, wall));
  RETURN_IF_ERROR(EndAllLost(tx, std::move(lost), wall, work));
  if (!work.unfinished) return absl::OkStatus();
  // Leases end whether or not there is room for this.
  ASSIGN_OR_RETURN(sql::Savepoint slice, sql::Savepoint::Begin(tx));
  Effects with_slice = work.effects;
  const absl::StatusOr<bool> more = GoOn(tx, *work.unfinished, with_slice);
  if (!more.ok()) {
    work.more_at = now + kTryAgainAfter;
    return slice.RollBack();
  }
  if (*more) work.more_at = now;
  work.effects = std::move(with_slice);
  return slice.Release();
}

absl::Status Engine::EndAllLost(sql::Transaction& tx, Lost lost, WallTime wall, DueWork& work) {
  // Somebody who would take an attempt's jobs now. None is taken from its worker for less: it would be trained again from its checkpoint on,
  // or lie there, while the worker may be back in a moment. Each asks for so many and no more, or a network that fails under all workers
  // would cost all of them their work as soon as one of them is back.
  Takers takers(tx, lost.asking);
  const auto taker_of = [&](int64_t attempt) -> absl::StatusOr<std::optional<std::string>> {
    ASSIGN_OR_RETURN(const std::vector<store::JobRow> jobs, store::JobsOfAttempt(tx, attempt));
    if (std::ranges::none_of(jobs, &store::JobRow::wanted)) return std::nullopt;
    const bool noop = NeedsNoTrainer(jobs);
    ASSIGN_OR_RETURN(std::optional<std::string> taker, takers.Next(jobs.front().requirement, noop));
    if (taker) ++work.promised[*taker].Of(noop);
    return taker;
  };
  struct OfWorker {
    std::string name;
    std::string why;
    int jobs = 0;
  };
  std::map<std::string, OfWorker> told;
  for (const auto& [id, lease_ends] : lost.attempts) {
    ASSIGN_OR_RETURN(std::optional<store::AttemptRow> attempt, store::FindAttempt(tx, id));
    if (!attempt || attempt->outcome) {
      work.effects.ended.push_back(id);
      continue;
    }
    if (lease_ends) {
      ASSIGN_OR_RETURN(const std::optional<std::string> taker, taker_of(id));
      if (!taker) {
        memory_.Lock()->leases.Set(id, *lease_ends);
        continue;
      }
    }
    const std::string because = lease_ends ? fmt::format("its call broke off, and no other came within {:g} s", Seconds(options_.come_back_within))
                                           : fmt::format("silent for {:g} s", Seconds(options_.lease_term));
    const std::string why = lease_ends ? fmt::format("worker '{}' is gone: {}", attempt->worker_name, because)
                                       : fmt::format("its lease ran out: worker '{}' was {}", attempt->worker_name, because);
    RETURN_IF_ERROR(EndLost(tx, *attempt, why, wall, work.effects));
    OfWorker& worker = told[attempt->worker];
    worker.name = attempt->worker_name;
    worker.why = because;
    worker.jobs += attempt->members;
  }
  for (const auto& [id, worker] : told) work.effects.news.push_back(WorkerLost(id, worker.name, worker.why, worker.jobs));
  return absl::OkStatus();
}

void Engine::FollowDue(const absl::Status& status, SteadyTime now, DueWork& work) {
  std::vector<std::pair<CallPtr, v1::SynchronizeResponse>> held;
  std::vector<CallPtr> woken;
  std::vector<News> gone;
  {
    auto memory = memory_.Lock();
    if (status.ok()) {
      // Until they call again.
      for (auto& [id, promised] : work.promised) {
        Room& room = memory->workers[id].room;
        room = {.packs = room.packs - promised.packs, .noops = room.noops - promised.noops};
      }
      woken = CarryLocked(work.effects, *memory);
    } else {
      forget_leasing_ = true;
      PutBack(std::move(work.gathered), *memory);
      if (sql::DiskTrouble(status).empty()) {
        // When they come again they are late, and not because this scheduler stood still: with another term for each, nothing would be due, and what fails would seem well.
        for (const int64_t id : memory->leases.Due(now)) {
          if (const auto attempt = memory->attempts.find(id); attempt != memory->attempts.end()) attempt->second.spared = true;
        }
      }
      work.more_at = now + kTryAgainAfter;
    }
    if (work.unfinished && work.more_at) memory->unfinished.Set(*work.unfinished, *work.more_at);
    else if (work.unfinished) memory->unfinished.Remove(*work.unfinished);
    // Nobody waits longer than was said. If nothing could be written, then what a call told is not on disk.
    for (const std::string& id : memory->holds.Due(now)) {
      WorkerMemory& worker = memory->workers[id];
      v1::SynchronizeResponse response = worker.held_response;
      if (CallPtr call = Release(id, worker, *memory)) held.emplace_back(std::move(call), std::move(response));
    }
    gone = ForgetSilent(now, *memory);
  }
  if (status.ok()) Tell(work.effects.news);
  Tell(gone);
  for (auto& [call, response] : held) {
    if (status.ok()) Give(call, std::move(response));
    else call->answer(status);
  }
  for (CallPtr& call : woken) Run(std::move(call));
}

std::vector<News> Engine::ForgetSilent(SteadyTime now, Memory& memory) {
  std::vector<News> news;
  for (const std::string& id : memory.silences.Due(now)) {
    memory.silences.Remove(id);
    board_.RemoveWorker(id);
    memory.gone.insert(id);
    const WorkerMemory& worker = memory.workers[id];
    if (!worker.came) news.push_back(WorkerIsGone(id, worker.name, options_.lease_term));  // Else nobody was told that it is here.
    if (worker.unwritten) AskToWrite(memory);
  }
  // An attempt may outlive its worker's silence; without this, workers that come and go would fill the memory for ever.
  std::erase_if(memory.gone, [&memory](const std::string& id) {
    const auto worker = memory.workers.find(id);
    if (worker == memory.workers.end()) return true;
    if (!worker->second.attempts.empty() || worker->second.held || worker->second.unwritten) return false;
    memory.workers.erase(worker);
    return true;
  });
  return news;
}

}  // namespace longreach::service
