// scheduler/core beside the reference model: no SQL, no files, and calls are never held open, so that seeds are cheap.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "scheduler/core/deadlines.h"
#include "tests/simulation/compare.h"
#include "tests/simulation/core_store.h"
#include "tests/simulation/scheduler.h"

namespace longreach::simulation {
namespace {

using Response = absl::StatusOr<v1::SynchronizeResponse>;

class CoreScheduler final : public Scheduler {
 public:
  CoreScheduler(World& world, const Universe& universe, Hazards hazards)
      : world_(world), universe_(universe), hazards_(std::move(hazards)), store_(universe), model_(universe) {}

  void Start(bool) override {
    crashed_ = false;
    seen_.clear();
    leases_ = {};
    for (const auto& [id, attempt] : model_.running()) leases_.Set(id, world_.now() + kLeaseTerm);
  }
  void Crash() override { pending_.clear(); }

  void Synchronize(const SyncCall& call, SyncAnswer answer) override {
    const std::pair<uint64_t, uint64_t> place = {call->incarnation(), call->sequence()};
    auto& newest = seen_[call->worker()];
    if (place <= newest) return answer(absl::AbortedError("a newer call of this worker was seen"));
    newest = place;
    for (const auto& [id, attempt] : model_.running()) {
      if (attempt.worker == call->worker()) leases_.Set(id, world_.now() + kLeaseTerm);
    }
    Queue("call", [call](CoreStore& store) { return store.Synchronize(*call); },
          [call](Model& model) { return model.Synchronize(*call); }, std::move(answer), call);
  }
  void Forget(const v1::SynchronizeRequest&) override {}
  void Submit(int sweep, std::optional<int> priority, Answer answer) override {
    QueueChange("submit",
                [=](CoreStore& store) -> absl::Status {
                  RETURN_IF_ERROR(store.InsertJobs(sweep));
                  return store.Submit(sweep, priority);
                },
                [=](Model& model) -> absl::Status {
                  RETURN_IF_ERROR(model.Submit(sweep, priority));
                  model.AddJobs(sweep, model.ToCome(sweep));
                  return absl::OkStatus();
                },
                std::move(answer));
  }
  void SteerSweep(int sweep, v1::SteerSweepRequest::Action action, int priority, Answer answer) override {
    QueueChange("steer", [=](CoreStore& store) { return store.SteerSweep(sweep, action, priority); },
                [=](Model& model) { return model.SteerSweep(sweep, action, priority); }, std::move(answer));
  }
  void SteerJobs(int sweep, bool cancels, const Some& some, Answer answer) override {
    QueueChange("steer jobs", [=](CoreStore& store) { return store.SteerJobs(sweep, cancels, some); },
                [=](Model& model) {
                  Model::Steering steering{.sweep = sweep, .cancels = cancels, .some = some};
                  return model.SteerJobs(steering);
                },
                std::move(answer));
  }
  void SteerWorker(const std::string& worker, bool drain, Answer answer) override {
    QueueChange("steer worker", [=](CoreStore& store) { return store.SteerWorker(worker, drain); },
                [=](Model& model) { return model.SteerWorker(worker, drain); }, std::move(answer));
  }
  void Upload(const v1::UploadHeader& header, const std::string&, Answer answer) override {
    QueueChange("upload", [header](CoreStore& store) { return store.Upload(header); },
                [header](Model& model) { return model.Upload(header); }, std::move(answer));
  }
  absl::StatusOr<std::string> Download(const std::string& sha256) override { return absl::NotFoundError(sha256); }

  std::optional<SteadyTime> Next() override {
    std::optional<SteadyTime> next = leases_.Next();
    if (next) next = std::max(*next, not_before_);
    if (!pending_.empty() && (!next || ready_at_ < *next)) next = ready_at_;
    return next;
  }

  void RunGroup() override {
    const SteadyTime now = world_.now();
    if (leases_.Next() && std::max(*leases_.Next(), not_before_) <= now) QueueExpiry(leases_.Due(now));
    if (pending_.empty()) return;
    std::vector<Event> group = std::move(pending_);
    pending_.clear();
    const Hazard hazard = hazards_();
    std::optional<CoreStore> store_before;
    std::optional<Model> model_before;
    if (hazard == Hazard::kCrashBeforeCommit || hazard == Hazard::kStoreFull) {
      store_before = store_;
      model_before = model_;
    }
    for (Event& event : group) Apply(event);
    if (store_before) {
      store_ = *std::move(store_before);
      model_ = *std::move(model_before);
    }
    crashed_ = hazard == Hazard::kCrashBeforeCommit || hazard == Hazard::kCrashAfterCommit;
    if (hazard == Hazard::kStoreFull) not_before_ = now + seconds(1);
    RenewLeases();
    Compare();
    for (Event& event : group) {
      if (crashed_) return;
      if (event.answer) event.answer(store_before ? Response(absl::ResourceExhaustedError("the disk is full")) : std::move(event.given));
      crashed_ = hazard == Hazard::kCrashWhileAnswering;
    }
  }

  bool crashed() const override { return crashed_; }
  const Model& model() const override { return model_; }
  void CheckAll(const std::set<Point>&, const std::map<uint64_t, int>&) override { Compare(); }
  std::string Table() override {
    std::map<std::string, std::string> lines;
    for (size_t i = 0; i < store_.jobs.size(); ++i) {
      const bool succeeded = std::holds_alternative<Succeeded>(store_.jobs[i].life.state);
      lines[universe_.jobs[i].id] = fmt::format("{}{}", Word(store_.jobs[i].life.state),
                                                succeeded ? fmt::format(" {}", AccuracyOf(universe_.jobs[i], 0)) : "");
    }
    std::string table;
    for (const auto& [id, line] : lines) table += fmt::format("{} {}\n", id, line);
    return table;
  }

 private:
  struct Event {
    std::string_view what;
    std::function<Response(CoreStore&)> apply;
    std::function<Response(Model&)> expect;
    SyncAnswer answer;
    SyncCall request;
    Response given = v1::SynchronizeResponse();
  };

  void Queue(std::string_view what, std::function<Response(CoreStore&)> apply, std::function<Response(Model&)> expect, SyncAnswer answer,
             SyncCall request = nullptr) {
    if (pending_.empty()) ready_at_ = world_.now() + GroupDelay(world_.dice);
    Event& event = pending_.emplace_back();
    event.what = what;
    event.apply = std::move(apply);
    event.expect = std::move(expect);
    event.answer = std::move(answer);
    event.request = std::move(request);
  }
  template <typename Apply, typename Expect>
  void QueueChange(std::string_view what, Apply apply, Expect expect, Answer answer) {
    const auto respond = [](const absl::Status& status) { return status.ok() ? Response(v1::SynchronizeResponse()) : Response(status); };
    Queue(what, [apply, respond](CoreStore& store) { return respond(apply(store)); },
          [expect, respond](Model& model) { return respond(expect(model)); },
          [answer = std::move(answer)](const Response& response) { answer(response.status()); });
  }
  void QueueExpiry(const std::vector<int64_t>& due) {
    QueueChange("deadline",
                [due](CoreStore& store) {
                  for (const int64_t attempt : due) RETURN_IF_ERROR(store.Expire(attempt));
                  return absl::OkStatus();
                },
                [this, due](Model& model) {
                  world_.Count("refusal: lease ran out", static_cast<int64_t>(due.size()));
                  model.Expire(due);
                  return absl::OkStatus();
                },
                [](const absl::Status&) {});
    // What is due may end in an event before: then there is nothing left to expire.
    std::rotate(pending_.begin(), pending_.end() - 1, pending_.end());
  }

  void Apply(Event& event) {
    ++events;
    event.given = event.apply(store_);
    const Response expected = event.expect(model_);
    world_.Log(fmt::format("event {}: {}", event.what, absl::StatusCodeToString(event.given.status().code())));
    if (event.given.status().code() != expected.status().code()) {
      world_.Violation(fmt::format("{}: {} where the model says {}", event.what, event.given.status().ToString(), expected.status().ToString()));
    } else if (event.given.ok() && event.request) {
      CompareResponse(world_, *event.request, *event.given, expected);
    }
  }

  void RenewLeases() {
    for (const auto& [id, attempt] : model_.running()) {
      if (!leases_.Of(id)) leases_.Set(id, world_.now() + kLeaseTerm);
    }
    for (size_t id = 1; id <= model_.outcomes().size(); ++id) {
      if (!model_.outcomes()[id - 1].empty()) leases_.Remove(static_cast<int64_t>(id));
    }
    // Attempts that were taken back with their group.
    for (const int64_t id : leases_.Due(SteadyTime::max())) {
      if (!model_.running().contains(id)) leases_.Remove(id);
    }
  }

  void Compare() {
    constexpr std::array<std::string_view, 7> kWords = {"absent", "waiting", "queued", "leased", "succeeded", "failed", "cancelled"};
    for (size_t i = 0; i < store_.jobs.size(); ++i) {
      const CoreStore::JobRow& row = store_.jobs[i];
      const Model::JobLife& job = model_.jobs()[i];
      const std::string_view expected = kWords[static_cast<size_t>(job.state)];
      if (!row.there && expected == "absent") continue;
      int64_t attempt = 0;
      if (const auto* lease = std::get_if<Leased>(&row.life.state)) attempt = lease->attempt.value;
      if (const auto* done = std::get_if<Succeeded>(&row.life.state)) attempt = done->attempt.value;
      const core::Demand demand = store_.DemandOf(static_cast<int>(i));
      const bool same = Word(row.life.state) == expected && attempt == job.attempt && row.life.failures == job.failures &&
                        row.life.losses == job.losses && row.num == job.order && row.checkpoint == job.checkpoint &&
                        demand.wanted == model_.IsWanted(static_cast<int>(i)) && demand.priority == model_.PriorityOf(static_cast<int>(i));
      if (same) continue;
      return world_.Violation(fmt::format("job {}: the core says {} ({}), {} failures, {} losses; the model {} ({}), {}, {}",
                                          universe_.jobs[i].id.substr(0, 8), Word(row.life.state), attempt, row.life.failures, row.life.losses, expected, job.attempt, job.failures, job.losses));
    }
    for (const auto& [id, worker] : model_.workers()) {
      const auto found = store_.workers.find(id);
      if (found != store_.workers.end() && found->second.state == worker.state) continue;
      const std::string found_state = found == store_.workers.end() ? "nothing" : found->second.state;
      return world_.Violation(fmt::format("worker {}: the core says {}, the model {}", id, found_state, worker.state));
    }
  }

  World& world_;
  const Universe& universe_;
  const Hazards hazards_;
  CoreStore store_;
  Model model_;
  core::Deadlines<int64_t> leases_;
  std::map<std::string, std::pair<uint64_t, uint64_t>> seen_;  // The newest call of each worker.
  std::vector<Event> pending_;
  SteadyTime ready_at_{};
  SteadyTime not_before_{};
  bool crashed_ = false;
};

}  // namespace

std::unique_ptr<Scheduler> MakeCoreScheduler(World& world, const Universe& universe, Hazards hazards) {
  return std::make_unique<CoreScheduler>(world, universe, std::move(hazards));
}

}  // namespace longreach::simulation
