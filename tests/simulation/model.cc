#include "tests/simulation/model.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace longreach::simulation {
namespace {

constexpr int kFailuresToFail = 3;
constexpr int kLossesToFail = 10;

bool CanDo(const v1::Abilities& abilities, const Job& job) {
  const auto has = [](const auto& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const v1::Ability& ability) { return ability.name() == name && ability.revision() == 1; });
  };
  return has(abilities.tasks(), job.task) && has(abilities.encodings(), job.encoding);
}

}  // namespace

bool Model::Has(int sweep, int job) const {
  const std::span<const int> there = There(sweep);
  return (Spec(job).sweeps >> sweep & 1) != 0 && std::ranges::find(there, job) != there.end();
}

std::span<const int> Model::There(int sweep) const {
  return std::span(universe_->sweeps[static_cast<size_t>(sweep)].order).first(static_cast<size_t>(sweeps_[static_cast<size_t>(sweep)].there));
}

int Model::ToCome(int sweep) const {
  return static_cast<int>(universe_->sweeps[static_cast<size_t>(sweep)].order.size()) - sweeps_[static_cast<size_t>(sweep)].there;
}

bool Model::Claims(int sweep, int job) const { return Has(sweep, job) && !sweeps_[static_cast<size_t>(sweep)].given_up.contains(job); }

bool Model::IsClaimedByAny(int job, std::initializer_list<SweepState> states) const {
  for (size_t sweep = 0; sweep < sweeps_.size(); ++sweep) {
    if (std::ranges::find(states, sweeps_[sweep].state) != states.end() && Claims(static_cast<int>(sweep), job)) return true;
  }
  return false;
}

void Model::Refresh(int job) {
  std::optional<int> highest;
  for (size_t sweep = 0; sweep < sweeps_.size(); ++sweep) {
    if (sweeps_[sweep].state != SweepState::kLive || !Claims(static_cast<int>(sweep), job)) continue;
    highest = std::max(highest.value_or(sweeps_[sweep].priority), sweeps_[sweep].priority);
  }
  At(job).wanted = highest.has_value();
  At(job).priority = highest.value_or(0);
}

bool Model::InputsThere(int job) const {
  return std::ranges::all_of(Spec(job).sources, [this](int source) { return At(source).state == JobState::kSucceeded; });
}

std::vector<int> Model::OwnJobs(const Attempt& attempt) const {
  std::vector<int> jobs;
  for (const Member& member : attempt.members) {
    if (!member.dropped) jobs.push_back(member.job);
  }
  return jobs;
}

// A job that has not begun fails when an input of it never comes, and is ready when all are there.
void Model::Settle(int job) {
  JobLife& life = At(job);
  if (life.state != JobState::kWaiting && life.state != JobState::kQueued) return;
  for (const int source : Spec(job).sources) {
    const bool usable = At(source).weights && Spec(source).fate != Fate::kDiverges;
    if (At(source).state == JobState::kFailed || (At(source).state == JobState::kSucceeded && !usable)) {
      life.state = JobState::kFailed;
      ++refusals_.inputs;
      return SettleDependants(job);
    }
  }
  if (InputsThere(job)) life.state = JobState::kQueued;
}

void Model::SettleDependants(int source) {
  for (const int job : Spec(source).dependants) Settle(job);
}

void Model::FailOrRequeue(int job, bool fails) {
  At(job).attempt = 0;
  At(job).state = fails ? JobState::kFailed : JobState::kQueued;
  if (fails) SettleDependants(job);
}

void Model::CountFailure(int job) { FailOrRequeue(job, ++At(job).failures >= kFailuresToFail); }

void Model::End(int64_t attempt, std::string_view outcome) {
  running_.erase(attempt);
  outcomes_[static_cast<size_t>(attempt - 1)] = outcome;
}

// Before they are queued again: what goes on from a checkpoint of this attempt goes on as its pack, and as nothing else. What a failure has set apart stays so.
void Model::KeepTogether(int64_t attempt, const std::vector<int>& jobs) {
  last_apart_ += 2;  // As the halves of a failed pack are last_apart_ and one more.
  for (const int job : jobs) {
    if (At(job).checkpoint > 0 && At(job).checkpoint_by == attempt) At(job).apart = At(job).apart > 0 ? last_apart_ : -attempt;
  }
}

void Model::GiveBack(int64_t attempt) {
  KeepTogether(attempt, OwnJobs(running_[attempt]));
  for (const int job : OwnJobs(running_[attempt])) FailOrRequeue(job, false);
  End(attempt, "given_back");
}

void Model::Lose(int64_t attempt) {
  KeepTogether(attempt, OwnJobs(running_[attempt]));
  for (const int job : OwnJobs(running_[attempt])) FailOrRequeue(job, ++At(job).losses >= kLossesToFail);
  End(attempt, "lost");
}

void Model::Expire(const std::vector<int64_t>& attempts) {
  for (const int64_t attempt : attempts) Lose(attempt);
}

void Model::AddJobs(int sweep, int count) {
  SweepLife& life = sweeps_[static_cast<size_t>(sweep)];
  const std::vector<int>& order = universe_->sweeps[static_cast<size_t>(sweep)].order;
  const int before = std::exchange(life.there, life.there + std::min(count, ToCome(sweep)));
  for (int i = before; i < life.there; ++i) {
    JobLife& job = At(order[static_cast<size_t>(i)]);
    if (job.state == JobState::kAbsent) job.order = ++last_order_;
    if (job.state != JobState::kAbsent && job.state != JobState::kCancelled) continue;
    job.state = InputsThere(order[static_cast<size_t>(i)]) ? JobState::kQueued : JobState::kWaiting;
  }
  for (int i = before; i < life.there; ++i) {
    Refresh(order[static_cast<size_t>(i)]);
    if (!Spec(order[static_cast<size_t>(i)]).sources.empty()) Settle(order[static_cast<size_t>(i)]);
  }
}

void Model::Revive(int job) {
  if (At(job).state == JobState::kCancelled) At(job).state = InputsThere(job) ? JobState::kQueued : JobState::kWaiting;
}

// Those that no sweep asks for any more. Nobody goes on from their checkpoints, nor from those of failed ones.
void Model::Cancel(std::span<const int> jobs) {
  for (const int job : jobs) {
    const JobState state = At(job).state;
    if (IsClaimedByAny(job, {SweepState::kLive, SweepState::kPaused})) continue;
    if (state != JobState::kSucceeded) {
      At(job).checkpoint = At(job).checkpoint_before = 0;
      At(job).apart = std::max<int64_t>(At(job).apart, 0);  // What a failure has set apart stays so.
    }
    if (state != JobState::kWaiting && state != JobState::kQueued && state != JobState::kLeased) continue;
    if (state == JobState::kLeased) {
      for (Member& member : running_[At(job).attempt].members) member.dropped |= member.job == job;
    }
    At(job).state = JobState::kCancelled;
    At(job).attempt = 0;
  }
  std::vector<int64_t> empty;
  for (const auto& [id, attempt] : running_) {
    if (OwnJobs(attempt).empty()) empty.push_back(id);
  }
  for (const int64_t id : empty) End(id, "dropped");
}

bool Model::AtOnce(int sweep, int slice) const {
  return !universe_->sweeps[static_cast<size_t>(sweep)].spec.inputs().empty() || static_cast<int>(There(sweep).size()) <= slice;
}

void Model::Follow(int sweep, int slice) {
  sweeps_[static_cast<size_t>(sweep)].unsettled = 0;
  FollowNext(sweep, AtOnce(sweep, slice) ? kAllJobs : slice);
}

void Model::FollowNext(int sweep, int slice) {
  SweepLife& life = sweeps_[static_cast<size_t>(sweep)];
  if (!life.unsettled) return;
  const int from = *life.unsettled;
  const std::span<const int> jobs = There(sweep).subspan(static_cast<size_t>(from), static_cast<size_t>(std::min(slice, life.there - from)));
  FollowNow(sweep, jobs);
  life.unsettled = from + static_cast<int>(jobs.size());
  if (*life.unsettled == life.there) life.unsettled.reset();
}

void Model::FollowNow(int sweep, std::span<const int> jobs) {
  const bool cancelled = sweeps_[static_cast<size_t>(sweep)].state == SweepState::kCancelled;
  for (const int job : jobs) Refresh(job);
  Cancel(jobs);
  for (const int job : jobs) {
    if ((!cancelled && Claims(sweep, job)) || At(job).wanted) Revive(job);
  }
}

absl::Status Model::Submit(int sweep, std::optional<int> priority, int slice) {
  SweepLife& life = sweeps_[static_cast<size_t>(sweep)];
  const bool was_live = life.state == SweepState::kLive;
  life.state = SweepState::kLive;
  if (priority) life.priority = *priority;
  const bool gave_up = !std::exchange(life.given_up, {}).empty();
  if (!was_live || priority || gave_up) Follow(sweep, slice);
  for (const int job : There(sweep)) {
    if (!Spec(job).sources.empty()) Settle(job);
  }
  return absl::OkStatus();
}

absl::Status Model::RetrySlice(int sweep, int from, int slice) {
  if (sweeps_[static_cast<size_t>(sweep)].state == SweepState::kCancelled) return absl::FailedPreconditionError("cancelled");
  std::vector<int> failed;
  const std::span<const int> part = Part(sweep, from, slice);
  std::ranges::copy_if(part, std::back_inserter(failed), [&](int job) { return At(job).state == JobState::kFailed && Claims(sweep, job); });
  TryAgain(sweep, failed);
  return absl::OkStatus();
}

absl::Status Model::SteerSweep(int sweep, v1::SteerSweepRequest::Action action, int priority, int slice) {
  SweepLife& life = sweeps_[static_cast<size_t>(sweep)];
  if (life.state == SweepState::kAbsent) return absl::NotFoundError("no such sweep");
  const bool cancelled = life.state == SweepState::kCancelled;
  switch (action) {
    case v1::SteerSweepRequest::ACTION_PAUSE:
      if (cancelled) return absl::FailedPreconditionError("cancelled");
      life.state = SweepState::kPaused;
      break;
    case v1::SteerSweepRequest::ACTION_RESUME:
      if (cancelled) return absl::FailedPreconditionError("cancelled");
      life.state = SweepState::kLive;
      break;
    case v1::SteerSweepRequest::ACTION_CANCEL: life.state = SweepState::kCancelled; break;
    case v1::SteerSweepRequest::ACTION_RETRY:
      if (cancelled) return absl::FailedPreconditionError("cancelled");
      return AtOnce(sweep, slice) ? RetrySlice(sweep, 0, kAllJobs) : absl::OkStatus();
    default:
      life.priority = priority;
      break;
  }
  Follow(sweep, slice);
  return absl::OkStatus();
}

absl::Status Model::SteerWorker(const std::string& id, bool drain) {
  const auto worker = workers_.find(id);
  if (worker == workers_.end()) return absl::NotFoundError("no such worker");
  worker->second.state = drain ? "draining" : "active";
  if (!drain) {
    worker->second.failed.clear();
    worker->second.alone.clear();
  }
  return absl::OkStatus();
}

// Of attempts before, only what is not further than this stays: who went on behind it could not use it.
void Model::KeepCheckpoint(JobLife& life, int step, int64_t by) {
  if (life.checkpoint_before > step && life.checkpoint_before_by < by) {
    life.checkpoint_before = 0;
    life.checkpoint_before_by = 0;
  }
  if (life.checkpoint > step && life.checkpoint_by < by) {
    life.checkpoint = std::exchange(life.checkpoint_before, 0);
    life.checkpoint_by = std::exchange(life.checkpoint_before_by, 0);
  }
  if (step > life.checkpoint) {
    life.checkpoint_before = std::exchange(life.checkpoint, step);
    life.checkpoint_before_by = std::exchange(life.checkpoint_by, by);
  } else if (step == life.checkpoint) {
    life.checkpoint_by = by;
  } else if (step >= life.checkpoint_before) {
    life.checkpoint_before = step;
    life.checkpoint_before_by = by;
  }
}

absl::Status Model::Upload(const v1::UploadHeader& header) {
  const auto attempt = running_.find(static_cast<int64_t>(header.attempt()));
  if (attempt == running_.end() || attempt->second.worker != header.worker()) return absl::AbortedError("no lease");
  for (const std::string& id : header.jobs()) {
    const int job = universe_->Find(id);
    const auto member = std::ranges::find(attempt->second.members, job, &Member::job);
    if (member == attempt->second.members.end()) return absl::InvalidArgumentError("no member");
    if (member->dropped) continue;
    if (header.kind() == "weights") At(job).weights = true;
    if (header.kind() != "checkpoint") continue;
    KeepCheckpoint(At(job), header.step(), attempt->first);
  }
  return absl::OkStatus();
}

bool Model::AllWanted(const Attempt& attempt) const {
  return std::ranges::all_of(OwnJobs(attempt), [this](int job) { return IsWanted(job); });
}

void Model::Report(const v1::AttemptReport& report, int64_t id, Worker& worker) {
  const Attempt attempt = running_[id];
  const std::vector<int> own = OwnJobs(attempt);
  if (report.outcome() == v1::AttemptReport::OUTCOME_GIVEN_BACK) return GiveBack(id);
  if (report.outcome() == v1::AttemptReport::OUTCOME_FAILED) {
    // Of several, nobody knows the culprit: two halves, and nothing is counted.
    const size_t half = (own.size() + 1) / 2;
    if (attempt.members.size() == 1) KeepTogether(id, own);
    last_apart_ += 2;
    for (size_t i = 0; i < own.size(); ++i) {
      if (attempt.members.size() == 1) {
        CountFailure(own[i]);
      } else {
        At(own[i]).apart = last_apart_ + (i < half ? 0 : 1);
        FailOrRequeue(own[i], false);
      }
    }
    NoteFailure(own, worker);
    return End(id, "failed");
  }
  std::set<int> accepted;
  KeepTogether(id, own);  // For those whose results are refused.
  for (const int job : own) {
    const bool has_result = std::ranges::any_of(report.results(), [&](const v1::MemberResult& r) { return r.job() == Spec(job).id; });
    if (!has_result || Spec(job).fate == Fate::kNonsense) {
      ++refusals_.results;
      CountFailure(job);
      continue;
    }
    accepted.insert(job);
    At(job).state = JobState::kSucceeded;
    At(job).attempt = id;
    At(job).checkpoint = At(job).checkpoint_before = 0;
    At(job).checkpoint_by = At(job).checkpoint_before_by = 0;
    SettleDependants(job);
  }
  if (!accepted.empty()) Succeeded(accepted, worker);
  else if (!own.empty()) NoteFailure(own, worker);
  End(id, !accepted.empty() ? "succeeded" : "failed");
}

v1::Lease Model::LeaseOf(int64_t id) const {
  v1::Lease lease;
  lease.set_attempt(static_cast<uint64_t>(id));
  for (const int job : OwnJobs(running_.at(id))) {
    v1::LeasedJob& leased = *lease.add_jobs();
    leased.set_id(Spec(job).id);
    if (At(job).checkpoint > 0) leased.mutable_checkpoint()->set_step(At(job).checkpoint);
    if (At(job).checkpoint_before > 0) leased.mutable_checkpoint_before()->set_step(At(job).checkpoint_before);
  }
  return lease;
}

// In line: highest priority first, then order of submission.
std::vector<int> Model::ReadyFor(const v1::SynchronizeRequest& request, const Room& room) const {
  std::vector<int> ready;
  for (int job = 0; job < static_cast<int>(jobs_.size()); ++job) {
    if ((Spec(job).noop ? room.noops : room.packs) <= 0) continue;
    if (At(job).state == JobState::kQueued && IsWanted(job) && CanDo(request.abilities(), Spec(job))) ready.push_back(job);
  }
  std::ranges::sort(ready, [this](int a, int b) {
    return PriorityOf(a) != PriorityOf(b) ? PriorityOf(a) > PriorityOf(b) : At(a).order < At(b).order;
  });
  return ready;
}

uint32_t Model::SweepsOf(int job) const {
  uint32_t bits = 0;
  for (size_t sweep = 0; sweep < sweeps_.size(); ++sweep) bits |= Has(static_cast<int>(sweep), job) ? 1u << sweep : 0;
  return bits;
}

uint32_t Model::ClaimsOn(int job) const {
  uint32_t bits = 0;
  for (size_t sweep = 0; sweep < sweeps_.size(); ++sweep) bits |= Claims(static_cast<int>(sweep), job) ? 1u << sweep : 0;
  return bits;
}

uint32_t Model::ClaimsElseSweepsOf(int job) const {
  const uint32_t claims = ClaimsOn(job);
  return claims != 0 ? claims : SweepsOf(job);
}

// The first in line of those that the worker is given; with it go those that can be trained together with it: where nothing is kept from
// it all, else those behind it that it is given as well. What computes nothing goes alone.
std::optional<v1::Lease> Model::LeaseNext(const v1::SynchronizeRequest& request, const Worker& worker, Room& room) {
  while (true) {
    const std::vector<int> ready = ReadyFor(request, room);
    auto first = ready.end();
    Offer offer;
    for (const Offer& one : OffersFor(worker)) {
      first = std::ranges::find_if(ready, one.has);
      offer = one;
      if (first != ready.end()) break;
    }
    if (first == ready.end()) return std::nullopt;
    const JobLife& head = At(*first);
    const int most = Spec(*first).noop ? 1 : request.abilities().pack_limit();
    std::vector<int> pack;
    for (auto job = offer.all ? ready.begin() : first; job != ready.end(); ++job) {
      if (!offer.all && PriorityOf(*job) != PriorityOf(*first)) continue;
      const bool together = Spec(*job).pack_key == Spec(*first).pack_key && At(*job).checkpoint == head.checkpoint && At(*job).apart == head.apart;
      if (together && static_cast<int>(pack.size()) < most) pack.push_back(*job);
    }
    std::erase_if(pack, [&offer](int job) { return !offer.has(job); });
    // What an input never came for fails now instead of in the hands of every worker in turn.
    for (const int job : pack) Settle(job);
    std::erase_if(pack, [this](int job) { return At(job).state != JobState::kQueued; });
    if (pack.empty()) continue;
    --(Spec(pack[0]).noop ? room.noops : room.packs);
    outcomes_.emplace_back();
    const int64_t id = static_cast<int64_t>(outcomes_.size());
    Attempt& attempt = running_[id];
    attempt.worker = request.worker();
    attempt.incarnation = request.incarnation();
    for (const int job : pack) {
      attempt.members.push_back({.job = job});
      At(job).state = JobState::kLeased;
      At(job).attempt = id;
    }
    return LeaseOf(id);
  }
}

absl::StatusOr<v1::SynchronizeResponse> Model::Synchronize(const v1::SynchronizeRequest& request) {
  const auto known = workers_.find(request.worker());
  if (known != workers_.end() && known->second.incarnation > request.incarnation()) return absl::AbortedError("a newer incarnation");
  Worker& worker = workers_[request.worker()];
  if (known != workers_.end() && worker.incarnation != request.incarnation()) {
    worker.failed.clear();
    worker.alone.clear();
    if (worker.state == "put_aside") worker.state = "active";
  }
  worker.incarnation = request.incarnation();

  v1::SynchronizeResponse response;
  for (const v1::AttemptReport& report : request.finished()) {
    response.add_acknowledged(report.attempt());
    const auto attempt = running_.find(static_cast<int64_t>(report.attempt()));
    if (attempt != running_.end() && attempt->second.worker == request.worker()) Report(report, attempt->first, worker);
    else ++refusals_.stale_reports;
  }
  if (worker.state != "draining") worker.state = IsAside(worker) || BlamedSweeps(worker) != 0 ? "put_aside" : "active";
  const bool gets_work = worker.state == "active" || (worker.state == "put_aside" && !IsAside(worker) && BlamedSweeps(worker) != 0);
  const bool active = gets_work && !request.leaving();

  std::set<int64_t> held;
  for (const v1::HeldAttempt& attempt : request.held()) held.insert(static_cast<int64_t>(attempt.attempt()));
  std::set<int64_t> followed;
  Room room;
  if (active) room = {.packs = request.free_slots(), .noops = request.free_noop_slots()};
  const std::map<int64_t, Attempt> before = running_;
  for (const auto& [id, attempt] : before) {
    if (attempt.worker != request.worker()) continue;
    if (held.contains(id)) {
      followed.insert(id);
      v1::Directive& directive = *response.add_directives();
      directive.set_attempt(static_cast<uint64_t>(id));
      for (const Member& member : attempt.members) {
        if (member.dropped) directive.add_dropped_jobs(Spec(member.job).id);
      }
      const bool stop = request.leaving() || worker.state == "draining" || !AllWanted(attempt);
      directive.set_action(stop ? v1::Directive::ACTION_STOP : v1::Directive::ACTION_CONTINUE);
    } else if (attempt.incarnation != request.incarnation()) {
      Lose(id);
    } else if (active && AllWanted(attempt)) {
      *response.add_leases() = LeaseOf(id);
      --(Spec(attempt.members[0].job).noop ? room.noops : room.packs);
    } else {
      GiveBack(id);
    }
  }
  for (const v1::HeldAttempt& attempt : request.held()) {
    if (followed.contains(static_cast<int64_t>(attempt.attempt()))) continue;
    v1::Directive& directive = *response.add_directives();
    directive.set_attempt(attempt.attempt());
    directive.set_action(v1::Directive::ACTION_DROP);
  }
  while (const std::optional<v1::Lease> lease = LeaseNext(request, worker, room)) *response.add_leases() = *lease;
  const bool at_work = gets_work && (!followed.empty() || !response.leases().empty());
  if (worker.state != "active" && !at_work) response.set_refused(worker.state);
  return response;
}

}  // namespace longreach::simulation
