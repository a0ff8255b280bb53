#include "tests/simulation/worker.h"

#include <algorithm>

#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include "proto/base/build_info.h"
#include "proto/base/sha256.h"

namespace longreach::simulation {
namespace {

// Few, so that there are often more.
constexpr int kReportsPerCall = 2;

constexpr double kDeadline_s = 15;
constexpr double kTick_s = 4;
constexpr int kStepsInTick = 9;
constexpr int kStepsInCalmTick = 40;  // Without faults there is less to see.
constexpr int kCheckpointEvery = 20;
constexpr int kNoops = 3;  // Fewer than there are, so that they are leased in several parts.

}  // namespace

WorkerProcess::WorkerProcess(Cluster& cluster, Machine& machine, const Habits& habits)
    : cluster_(cluster), machine_(machine), habits_(habits), id_(machine.id), incarnation_(machine.incarnation), outbox_(machine.outbox) {}

void WorkerProcess::Wake(const std::function<void()>& action) {
  if (!alive_) return;
  if (world().now() >= frozen_until_) return action();
  world().After(frozen_until_ - world().now(), [self = shared_from_this(), action] { self->Wake(action); });
}

void WorkerProcess::Later(double local_s, std::function<void()> action) {
  world().After(Seconds(local_s / machine_.speed), [self = shared_from_this(), action = std::move(action)] { self->Wake(action); });
}

WorkerProcess::Held* WorkerProcess::Find(uint64_t attempt) {
  const auto found = held_.find(attempt);
  return found == held_.end() ? nullptr : &found->second;
}

void WorkerProcess::CallAfter(double local_s) {
  if (std::exchange(call_due_, true)) return;
  Later(local_s, [this] {
    call_due_ = false;
    if (in_flight_ == 0) Call();
  });
}

void WorkerProcess::Call() {
  Dice& dice = world().dice;
  news_ = false;
  // In an arena: a message of many small ones is made and thrown away for each call.
  const auto arena = std::make_shared<google::protobuf::Arena>();
  const std::shared_ptr<v1::SynchronizeRequest> request(arena, google::protobuf::Arena::CreateMessage<v1::SynchronizeRequest>(arena.get()));
  request->set_protocol(kProtocolVersion);
  request->set_worker(id_);
  request->set_incarnation(incarnation_);
  request->set_sequence(++sequence_);
  *request->mutable_abilities() = machine_.abilities;
  for (const auto& [attempt, held] : held_) {
    v1::HeldAttempt& told = *request->add_held();
    told.set_attempt(attempt);
    const bool fetching = held.stage == Held::Stage::kFetching, handing_in = held.stage == Held::Stage::kHandingIn && !held.began_at;
    told.set_step(held.began_at.value_or(held.step));
    told.set_phase(fetching ? "starting" : handing_in ? "uploading" : "training");
    for (const v1::ProgressPoint& point : held.points) *told.add_points() = point;
  }
  for (const auto& [attempt, report] : outbox_) {
    if (request->finished_size() < kReportsPerCall) {
      *request->add_finished() = report;
      continue;
    }
    // What a worker neither holds nor reports it has lost.
    world().Count("report left for a further call");
    v1::HeldAttempt& told = *request->add_held();
    told.set_attempt(attempt);
    told.set_phase("uploading");
  }
  const bool ready = !leaving_ && !(!habits_.calm && dice.Chance(habits_.not_ready));
  request->set_free_slots(ready ? std::max(0, machine_.slots - static_cast<int>(held_.size())) : 0);
  request->set_free_noop_slots(ready ? kNoops : 0);
  request->set_leaving(leaving_ && held_.empty());
  request->set_may_wait(!leaving_ && (held_.empty() || dice.Chance(0.5)));
  in_flight_ = sequence_;
  sent_ = request;
  cluster_.Call<v1::SynchronizeResponse>(
      machine_.number,
      [sent = sent_](Scheduler& scheduler, Cluster::Receive<v1::SynchronizeResponse> reply) { scheduler.Synchronize(sent, reply); },
      [self = shared_from_this(), sent = sent_](const absl::StatusOr<v1::SynchronizeResponse>& answer) {
        if (!self->alive_) return;
        if (self->world().now() >= self->frozen_until_) return self->OnAnswer(*sent, answer);
        self->Wake([self, sent, answer] { self->OnAnswer(*sent, answer); });
      });
  Later(kDeadline_s, [this, sequence = in_flight_] {
    if (in_flight_ != sequence) return;
    in_flight_ = 0;
    world().Count("fault: call without an answer");
    CallAfter(1 + world().dice.Part());
  });
  if (!held_.empty()) {
    // A call that is held open is ended in time for the next: the lease is renewed.
    Later(2.5, [this, sequence = in_flight_] {
      if (in_flight_ == sequence) News();
    });
  }
  if (!habits_.calm && dice.Chance(habits_.impatient)) Later(0.03 * dice.Part(), [this] { News(); });
}

void WorkerProcess::News() {
  news_ = true;
  if (in_flight_ == 0) return CallAfter(0);
  if (!sent_->may_wait() || !sent_->finished().empty()) return;
  in_flight_ = 0;
  world().Count("fault: call ended for a newer one");
  BreakCall();
  CallAfter(0);
}

void WorkerProcess::BreakCall() {
  cluster_.Call<bool>(
      machine_.number, [sent = sent_](Scheduler& scheduler, const Cluster::Receive<bool>&) { scheduler.Forget(*sent); },
      [](const absl::StatusOr<bool>&) {});
}

void WorkerProcess::Kill() {
  alive_ = false;
  if (in_flight_ != 0) BreakCall();
}

void WorkerProcess::End() {
  alive_ = false;
  if (machine_.process.get() == this) machine_.process.reset();
}

void WorkerProcess::OnAnswer(const v1::SynchronizeRequest& sent, const absl::StatusOr<v1::SynchronizeResponse>& answer) {
  if (sent.sequence() != in_flight_) return;  // It was given up, or this is its answer's copy.
  in_flight_ = 0;
  if (answer.ok()) {
    const bool changed = Follow(sent, *answer);
    if (leaving_ && sent.leaving() && outbox_.empty()) return End();
    return CallAfter(changed || news_ || leaving_ ? 0 : !held_.empty() ? 1.5 : habits_.calm ? 2 : 1);
  }
  world().Log(fmt::format("worker {} hears {}", id_, absl::StatusCodeToString(answer.status().code())));
  switch (answer.status().code()) {
    case absl::StatusCode::kAborted:
      world().Count(zombie_ ? "refusal: a zombie's call" : "refusal: overtaken call");
      return End();
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInternal:
      return world().Violation(fmt::format("the call of worker {} was refused: {}", id_, answer.status().ToString()));
    default:
      world().Count("fault: scheduler not there");
      return CallAfter(0.5 + 2 * world().dice.Part());
  }
}

bool WorkerProcess::Follow(const v1::SynchronizeRequest& sent, const v1::SynchronizeResponse& response) {
  bool changed = false;
  std::map<uint64_t, const v1::Directive*> directives;
  for (const v1::Directive& directive : response.directives()) directives[directive.attempt()] = &directive;
  for (const v1::HeldAttempt& told : sent.held()) {
    const auto directive = directives.find(told.attempt());
    if (directive != directives.end() && directive->second->action() != v1::Directive::ACTION_DROP) {
      for (const v1::ProgressPoint& point : told.points()) {
        if (std::ranges::find(directive->second->dropped_jobs(), point.job()) != directive->second->dropped_jobs().end()) continue;
        cluster_.points.insert({cluster_.universe.Find(point.job()), point.step()});
      }
    }
    Held* held = Find(told.attempt());
    if (held != nullptr) held->points.erase(held->points.begin(), held->points.begin() + told.points_size());
    if (held == nullptr || !held->began_at || told.phase() != "training" || directive == directives.end()) continue;
    held->began_at.reset();
    if (directive->second->action() == v1::Directive::ACTION_DROP) continue;
    cluster_.begins[told.attempt()] = told.step();
    world().Count("told that it began before its lease's step");
  }
  for (const uint64_t attempt : response.acknowledged()) {
    outbox_.erase(attempt);
    if (!zombie_) machine_.outbox.erase(attempt);
    changed = true;
  }
  for (const v1::Directive& directive : response.directives()) {
    Held* held = Find(directive.attempt());
    world().Count(fmt::format("directive: {}", v1::Directive::Action_Name(directive.action()).substr(7)));
    if (held == nullptr) continue;
    if (directive.action() == v1::Directive::ACTION_DROP) {
      held_.erase(directive.attempt());
      changed = true;
      continue;
    }
    for (const std::string& job : directive.dropped_jobs()) {
      if (held->dropped.insert(cluster_.universe.Find(job)).second) world().Count("directive: member dropped");
    }
    if (directive.action() == v1::Directive::ACTION_STOP) Stop(directive.attempt());
  }
  for (const v1::Lease& lease : response.leases()) changed |= Take(lease);
  if (!response.refused().empty()) world().Count("refusal: worker gets no work");
  return changed;
}

bool WorkerProcess::Take(const v1::Lease& lease) {
  if (lease.jobs().empty()) world().Violation(fmt::format("attempt {} is leased without jobs", lease.attempt()));
  if (held_.contains(lease.attempt()) || outbox_.contains(lease.attempt())) return false;
  if (IsNoop(lease)) return Echo(lease);
  if (leaving_ || static_cast<int>(held_.size()) >= machine_.slots) return false;
  Held& held = held_[lease.attempt()];
  held.lease = lease;
  for (const v1::LeasedJob& job : lease.jobs()) held.jobs.push_back(cluster_.universe.Find(job.id()));
  held.steps = cluster_.universe.jobs[static_cast<size_t>(held.jobs[0])].steps;
  world().Count("lease taken");
  for (const v1::LeasedJob& job : lease.jobs()) {
    // On a GPU bits depend on the pack: who goes on together has come there together.
    if (job.checkpoint().sha256() != lease.jobs(0).checkpoint().sha256()) {
      world().Violation(fmt::format("attempt {} goes on from checkpoints of two packs", lease.attempt()));
    }
    const Job& spec = cluster_.universe.jobs[static_cast<size_t>(cluster_.universe.Find(job.id()))];
    if (job.inputs_size() != static_cast<int>(spec.sources.size())) world().Violation(fmt::format("job {} is leased without its inputs", spec.id));
    for (const v1::ResolvedInput& input : job.inputs()) {
      if (input.artifact().sha256().empty()) continue;  // Of the core alone, which keeps no files.
      const std::string& source = cluster_.universe.jobs[static_cast<size_t>(spec.sources[0])].id;
      cluster_.Call<std::string>(
          machine_.number, [ref = input.artifact()](Scheduler& scheduler, const Cluster::Receive<std::string>& reply) {
            reply(scheduler.Download(ref.sha256()));
          },
          [this, self = shared_from_this(), ref = input.artifact(), source](const absl::StatusOr<std::string>& bytes) {
            CheckFile(ref, "weights", source, bytes);
          });
    }
  }
  Fetch(lease.attempt(), true);
  return true;
}

bool WorkerProcess::IsNoop(const v1::Lease& lease) const {
  return !lease.jobs().empty() && cluster_.universe.jobs[static_cast<size_t>(cluster_.universe.Find(lease.jobs(0).id()))].noop;
}

// It is done by being taken.
bool WorkerProcess::Echo(const v1::Lease& lease) {
  if (leaving_) return false;
  if (lease.jobs_size() != 1) world().Violation(fmt::format("attempt {} of no-op jobs has {} members", lease.attempt(), lease.jobs_size()));
  world().Count("no-op job taken");
  Held& held = held_[lease.attempt()];
  held.jobs.push_back(cluster_.universe.Find(lease.jobs(0).id()));
  Report(lease.attempt(), v1::AttemptReport::OUTCOME_SUCCEEDED, "");
  return true;
}

// A file that a lease names must be there, and hold this job at its place along the member axis.
void WorkerProcess::CheckFile(const v1::ArtifactRef& ref, std::string_view kind, const std::string& job,
                              const absl::StatusOr<std::string>& bytes) {
  if (!bytes.ok()) {
    if (bytes.status().code() == absl::StatusCode::kUnavailable) return;
    world().Violation(fmt::format("{} of job {}: {}", kind, job, bytes.status().ToString()));
    return;
  }
  const std::string head = fmt::format("{} of step {}:", kind, ref.step());
  const size_t at = head.size() + 13 * static_cast<size_t>(ref.member()) + 1;
  if (!bytes->starts_with(head) || bytes->size() < at + 12 || bytes->substr(at, 12) != job.substr(0, 12)) {
    world().Violation(fmt::format("the {} of job {} is '{}' instead of member {} of step {}", kind, job, *bytes, ref.member(), ref.step()));
  }
}

void WorkerProcess::Fetch(uint64_t attempt, bool newest) {
  Held* held = Find(attempt);
  const v1::LeasedJob& first = held->lease.jobs(0);
  const v1::ArtifactRef& ref = newest ? first.checkpoint() : first.checkpoint_before();
  if (ref.sha256().empty()) {
    held->stage = Held::Stage::kTraining;
    held->step = held->start = held->checkpoint = ref.step();  // 0, but for the core alone, which keeps no files.
    if (held->start < first.checkpoint().step()) held->began_at = held->start;
    return Later(kTick_s, [this, attempt] { Train(attempt); });
  }
  const bool unreadable = newest && !habits_.calm && world().dice.Chance(0.05);
  if (unreadable) {
    world().Count("fault: newest checkpoint cannot be read");
    return Fetch(attempt, false);
  }
  cluster_.Call<std::string>(
      machine_.number,
      [this, attempt, ref](Scheduler& scheduler, const Cluster::Receive<std::string>& reply) {
        absl::StatusOr<std::string> bytes = scheduler.Download(ref.sha256());
        // What an attempt needs is there as long as it runs and has handed in nothing newer.
        if (!bytes.ok() && scheduler.model().running().contains(static_cast<int64_t>(attempt))) {
          const Held* now = Find(attempt);
          if (now != nullptr && now->stage == Held::Stage::kFetching) {
            world().Violation(fmt::format("the checkpoint of attempt {} is gone while it runs: {}", attempt, bytes.status().ToString()));
          }
        }
        reply(std::move(bytes));
      },
      [self = shared_from_this(), attempt, ref](const absl::StatusOr<std::string>& bytes) {
        self->Wake([self, attempt, ref, bytes] {
          Held* now = self->Find(attempt);
          if (now == nullptr || now->stage != Held::Stage::kFetching || !bytes.ok()) return;
          self->CheckFile(ref, "checkpoint", now->lease.jobs(0).id(), bytes);
          now->stage = Held::Stage::kTraining;
          now->step = now->start = now->checkpoint = ref.step();
          if (now->start < now->lease.jobs(0).checkpoint().step()) now->began_at = now->start;
          self->world().Count("went on from a checkpoint");
          self->Later(kTick_s, [self, attempt] { self->Train(attempt); });
        });
      });
  // Until it is there.
  Later(10, [this, attempt, newest] {
    const Held* now = Find(attempt);
    if (now != nullptr && now->stage == Held::Stage::kFetching) Fetch(attempt, newest);
  });
}

void WorkerProcess::Train(uint64_t attempt) {
  Held* held = Find(attempt);
  if (held == nullptr || held->stage != Held::Stage::kTraining || held->stopping) return;
  held->step = std::min(held->step + (habits_.calm ? kStepsInCalmTick : kStepsInTick), held->steps);
  for (const int job : held->jobs) {
    const Job& spec = cluster_.universe.jobs[static_cast<size_t>(job)];
    if (held->dropped.contains(job)) continue;
    if (spec.fate == Fate::kPoison && held->step >= 30) {
      world().Count("outcome: poisoned");
      return Report(attempt, v1::AttemptReport::OUTCOME_FAILED, fmt::format("poison in job {}", spec.id.substr(0, 8)));
    }
    v1::ProgressPoint point;
    point.set_job(spec.id);
    point.set_step(held->step);
    point.set_loss(LossOf(spec, held->step));
    held->points.push_back(point);
  }
  if (!habits_.calm && (machine_.broken || world().dice.Chance(habits_.trainer_crash))) {
    world().Count("fault: trainer crashed");
    return Report(attempt, v1::AttemptReport::OUTCOME_FAILED, "the trainer crashed");
  }
  if (held->step >= held->steps) return HandIn(attempt);
  if (held->step - held->checkpoint >= kCheckpointEvery) Checkpoint(attempt, false);
  Later(kTick_s, [this, attempt] { Train(attempt); });
}

void WorkerProcess::Upload(uint64_t attempt, const std::string& kind, int step, const std::vector<int>& jobs,
                           const Cluster::Receive<bool>& then) {
  const std::string bytes = FileOf(cluster_.universe, jobs, kind, step);
  v1::UploadHeader header;
  header.set_attempt(attempt);
  header.set_worker(id_);
  header.set_kind(kind);
  header.set_step(step);
  header.set_sha256(Sha256Of(bytes));
  header.set_bytes(static_cast<double>(bytes.size()));
  for (const int job : jobs) header.add_jobs(cluster_.universe.jobs[static_cast<size_t>(job)].id);
  cluster_.Call<bool>(
      machine_.number,
      [header, bytes](Scheduler& scheduler, Cluster::Receive<bool> reply) {
        scheduler.Upload(header, bytes, [reply](const absl::Status& status) { status.ok() ? reply(true) : reply(status); });
      },
      [self = shared_from_this(), then](const absl::StatusOr<bool>& answer) { self->Wake([then, answer] { then(answer); }); });
}

void WorkerProcess::Checkpoint(uint64_t attempt, bool last) {
  Held* held = Find(attempt);
  held->checkpoint = held->step;
  Upload(attempt, "checkpoint", held->step, held->jobs, [this, attempt, last](const absl::StatusOr<bool>& stored) {
    Held* now = Find(attempt);
    if (now == nullptr) return;
    if (stored.ok()) world().Count("upload: checkpoint");
    if (stored.status().code() == absl::StatusCode::kAborted) {
      world().Count("refusal: upload of a stale attempt");
      held_.erase(attempt);
      return News();
    }
    if (last) Report(attempt, v1::AttemptReport::OUTCOME_GIVEN_BACK, "");
  });
  // Without an answer the steps are made again by whoever is next.
  if (last) {
    Later(20, [this, attempt] {
      if (Find(attempt) != nullptr) Report(attempt, v1::AttemptReport::OUTCOME_GIVEN_BACK, "");
    });
  }
}

// Files first, then the report.
void WorkerProcess::HandIn(uint64_t attempt) {
  Held* held = Find(attempt);
  if (held == nullptr) return;
  held->stage = Held::Stage::kHandingIn;
  std::vector<int> jobs;
  for (const int job : held->jobs) {
    if (cluster_.universe.jobs[static_cast<size_t>(job)].fate != Fate::kForgetful) jobs.push_back(job);
  }
  if (jobs.empty()) return Report(attempt, v1::AttemptReport::OUTCOME_SUCCEEDED, "");
  Upload(attempt, "weights", held->steps, jobs, [this, attempt](const absl::StatusOr<bool>& stored) {
    if (Find(attempt) == nullptr) return;
    if (stored.ok()) {
      world().Count("upload: weights");
      return Report(attempt, v1::AttemptReport::OUTCOME_SUCCEEDED, "");
    }
    if (stored.status().code() == absl::StatusCode::kAborted) {
      world().Count("refusal: upload of a stale attempt");
      held_.erase(attempt);
      return News();
    }
    if (stored.status().code() == absl::StatusCode::kInvalidArgument) world().Violation(fmt::format("weights: {}", stored.status().ToString()));
  });
  Later(5, [this, attempt] { HandIn(attempt); });
}

void WorkerProcess::Stop(uint64_t attempt) {
  Held* held = Find(attempt);
  if (held == nullptr || held->stopping) return;
  held->stopping = true;
  if (held->stage == Held::Stage::kHandingIn) return;
  if (held->stage == Held::Stage::kFetching || held->step == held->start) return Report(attempt, v1::AttemptReport::OUTCOME_GIVEN_BACK, "");
  Checkpoint(attempt, true);
}

void WorkerProcess::Report(uint64_t attempt, v1::AttemptReport::Outcome outcome, const std::string& detail) {
  const Held held = held_.at(attempt);
  held_.erase(attempt);
  v1::AttemptReport report;
  report.set_attempt(attempt);
  report.set_outcome(outcome);
  report.set_detail(detail);
  report.set_engine("simulated");
  for (const v1::ProgressPoint& point : held.points) *report.add_points() = point;
  if (outcome == v1::AttemptReport::OUTCOME_SUCCEEDED) {
    for (const int job : held.jobs) {
      if (!held.dropped.contains(job)) *report.add_results() = ResultOf(cluster_.universe.jobs[static_cast<size_t>(job)]);
    }
  }
  world().Count(fmt::format("outcome: reported {}", v1::AttemptReport::Outcome_Name(outcome).substr(8)));
  outbox_[attempt] = report;
  if (!zombie_) machine_.outbox[attempt] = report;
  News();
}

void WorkerProcess::Leave() {
  if (leaving_) return;
  leaving_ = true;
  std::vector<uint64_t> attempts;
  for (const auto& [attempt, held] : held_) attempts.push_back(attempt);
  for (const uint64_t attempt : attempts) Stop(attempt);
  News();
}

}  // namespace longreach::simulation
