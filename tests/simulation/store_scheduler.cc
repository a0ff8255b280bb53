// The real engine and the real store, event by event beside the reference model. The file lies in memory (/dev/shm) with the
// settings of every store: what a crash of the process leaves is exactly what was committed. Power loss is another test's matter.
#include <algorithm>
#include <deque>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scheduler/service/engine.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/simulation/compare.h"
#include "tests/simulation/deadlines.h"
#include "tests/simulation/group_runner.h"
#include "tests/simulation/op.h"
#include "tests/simulation/plants.h"
#include "tests/simulation/scheduler.h"
#include "tests/store/store_folder.h"

namespace longreach::simulation {
namespace {

constexpr Duration kPauseAfterFailure = seconds(1);  // As the writer does.

std::string Label(const v1::SynchronizeRequest& request) {
  return fmt::format("{}/{}/{}", request.worker(), request.incarnation(), request.sequence());
}

service::EngineOptions OptionsOf(std::string_view plant) {
  service::EngineOptions options;
  options.jobs_in_slice = kJobsInSlice;
  options.jobs_settled_in_slice = kSettledInSlice;
  options.slices_in_flight = 1;  // Which of several fail with the first is no matter of the model.
  if (plant == kShortLease) options.lease_term = seconds(14);
  return options;
}

class StoreScheduler final : public Scheduler {
 public:
  StoreScheduler(World& world, const Universe& universe, Hazards hazards, const std::string& plant)
      : world_(world), universe_(universe), hazards_(std::move(hazards)), plant_(plant), model_(universe), deadlines_(world, universe),
        runner_(world, model_, deadlines_, events, plant == kAnswersBeforeCommit) {
    if (const Plant* planted = FindPlant(plant)) {
      absl::StatusOr<sql::Connection> db = sql::Connection::Open(folder_.file(), sql::Mode::kReadWrite);
      Must(db.ok() ? db->Execute(planted->sql) : db.status(), "the plant");
    }
  }
  ~StoreScheduler() override { Crash(); }

  void Start(bool anew) override {
    if (anew) store_.reset();
    if (!store_) {
      absl::StatusOr<std::unique_ptr<store::Store>> opened = store::Store::Open(folder_.file().string());
      if (!opened.ok()) return world_.Violation(fmt::format("the store cannot be opened: {}", std::string(opened.status().message())));
      store_ = *std::move(opened);
    }
    runner_.Restart();
    engine_ = std::make_unique<service::Engine>(
        world_.clock, OptionsOf(plant_), [this](store::Event event) { Take(std::move(event)); }, [] {});
    Must(engine_->Restore(db()), "Restore");
    Must(store::RemoveUnsettledFiles(db(), store_->artifacts()).status(), "RemoveUnsettledFiles");
    deadlines_.Restart(model_);
  }

  void Crash() override {
    pending_.clear();
    calls_.clear();
    engine_.reset();
  }

  void Synchronize(const SyncCall& call, SyncAnswer answer) override {
    struct Arrival {
      bool over = false;
      bool refused = false;
    };
    auto arrival = std::make_shared<Arrival>();
    const v1::SynchronizeRequest& request = *call;
    calls_[Label(request)] = call;
    const bool stale = plant_ == kStaleReport;
    engine_->Synchronize(stale ? WithStaleReports(request) : request,
                         [this, arrival, call, answer, stale](absl::StatusOr<v1::SynchronizeResponse> given) {
                           arrival->refused |= !arrival->over && !given.ok();
                           // The plant is to be seen by what it does, not by the numbers that it changed.
                           for (int i = 0; stale && given.ok() && i < given->acknowledged_size(); ++i) {
                             given->set_acknowledged(i, call->finished(i).attempt());
                           }
                           CheckAnswer(*call, given);
                           answer(given);
                         });
    arrival->over = true;
    if (!arrival->refused) deadlines_.Renew(request, model_);
  }
  void Forget(const v1::SynchronizeRequest& request) override {
    deadlines_.BreakOff(request);
    engine_->Forget(request.worker(), request.incarnation(), request.sequence());
  }

  void Submit(int sweep, std::optional<int> priority, Answer answer) override {
    v1::SubmitSweepRequest request;
    request.mutable_spec()->CopyFrom(universe_.sweeps[static_cast<size_t>(sweep)].spec);
    if (priority) request.set_priority(*priority);
    CheckPlan(request, sweep);
    submitting_ = 1;
    submitted_ = sweep;
    submitted_priority_ = priority;
    const absl::StatusOr<v1::SubmitSweepResponse> response = engine_->SubmitSweep(request, *store_);
    submitting_ = 0;
    if (crashed()) return;
    if (response.ok() && response->sweep().id() != universe_.sweeps[static_cast<size_t>(sweep)].id) {
      world_.Violation(fmt::format("submitting '{}' answered with the sweep {}", request.spec().name(), response->sweep().id()));
    }
    answer(response.status());
  }
  void SteerSweep(int sweep, v1::SteerSweepRequest::Action action, int priority, Answer answer) override {
    v1::SteerSweepRequest request;
    request.set_sweep(universe_.sweeps[static_cast<size_t>(sweep)].id);
    request.set_action(action);
    request.set_priority(priority);
    Expect(fmt::format("steer {} {}", sweep, static_cast<int>(action)),
           [=](Model& model) { return model.SteerSweep(sweep, action, priority, kSettledInSlice); });
    if (action == v1::SteerSweepRequest::ACTION_RETRY) {
      next_op_->next_slice = [sweep, at = std::make_shared<int>(0)] { return RetryNext(sweep, at); };
    } else {
      next_op_->next_slice = [this, sweep] { return FollowNext(world_, sweep); };
    }
    const std::shared_ptr<int> dropped = CountDropped(next_op_);
    engine_->SteerSweep(request, [this, dropped, cancels = action == v1::SteerSweepRequest::ACTION_CANCEL, answer](absl::StatusOr<v1::Sweep> given) {
      CheckDropped(given, cancels, *dropped);
      answer(given.status());
    });
  }
  void SteerJobs(int sweep, bool cancels, const Some& some, Answer answer) override {
    v1::SteerSweepRequest request;
    request.set_sweep(universe_.sweeps[static_cast<size_t>(sweep)].id);
    request.set_action(cancels ? v1::SteerSweepRequest::ACTION_CANCEL_JOBS : v1::SteerSweepRequest::ACTION_RETRY_JOBS);
    for (const std::string& text : some.Texts()) request.add_only(text);
    const auto steering = std::make_shared<Model::Steering>(Model::Steering{.sweep = sweep, .cancels = cancels, .some = some});
    Expect(fmt::format("{} {} of {}", cancels ? "cancel" : "retry", fmt::join(request.only(), " "), sweep),
           [steering](Model& model) { return model.SteerJobs(*steering, kSettledInSlice); });
    next_op_->next_slice = [steering] { return SteerNextJobs(steering); };
    const std::shared_ptr<int> dropped = CountDropped(next_op_);
    engine_->SteerSweep(request, [this, steering, dropped, answer](absl::StatusOr<v1::Sweep> given) {
      CheckDropped(given, steering->cancels, *dropped);
      if (given.ok() && given->jobs_steered() != steering->steered) {
        world_.Violation(fmt::format("{} jobs are said to be steered where the model has {}", given->jobs_steered(), steering->steered));
      }
      answer(given.status());
    });
  }
  void SteerWorker(const std::string& worker, bool drain, Answer answer) override {
    v1::SteerWorkerRequest request;
    request.set_worker(worker);
    request.set_drain(drain);
    Expect(fmt::format("steer worker {} {}", worker, drain), [=](Model& model) { return model.SteerWorker(worker, drain); });
    engine_->SteerWorker(request, [answer](absl::StatusOr<v1::WorkerInfo> given) { answer(given.status()); });
  }
  // As UploadCall (worker_handlers.cc), without its stream.
  void Upload(const v1::UploadHeader& header, const std::string& bytes, Answer answer) override {
    store::Pin pin;
    if (std::optional<store::Pin> there = store_->artifacts().FindAndPin(header.sha256(), static_cast<int64_t>(header.bytes()))) {
      pin = *std::move(there);
    } else {
      absl::StatusOr<store::ArtifactWriter> writer = store_->artifacts().Create(header.sha256(), static_cast<int64_t>(header.bytes()));
      absl::Status status = writer.ok() ? writer->Append(bytes) : writer.status();
      absl::StatusOr<store::Pin> made = status.ok() ? writer->Commit() : absl::StatusOr<store::Pin>(status);
      if (!made.ok()) return answer(made.status());
      pin = *std::move(made);
    }
    Expect(fmt::format("upload {} {} {}", header.attempt(), header.kind(), header.step()),
           [header](Model& model) { return model.Upload(header); });
    // One that is refused is noted as a file that has no row.
    next_op_->next_slice = [] { return MakeOp("note a file", [](Model&) { return absl::OkStatus(); }); };
    engine_->RecordUpload(header, std::move(pin), [answer](absl::StatusOr<WallTime> given) { answer(given.status()); });
  }
  absl::StatusOr<std::string> Download(const std::string& sha256) override { return store_->artifacts().Read(sha256, 1 << 20); }

  std::optional<SteadyTime> Next() override {
    std::optional<SteadyTime> next = engine_->NextDeadline();
    if (next) next = std::max(*next, not_before_);
    if (!pending_.empty() && (!next || ready_at_ < *next)) next = ready_at_;
    return next;
  }

  void RunGroup() override {
    const SteadyTime now = world_.now();
    const std::optional<SteadyTime> deadline = engine_->NextDeadline();
    if (submitting_ == 0 && deadline && now >= std::max(*deadline, not_before_)) pending_.push_back(DeadlineEvent(now));
    if (pending_.empty()) return;
    std::vector<Pending> group(std::make_move_iterator(pending_.begin()), std::make_move_iterator(pending_.end()));
    pending_.clear();
    if (!runner_.Run(group, hazards_(), *store_).ok()) not_before_ = world_.now() + kPauseAfterFailure;
  }

  bool crashed() const override { return runner_.crashed(); }
  const Model& model() const override { return model_; }

  void CheckAll(const std::set<Point>& points, const std::map<uint64_t, int>& begins) override {
    CompareAll(world_, model_, db());
    CheckLedger(world_, db(), store_->artifacts());
    CheckFiles(world_, db(), store_->artifacts());
    CheckPoints(world_, universe_, db(), points);
    CheckBegins(world_, db(), begins);
    CheckTable(world_, universe_, db());
  }
  std::string Table() override {
    return ReadText(world_, db(),
                    "SELECT id || ' ' || state || ' ' || diverged || ' ' || diverged_at || ifnull((SELECT group_concat(' ' || metric || ' ' || "
                    "length || ' ' || slice || ' ' || value) FROM measurements WHERE job = num), '') FROM jobs ORDER BY id");
  }

 private:
  sql::Connection& db() { return store_->writer_connection(); }
  void Must(const absl::Status& status, std::string_view what) {
    if (!status.ok()) world_.Violation(fmt::format("{}: {}", what, std::string(status.message())));
  }

  // Of jobs that were leased, how many an event, and those that go on where it ended, have cancelled so far.
  static std::shared_ptr<int> CountDropped(const OpPtr& op, std::shared_ptr<int> dropped = std::make_shared<int>(0)) {
    op->apply = [dropped, apply = std::move(op->apply)](Model& model) {
      const std::vector<Model::JobLife> before = model.jobs();
      absl::StatusOr<v1::SynchronizeResponse> answer = apply(model);
      for (size_t job = 0; job < before.size(); ++job) {
        *dropped += before[job].state == Model::JobState::kLeased && model.jobs()[job].state == Model::JobState::kCancelled ? 1 : 0;
      }
      return answer;
    };
    op->next_slice = [dropped, next_slice = std::move(op->next_slice)] {
      OpPtr next = next_slice();
      CountDropped(next, dropped);
      return next;
    };
    return dropped;
  }
  void CheckDropped(const absl::StatusOr<v1::Sweep>& given, bool cancels, int dropped) {
    if (!given.ok()) return;
    if (given->has_jobs_dropped() != cancels) world_.Violation("jobs are said to be dropped where none is cancelled, or it is not said how many");
    if (cancels && given->jobs_dropped() != dropped) {
      world_.Violation(fmt::format("{} jobs are said to be dropped where the model has {}", given->jobs_dropped(), dropped));
    }
  }

  // A plan is of what the submission would leave at this moment.
  void CheckPlan(v1::SubmitSweepRequest request, int sweep) {
    request.set_dry_run(true);
    const absl::StatusOr<v1::SubmitSweepResponse> planned = engine_->SubmitSweep(request, *store_);
    if (!planned.ok()) return Must(planned.status(), "a plan");
    Model after = model_;
    Must(after.Submit(sweep, {}), "the model's submission");
    after.AddJobs(sweep, after.ToCome(sweep));
    const auto count = [&after](const std::vector<int>& jobs, Model::JobState state) {
      return static_cast<int>(std::ranges::count_if(jobs, [&](int job) { return after.jobs()[static_cast<size_t>(job)].state == state; }));
    };
    const Sweep& one = universe_.sweeps[static_cast<size_t>(sweep)];
    const int failed = count(one.members, Model::JobState::kFailed), done = count(one.members, Model::JobState::kSucceeded);
    const int ended = count(one.order, Model::JobState::kFailed) + count(one.order, Model::JobState::kSucceeded);
    const bool any_to_run = ended < static_cast<int>(one.order.size());
    const v1::Plan& plan = planned->plan();
    if (plan.failed() == failed && plan.done() == done && (plan.packs() > 0) == any_to_run) return;
    world_.Violation(fmt::format("a plan of '{}' has {} done, {} failed and {} packs where the model would have {} done, {} failed and {} to run", one.spec.name(), plan.done(),
                                 plan.failed(), plan.packs(), done, failed, any_to_run ? "others" : "none"));
  }

  template <typename Apply>
  void Expect(std::string what, Apply apply) {
    next_op_ = MakeOp(std::move(what), std::move(apply));
  }

  // The sweep itself, then its jobs that do not follow it yet, if there are, then those that are to come.
  OpPtr NextOfSubmission() {
    const int number = submitting_++;
    if (number == 2 && settles_) return FollowNext(world_, submitted_);
    return MakeOp(fmt::format("{} {}", number == 1 ? "submit" : "slice of", submitted_),
                  [this, begins = number == 1, sweep = submitted_, priority = submitted_priority_](Model& model) {
                    const absl::Status status = begins ? model.Submit(sweep, priority, kSettledInSlice) : absl::OkStatus();
                    if (begins) settles_ = model.sweeps()[static_cast<size_t>(sweep)].unsettled.has_value();
                    const bool has_inputs = !universe_.sweeps[static_cast<size_t>(sweep)].spec.inputs().empty();
                    model.AddJobs(sweep, has_inputs ? model.ToCome(sweep) : kJobsInSlice);
                    return status;
                  });
  }

  // The engine hands an event to the writer.
  void Take(store::Event event) {
    OpPtr op;
    bool waits = false;
    if (!event.origin.empty()) {
      op = std::make_shared<Op>();
      op->what = "call " + event.origin;
      op->apply = [call = calls_[event.origin]](Model& model) { return model.Synchronize(*call); };
    } else if (next_op_) {
      op = std::exchange(next_op_, nullptr);
    } else if (const OpPtr& answering = runner_.answering()) {
      op = answering->next_slice();
      op->blocks = answering->blocks;
    } else {
      op = NextOfSubmission();
      op->blocks = waits = true;
    }
    if (pending_.empty()) ready_at_ = world_.now() + GroupDelay(world_.dice);
    pending_.push_back({.event = std::move(event), .op = std::move(op)});
    while (waits && !pending_.empty() && !crashed()) RunGroup();
    if (waits && crashed() && !pending_.empty()) ReleaseBlocked(pending_);
  }

  Pending DeadlineEvent(SteadyTime now) {
    Expect("deadline", [this, now](Model& model) {
      deadlines_.Follow(db(), now, model);
      return absl::OkStatus();
    });
    return {.event = engine_->AtDeadline(now), .op = std::move(next_op_)};
  }

  // What an engine would be told that forgot about fencing: reports of ended attempts count for those that have the jobs now.
  v1::SynchronizeRequest WithStaleReports(v1::SynchronizeRequest request) const {
    for (v1::AttemptReport& report : *request.mutable_finished()) {
      if (model_.running().contains(static_cast<int64_t>(report.attempt()))) continue;
      for (const auto& [id, attempt] : model_.running()) {
        const bool holds = std::ranges::any_of(attempt.members, [&](const Model::Member& member) {
          return std::ranges::any_of(report.results(), [&](const v1::MemberResult& result) { return universe_.Find(result.job()) == member.job; });
        });
        if (holds && attempt.worker == request.worker()) report.set_attempt(static_cast<uint64_t>(id));
      }
    }
    return request;
  }

  void CheckAnswer(const v1::SynchronizeRequest& request, const absl::StatusOr<v1::SynchronizeResponse>& given) {
    if (!given.ok()) return;
    if (const OpPtr& answering = runner_.answering(); answering != nullptr && answering->what == "call " + Label(request)) {
      return CompareResponse(world_, request, *given, answering->expected);
    }
    // It was held open, or answered from memory: what it says must still be right.
    Model copy = model_;
    const absl::StatusOr<v1::SynchronizeResponse> now = copy.Synchronize(request);
    CompareResponse(world_, request, *given, now);
    if (copy == model_) return;
    world_.Violation(fmt::format("call {} was answered without an event, and the model has work to do for it", Label(request)));
  }

  World& world_;
  const Universe& universe_;
  const Hazards hazards_;
  const std::string plant_;
  const store::StoreFolder folder_;
  Model model_;
  Deadlines deadlines_;
  GroupRunner runner_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<service::Engine> engine_;
  std::deque<Pending> pending_;
  SteadyTime ready_at_{};
  SteadyTime not_before_{};
  OpPtr next_op_;
  int submitting_ = 0;  // 0: no; else the number of the next event of the submission.
  int submitted_ = 0;
  bool settles_ = false;  // Not all of its jobs followed it with the first event.
  std::optional<int> submitted_priority_;
  std::map<std::string, SyncCall> calls_;
};

}  // namespace

std::unique_ptr<Scheduler> MakeStoreScheduler(World& world, const Universe& universe, Hazards hazards, const std::string& plant) {
  return std::make_unique<StoreScheduler>(world, universe, std::move(hazards), plant);
}

}  // namespace longreach::simulation
