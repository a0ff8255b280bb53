#include "tests/simulation/core_store.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <tuple>

#include "scheduler/core/packs.h"

namespace longreach::simulation {
namespace {

constexpr size_t kMostSweeps = 32;  // Job::sweeps has a bit for each.

core::Needs NeedsOf(const Job& job) {
  return {.experiment = job.noop ? "noop" : "algorithmic", .task = job.task, .encoding = job.encoding};
}

}  // namespace

bool CoreStore::InputsThere(int job) const {
  return std::ranges::all_of(Spec(job).sources, [this](int source) {
    return std::holds_alternative<Succeeded>(jobs[static_cast<size_t>(source)].life.state);
  });
}

core::Demand CoreStore::DemandOf(int job) const {
  std::array<core::Claim, kMostSweeps> claims;  // No vector: this is asked for every job after every event.
  size_t count = 0;
  for (size_t sweep = 0; sweep < sweeps.size(); ++sweep) {
    if (!sweeps[sweep].state || (Spec(job).sweeps >> sweep & 1) == 0 || sweeps[sweep].given_up.contains(job)) continue;
    claims[count++] = {.state = *sweeps[sweep].state, .priority = sweeps[sweep].priority};
  }
  return core::DemandOf(std::span(claims).first(count));
}

std::vector<int> CoreStore::Own(int64_t attempt) const {
  std::vector<int> own;
  for (const Member& member : attempts[static_cast<size_t>(attempt - 1)].members) {
    if (!member.dropped) own.push_back(member.job);
  }
  return own;
}

absl::Status CoreStore::Assign(int job, absl::StatusOr<core::Life> after) {
  RETURN_IF_ERROR(after.status());
  At(job).life = *std::move(after);
  if (!std::holds_alternative<Failed>(At(job).life.state) && !std::holds_alternative<Succeeded>(At(job).life.state)) return absl::OkStatus();
  return SettleDependants(job);
}

absl::Status CoreStore::Settle(int job) {
  const JobState& state = At(job).life.state;
  if (!At(job).there || (!std::holds_alternative<Waiting>(state) && !std::holds_alternative<Queued>(state))) return absl::OkStatus();
  for (const int source : Spec(job).sources) {
    const JobState& of_source = At(source).life.state;
    const bool usable = At(source).weights && Spec(source).fate != Fate::kDiverges;
    if (std::holds_alternative<Failed>(of_source) || (std::holds_alternative<Succeeded>(of_source) && !usable)) {
      return Assign(job, core::FailInput(At(job).life, "input failed"));
    }
  }
  if (!std::holds_alternative<Waiting>(state) || !InputsThere(job)) return absl::OkStatus();
  return Assign(job, core::MakeReady(At(job).life));
}

absl::Status CoreStore::SettleDependants(int source) {
  for (const int job : Spec(source).dependants) RETURN_IF_ERROR(Settle(job));
  return absl::OkStatus();
}

absl::Status CoreStore::InsertJobs(int sweep) {
  for (const int job : universe_->sweeps[static_cast<size_t>(sweep)].order) {
    if (At(job).there) continue;
    At(job).there = true;
    At(job).num = ++last_num_;
    At(job).life.state = InputsThere(job) ? JobState(Queued{}) : JobState(Waiting{});
  }
  return absl::OkStatus();
}

absl::Status CoreStore::Submit(int sweep, std::optional<int> priority) {
  SweepRow& row = sweeps[static_cast<size_t>(sweep)];
  row.state = SweepState::kLive;
  row.given_up.clear();
  if (priority) row.priority = *priority;
  const std::vector<int>& order = universe_->sweeps[static_cast<size_t>(sweep)].order;
  for (const int job : order) {
    if (std::holds_alternative<Cancelled>(At(job).life.state)) RETURN_IF_ERROR(Assign(job, core::Revive(At(job).life, InputsThere(job))));
  }
  for (const int job : order) {
    if (!Spec(job).sources.empty()) RETURN_IF_ERROR(Settle(job));
  }
  return absl::OkStatus();
}

absl::Status CoreStore::SteerSweep(int sweep, v1::SteerSweepRequest::Action action, int priority) {
  SweepRow& row = sweeps[static_cast<size_t>(sweep)];
  if (!row.state) return absl::NotFoundError("no such sweep");
  const std::vector<int>& order = universe_->sweeps[static_cast<size_t>(sweep)].order;
  switch (action) {
    case v1::SteerSweepRequest::ACTION_PAUSE: {
      ASSIGN_OR_RETURN(row.state, core::Pause(*row.state));
      return absl::OkStatus();
    }
    case v1::SteerSweepRequest::ACTION_RESUME: {
      ASSIGN_OR_RETURN(row.state, core::Resume(*row.state));
      return absl::OkStatus();
    }
    case v1::SteerSweepRequest::ACTION_CANCEL: {
      row.state = SweepState::kCancelled;
      return CancelUnclaimed(sweep);
    }
    case v1::SteerSweepRequest::ACTION_RETRY: {
      RETURN_IF_ERROR(core::CheckRetry(*row.state));
      std::vector<int> failed;
      for (const int job : order) {
        if (std::holds_alternative<Failed>(At(job).life.state) && !row.given_up.contains(job)) failed.push_back(job);
      }
      for (const int job : failed) RETURN_IF_ERROR(TryAgain(sweep, job));
      return absl::OkStatus();
    }
    default:
      row.priority = priority;
      return absl::OkStatus();
  }
}

absl::Status CoreStore::SteerWorker(const std::string& id, bool drain) {
  const auto worker = workers.find(id);
  if (worker == workers.end()) return absl::NotFoundError("no such worker");
  worker->second.state = drain ? "draining" : "active";
  if (!drain) worker->second.health = {};
  return absl::OkStatus();
}

void CoreStore::KeepCheckpoint(JobRow& row, int step, int64_t attempt) {
  std::map<int, int64_t> kept = {{row.checkpoint, row.checkpoint_by}, {row.checkpoint_before, row.checkpoint_before_by}};
  // As the store has it: what is further, of an attempt before, was of no use.
  std::erase_if(kept, [&](const auto& one) { return one.first == 0 || (one.first > step && one.second < attempt); });
  kept[step] = attempt;
  std::tie(row.checkpoint, row.checkpoint_by) = *kept.rbegin();
  std::tie(row.checkpoint_before, row.checkpoint_before_by) = kept.size() > 1 ? *std::next(kept.rbegin()) : std::pair<const int, int64_t>();
}

absl::Status CoreStore::Upload(const v1::UploadHeader& header) {
  if (!IsRunning(header.attempt()) || attempts[header.attempt() - 1].worker != header.worker()) return absl::AbortedError("no lease");
  for (const std::string& id : header.jobs()) {
    const int job = universe_->Find(id);
    const std::vector<Member>& members = attempts[header.attempt() - 1].members;
    const auto member = std::ranges::find(members, job, &Member::job);
    if (member == members.end()) return absl::InvalidArgumentError("no member");
    if (member->dropped) continue;
    if (header.kind() == "weights") At(job).weights = true;
    if (header.kind() == "checkpoint") KeepCheckpoint(At(job), header.step(), static_cast<int64_t>(header.attempt()));
  }
  return absl::OkStatus();
}

// What goes on from a checkpoint of this attempt, which had no result for it and is not split.
void CoreStore::KeepTogether(JobRow& row, int64_t attempt) {
  if (row.checkpoint > 0 && row.checkpoint_by == attempt) row.split_group = core::GroupOfBegun(Attempt{attempt}, row.split_group);
}

absl::Status CoreStore::Release(int64_t id, Outcome outcome, const std::string& reason) {
  const std::vector<int> own = Own(id);
  const bool alone = AttemptAt(id).members.size() == 1;
  const std::vector<int64_t> groups = core::SplitGroups(Attempt{id}, own.size());
  AttemptAt(id).outcome = outcome;
  for (size_t i = 0; i < own.size(); ++i) {
    const core::Life before = At(own[i]).life;
    JobRow& row = At(own[i]);
    if (outcome == Outcome::kFailed && !alone) row.split_group = groups[i];
    else KeepTogether(row, id);
    RETURN_IF_ERROR(Assign(own[i], outcome == Outcome::kFailed ? core::Fail(before, Attempt{id}, alone, reason)
                                   : outcome == Outcome::kLost ? core::Lose(before, Attempt{id}, reason)
                                                               : core::GiveBack(before, Attempt{id})));
  }
  return absl::OkStatus();
}

absl::Status CoreStore::Expire(int64_t attempt) { return Release(attempt, Outcome::kLost, "silent"); }

void CoreStore::NoteFailure(const std::vector<int>& own, WorkerRow& worker) const {
  const std::vector<int64_t> nums(own.begin(), own.end());
  // Through its text, as it is stored.
  worker.health = core::ParseHealth(core::ToText(core::AfterFailure(worker.health, nums)));
  if (VerdictOn(worker).standing != core::Standing::kGood && worker.state == "active") worker.state = "put_aside";
}

absl::Status CoreStore::Report(const v1::AttemptReport& report, WorkerRow& worker) {
  const int64_t id = static_cast<int64_t>(report.attempt());
  const std::vector<int> own = Own(id);
  if (report.outcome() == v1::AttemptReport::OUTCOME_GIVEN_BACK) return Release(id, Outcome::kGivenBack, "");
  if (report.outcome() == v1::AttemptReport::OUTCOME_FAILED) {
    RETURN_IF_ERROR(Release(id, Outcome::kFailed, report.detail()));
    NoteFailure(own, worker);
    return absl::OkStatus();
  }
  std::set<int> accepted;
  for (const int job : own) {
    const core::Life before = At(job).life;
    const bool there = std::ranges::any_of(report.results(), [&](const v1::MemberResult& result) { return result.job() == Spec(job).id; });
    if (!there || Spec(job).fate == Fate::kNonsense) {
      KeepTogether(At(job), id);
      RETURN_IF_ERROR(Assign(job, core::Fail(before, Attempt{id}, true, "its result was refused")));
      continue;
    }
    accepted.insert(job);
    At(job).checkpoint = At(job).checkpoint_before = 0;
    RETURN_IF_ERROR(Assign(job, core::Succeed(before, Attempt{id})));
  }
  if (!accepted.empty()) NoteSuccess(accepted, worker);
  else if (!own.empty()) NoteFailure(own, worker);
  AttemptAt(id).outcome = !accepted.empty() ? Outcome::kSucceeded : Outcome::kFailed;
  return absl::OkStatus();
}

v1::Lease CoreStore::LeaseOf(int64_t attempt) const {
  v1::Lease lease;
  lease.set_attempt(static_cast<uint64_t>(attempt));
  for (const int job : Own(attempt)) {
    const JobRow& row = jobs[static_cast<size_t>(job)];
    v1::LeasedJob& leased = *lease.add_jobs();
    leased.set_id(Spec(job).id);
    if (row.checkpoint > 0) leased.mutable_checkpoint()->set_step(row.checkpoint);
    if (row.checkpoint_before > 0) leased.mutable_checkpoint_before()->set_step(row.checkpoint_before);
    for (size_t i = 0; i < Spec(job).sources.size(); ++i) leased.add_inputs()->set_name("weights");
  }
  return lease;
}

// The sweeps that have a job, by their bits.
uint32_t CoreStore::SweepsWith(int job) const {
  uint32_t known = 0;
  for (size_t sweep = 0; sweep < sweeps.size(); ++sweep) known |= sweeps[sweep].state ? 1u << sweep : 0;
  return Spec(job).sweeps & known;
}

// Those of them that have not given it up.
uint32_t CoreStore::SweepsWanting(int job) const {
  uint32_t wanting = SweepsWith(job);
  for (size_t sweep = 0; sweep < sweeps.size(); ++sweep) wanting &= sweeps[sweep].given_up.contains(job) ? ~(1u << sweep) : ~0u;
  return wanting;
}

uint32_t CoreStore::SweepsWantingElseWith(int job) const {
  const uint32_t wanting = SweepsWanting(job);
  return wanting != 0 ? wanting : SweepsWith(job);
}

core::SweepsOfAttempt CoreStore::SweepsOfAll(const std::vector<int64_t>& failed) const {
  uint32_t having = ~0u, wanting = ~0u;
  for (const int64_t job : failed) {
    having &= SweepsWith(static_cast<int>(job));
    wanting &= SweepsWanting(static_cast<int>(job));
  }
  core::SweepsOfAttempt of_all;
  for (size_t sweep = 0; sweep < sweeps.size(); ++sweep) {
    if ((having >> sweep & 1) != 0) of_all.having.insert(static_cast<int64_t>(sweep));
    if ((wanting >> sweep & 1) != 0) of_all.wanting.insert(static_cast<int64_t>(sweep));
  }
  return of_all;
}

core::Verdict CoreStore::VerdictOn(const WorkerRow& worker) const {
  std::vector<core::SweepsOfAttempt> of_attempts;
  for (const core::FailedAttempt& failed : worker.health.failed) of_attempts.push_back(SweepsOfAll(failed.jobs));
  return core::VerdictOf(worker.health, of_attempts);
}

// The live ones of them, if there are any.
uint32_t CoreStore::LiveOf(uint32_t some) const {
  uint32_t live = 0;
  for (size_t sweep = 0; sweep < sweeps.size(); ++sweep) live |= sweeps[sweep].state == SweepState::kLive ? 1u << sweep : 0;
  return (some & live) != 0 ? some & live : some;
}

void CoreStore::NoteSuccess(const std::set<int>& accepted, WorkerRow& worker) const {
  uint32_t of_accepted = 0;
  for (const int job : accepted) of_accepted |= SweepsWantingElseWith(job);
  of_accepted = LiveOf(of_accepted);
  std::set<int64_t> near;
  for (const core::FailedAttempt& failed : worker.health.failed) {
    for (const int64_t job : failed.jobs) {
      if ((SweepsWantingElseWith(static_cast<int>(job)) & of_accepted) != 0) near.insert(job);
    }
  }
  worker.health = core::ParseHealth(core::ToText(core::AfterSuccess(worker.health, near)));
  if (VerdictOn(worker).standing == core::Standing::kGood && worker.state == "put_aside") worker.state = "active";
}

// What a worker is given first, and otherwise.
std::vector<CoreStore::Apart> CoreStore::OffersFor(const WorkerRow& worker) const {
  const core::Verdict verdict = VerdictOn(worker);
  const std::set<int64_t> alone(worker.health.alone.begin(), worker.health.alone.end());
  if (verdict.standing == core::Standing::kAside) return {};
  std::vector<Apart> offers;
  if (verdict.standing == core::Standing::kGood) {
    if (!alone.empty()) offers.push_back({.jobs = alone});
    offers.emplace_back();
    return offers;
  }
  uint32_t of_verdict = 0;
  for (const int64_t sweep : verdict.sweeps) of_verdict |= 1u << sweep;
  std::set<std::string> keys;
  for (const core::FailedAttempt& failed : worker.health.failed) {
    const core::SweepsOfAttempt of_all = SweepsOfAll(failed.jobs);
    if (std::ranges::none_of(of_all.wanting, [&](int64_t sweep) { return verdict.sweeps.contains(sweep); })) continue;
    for (const int64_t job : failed.jobs) keys.insert(Spec(static_cast<int>(job)).pack_key);
  }
  if (!alone.empty()) offers.push_back({.sweeps = LiveOf(of_verdict), .pack_keys = keys, .jobs = alone});
  offers.push_back({.sweeps = LiveOf(of_verdict), .pack_keys = keys});
  if (keys.size() < core::kKindsToBlame) offers.push_back({.pack_keys = keys, .jobs = alone});
  return offers;
}

bool CoreStore::IsApart(int job, const Apart& from) const {
  return (SweepsWanting(job) & from.sweeps) == 0 && !from.pack_keys.contains(Spec(job).pack_key) && !from.jobs.contains(job);
}

std::vector<int> CoreStore::ReadyFor(const v1::SynchronizeRequest& request, const Room& room) const {
  std::vector<int> ready;
  for (int job = 0; job < static_cast<int>(jobs.size()); ++job) {
    const JobRow& row = jobs[static_cast<size_t>(job)];
    if (!row.there || !std::holds_alternative<Queued>(row.life.state)) continue;
    if ((Spec(job).noop ? room.noops : room.packs) == 0 || !DemandOf(job).wanted) continue;
    if (core::WhyUnable(NeedsOf(Spec(job)), request.abilities()).empty()) ready.push_back(job);
  }
  return ready;
}

absl::StatusOr<std::optional<v1::Lease>> CoreStore::LeaseNext(const v1::SynchronizeRequest& request, const Apart& from, Room& room) {
  while (true) {
    std::vector<int> ready = ReadyFor(request, room);
    std::vector<core::GroupHead> heads;
    for (const int job : ready) heads.push_back({.priority = DemandOf(job).priority, .first = At(job).num});
    std::optional<size_t> first;
    for (size_t i = 0; i < ready.size(); ++i) {
      if (IsApart(ready[i], from) && (!first || core::ComesBefore(heads[i], heads[*first]))) first = i;
    }
    if (!first) return std::nullopt;
    const bool apart = from != Apart{};
    const int head = ready[*first];
    const core::GroupHead place = heads[*first];
    std::vector<int> pack;
    const int most = Spec(head).noop ? 1 : core::PackLimit(request.abilities());
    while (!ready.empty() && static_cast<int>(pack.size()) < most) {
      const std::optional<size_t> at = core::NextInLine(heads);
      const int job = ready[*at];
      const core::GroupHead its = heads[*at];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(*at));
      heads.erase(heads.begin() + static_cast<std::ptrdiff_t>(*at));
      if (apart && (its.priority != place.priority || its.first < place.first)) continue;
      if (Spec(job).pack_key == Spec(head).pack_key && At(job).checkpoint == At(head).checkpoint && At(job).split_group == At(head).split_group) {
        pack.push_back(job);
      }
    }
    std::erase_if(pack, [&](int job) { return !IsApart(job, from); });
    for (const int job : pack) RETURN_IF_ERROR(Settle(job));
    std::erase_if(pack, [this](int job) { return !std::holds_alternative<Queued>(At(job).life.state); });
    if (pack.empty()) continue;
    --(Spec(pack[0]).noop ? room.noops : room.packs);
    AttemptRow& row = attempts.emplace_back();
    const Attempt attempt{static_cast<int64_t>(attempts.size())};
    row.worker = request.worker();
    row.incarnation = request.incarnation();
    for (const int job : pack) {
      row.members.push_back({.job = job});
      RETURN_IF_ERROR(Assign(job, core::Grant(At(job).life, attempt, WorkerId{request.worker()})));
    }
    return LeaseOf(attempt.value);
  }
}

absl::StatusOr<v1::SynchronizeResponse> CoreStore::Synchronize(const v1::SynchronizeRequest& request) {
  const auto known = workers.find(request.worker());
  if (known != workers.end() && known->second.incarnation > request.incarnation()) return absl::AbortedError("a newer incarnation");
  const bool restarted = known != workers.end() && known->second.incarnation != request.incarnation();
  WorkerRow& worker = workers[request.worker()];
  worker.incarnation = request.incarnation();
  if (restarted) worker.health = {};
  if (restarted && worker.state == "put_aside") worker.state = "active";

  v1::SynchronizeResponse response;
  for (const v1::AttemptReport& report : request.finished()) {
    response.add_acknowledged(report.attempt());
    if (!IsRunning(report.attempt()) || attempts[report.attempt() - 1].worker != request.worker()) continue;
    RETURN_IF_ERROR(Report(report, worker));
  }
  if (worker.state != "draining") worker.state = VerdictOn(worker).standing == core::Standing::kGood ? "active" : "put_aside";
  const bool for_sweeps = worker.state == "put_aside" && VerdictOn(worker).standing == core::Standing::kAsideForSweeps;
  const bool active = (worker.state == "active" || for_sweeps) && !request.leaving();
  int unconfirmed = 0;
  int unconfirmed_noops = 0;
  bool holds = false;
  for (int64_t id = 1; id <= static_cast<int64_t>(attempts.size()); ++id) {
    if (AttemptAt(id).worker != request.worker() || AttemptAt(id).outcome) continue;
    const std::vector<int> own = Own(id);
    const bool all_wanted = std::ranges::all_of(own, [this](int job) { return DemandOf(job).wanted; });
    if (std::ranges::any_of(request.held(), [id](const v1::HeldAttempt& held) { return held.attempt() == static_cast<uint64_t>(id); })) {
      holds = true;
      v1::Directive& directive = *response.add_directives();
      directive.set_attempt(static_cast<uint64_t>(id));
      for (const Member& member : AttemptAt(id).members) {
        if (member.dropped) directive.add_dropped_jobs(Spec(member.job).id);
      }
      const bool stop = request.leaving() || worker.state == "draining" || !all_wanted;
      directive.set_action(stop ? v1::Directive::ACTION_STOP : v1::Directive::ACTION_CONTINUE);
    } else if (AttemptAt(id).incarnation != request.incarnation()) {
      RETURN_IF_ERROR(Release(id, Outcome::kLost, "started anew"));
    } else if (active && all_wanted) {
      *response.add_leases() = LeaseOf(id);
      ++(Spec(own[0]).noop ? unconfirmed_noops : unconfirmed);
    } else {
      RETURN_IF_ERROR(Release(id, Outcome::kGivenBack, ""));
    }
  }
  for (const v1::HeldAttempt& held : request.held()) {
    if (IsRunning(held.attempt()) && attempts[held.attempt() - 1].worker == request.worker()) continue;
    v1::Directive& directive = *response.add_directives();
    directive.set_attempt(held.attempt());
    directive.set_action(v1::Directive::ACTION_DROP);
  }
  Room room;
  if (active) {
    room = {.packs = core::NewLeases(request.free_slots(), unconfirmed),
            .noops = core::NewLeases(request.free_noop_slots(), unconfirmed_noops, core::kMaxNoopSlots)};
  }
  const std::vector<Apart> offers = OffersFor(worker);
  for (size_t offer = 0; offer < offers.size();) {
    ASSIGN_OR_RETURN(std::optional<v1::Lease> lease, LeaseNext(request, offers[offer], room));
    if (lease) *response.add_leases() = *std::move(lease);
    offer = lease ? 0 : offer + 1;
  }
  const bool at_work = (worker.state == "active" || for_sweeps) && (holds || !response.leases().empty());
  if (worker.state != "active" && !at_work) response.set_refused(worker.state);
  return response;
}

}  // namespace longreach::simulation
