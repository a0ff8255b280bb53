// How the jobs of a sweep get into the store (engine.h): in slices, each an event of its own, so that workers' calls go in between.
//
// The first event makes the sweep, with as many jobs to come as it has; each slice takes its number off. So after every commit the
// sweep is sound: it is there, its first jobs can be trained, the others are to come. Whoever asked goes on until none is; if that breaks
// off (a full disk, kill -9), the engine goes on by itself, slice by slice, whenever its deadline comes (deadlines.cc).
#include <deque>
#include <future>

#include <fmt/format.h>

#include "proto/types/time.h"
#include "scheduler/experiments/unused_settings.h"
#include "scheduler/service/endings.h"
#include "scheduler/service/engine.h"
#include "scheduler/service/kept_table.h"
#include "scheduler/service/plan.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/settling.h"
#include "scheduler/service/slice.h"
#include "store/given_up.h"

namespace longreach::service {
namespace {

constexpr double kSecondsPerHour = 3600;

// Another sweep's pause may have told packs to stop whose jobs are wanted again.
absl::Status NoteRunning(sql::Connection& db, Effects& effects) {
  ASSIGN_OR_RETURN(std::vector<store::AttemptRow> running, store::UnfinishedAttempts(db));
  for (const store::AttemptRow& attempt : running) effects.workers.insert(attempt.worker);
  return absl::OkStatus();
}

// What is asked for beside a specification.
struct How {
  std::optional<int> priority;
  bool aside = false;
  std::string by = {};
  std::string table = {};  // As the store keeps it; empty: one that is there stays.
};

// What a submission does to a sweep that is there, but for jobs that are to come.
absl::Status SubmitAgain(sql::Transaction& tx, const store::SweepRow& before, bool has_inputs, const How& how, int64_t most, WallTime now,
                         Effects& effects) {
  RETURN_IF_ERROR(store::SetSweepState(tx, before.num, SweepState::kLive));
  if (!how.aside) RETURN_IF_ERROR(store::SetSweepAsked(tx, before.num, now));
  if (how.priority) RETURN_IF_ERROR(store::SetSweepPriority(tx, before.num, *how.priority));
  if (!how.table.empty()) RETURN_IF_ERROR(store::SetSweepTable(tx, before.num, how.table));
  ASSIGN_OR_RETURN(const int given_up, store::ForgetGivenUp(tx, before.num));
  // Else its jobs are wanted, and none of them is cancelled.
  if (before.state != SweepState::kLive || how.priority || given_up > 0) RETURN_IF_ERROR(Settle(tx, before, most, now, effects).status());
  if (has_inputs) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> with_inputs, store::SweepJobsWithInputs(tx, before.num));
    for (const int64_t job : with_inputs) RETURN_IF_ERROR(SettleInputs(tx, job, effects));
  }
  effects.work = true;
  return NoteRunning(tx, effects);
}

// Adds the slice if its place is the next; it is not if somebody else, or this caller without having heard of it, has added it already.
absl::Status AddSlice(sql::Transaction& tx, const store::SweepRow& sweep, Slice& slice, Effects& effects) {
  if (sweep.to_come == 0 || sweep.there() != slice.first()) return absl::OkStatus();
  if (sweep.state == SweepState::kCancelled) {
    return absl::AbortedError(fmt::format("the sweep '{}' was cancelled while its jobs came, and {} of them are to come; submit it again to go on",
                                          sweep.name, sweep.to_come));
  }
  ASSIGN_OR_RETURN(const bool any_found, slice.Write(tx, sweep, effects));
  if (any_found) RETURN_IF_ERROR(NoteRunning(tx, effects));
  return absl::OkStatus();
}

}  // namespace

std::future<absl::Status> Engine::StartEvent(std::function<absl::Status(sql::Transaction&, Effects&)> apply, bool bulk) {
  auto promise = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> answer = promise->get_future();
  SubmitSteering(std::move(apply), [promise](const absl::Status& status) { promise->set_value(status); }, bulk);
  return answer;
}

// One call of SubmitSweep. Events may outlive it when the scheduler ends, so what they read and write is shared with them or theirs alone.
class Engine::Submission {
 public:
  Submission(Engine& engine, experiments::Expansion& sweep, const How& how)
      : engine_(engine),
        sweep_(sweep),
        most_(sweep.has_inputs() ? sweep.size() : engine.options_.jobs_in_slice),
        begin_(BeginOf(engine, sweep, how)),
        by_(how.by),
        counter_(!sweep.has_inputs()) {}

  // Makes the sweep, or asks for the one that is known again, and sees to all that is to follow and to come. What an error leaves, the engine goes on with.
  absl::Status Run(const std::optional<store::SweepRow>& known) {
    counted_ = !known;
    InFlight first = Start(known ? known->there() : 0, /*begins=*/true);
    if (const absl::Status status = Await(first); !status.ok()) return status;  // Nothing was written.
    created_ = first.written->created;
    state_before_ = first.written->state_before;
    absl::Status status;
    if (after_.unsettled_from) status = SettleTheRest();
    if (status.ok()) status = AddTheRest();
    if (status.ok()) return status;
    engine_.GoOnWith(after_.num);
    return GoesOn(fmt::format("the sweep '{}' is in the store, with {} of its {} jobs", after_.name, after_.there(), after_.counts.jobs()), status);
  }

  // After that.
  bool created() const { return created_; }
  // Nothing: it is new.
  std::optional<SweepState> state_before() const { return state_before_; }
  const store::SweepRow& sweep() const { return after_; }
  // Of all its jobs; null if others have written some.
  const PlanCounter* counter() const { return counted_ ? &counter_ : nullptr; }

 private:
  // What an event has come to.
  struct Written {
    bool created = false;
    std::optional<SweepState> state_before = {};
    store::SweepRow after;
  };
  struct InFlight {
    std::shared_ptr<Slice> slice;
    std::shared_ptr<Written> written;
    std::future<absl::Status> answer;
  };
  using Begin = std::function<absl::Status(sql::Transaction&, Effects&, Written&)>;

  static Begin BeginOf(Engine& engine, const experiments::Expansion& sweep, const How& how) {
    return [&engine, how, id = sweep.id().value, name = sweep.name(), spec = sweep.canonical(), size = sweep.size(),
            has_inputs = sweep.has_inputs()](sql::Transaction& tx, Effects& effects, Written& written) -> absl::Status {
      const WallTime now = engine.clock_.Wall();
      ASSIGN_OR_RETURN(const std::optional<store::SweepRow> before, store::FindSweep(tx, id));
      written.created = !before;
      if (before) written.state_before = before->state;
      if (before) return SubmitAgain(tx, *before, has_inputs, how, engine.options_.jobs_settled_in_slice, now, effects);
      return store::InsertSweep(tx, {.id = id, .name = name, .spec = spec, .priority = how.priority.value_or(0), .submitted_at = now, .jobs = size, .aside = how.aside,
                                     .table = how.table})
          .status();
    };
  }

  // An event for the jobs from `at` on. Makes them first, while others are written.
  InFlight Start(int64_t at, bool begins) {
    InFlight next{.slice = std::make_shared<Slice>(sweep_, at, most_), .written = std::make_shared<Written>(), .answer = {}};
    const bool bulk = sweep_.size() > most_;  // A small sweep waits for no other.
    next.answer = engine_.StartEvent([begin = begins ? begin_ : Begin(), slice = next.slice, written = next.written,
                                      id = sweep_.id().value, by = by_](sql::Transaction& tx, Effects& effects) -> absl::Status {
      if (begin) RETURN_IF_ERROR(begin(tx, effects, *written));
      ASSIGN_OR_RETURN(const std::optional<store::SweepRow> row, store::FindSweep(tx, id));
      if (!row) return absl::InternalError("a sweep's row is gone");
      if (begin) effects.news.push_back(SweepSubmitted(*row, written->created, by));
      RETURN_IF_ERROR(AddSlice(tx, *row, *slice, effects));
      ASSIGN_OR_RETURN(written->after, store::GetSweep(tx, row->num));
      return absl::OkStatus();
    }, bulk);
    return next;
  }

  absl::Status Await(InFlight& event) {
    RETURN_IF_ERROR(event.answer.get());
    after_ = event.written->after;
    if (event.slice->is_written()) event.slice->CountInto(counter_);
    else counted_ = false;
    return absl::OkStatus();
  }

  // Jobs that are there follow what the sweep has become.
  absl::Status SettleTheRest() {
    auto settled = std::make_shared<store::SweepRow>();
    auto promise = std::make_shared<std::promise<absl::Status>>();
    std::future<absl::Status> answer = promise->get_future();
    engine_.InSlices(
        [engine = &engine_, settled, num = after_.num](sql::Transaction& tx, Effects& effects) -> absl::StatusOr<bool> {
          ASSIGN_OR_RETURN(const bool more, SettleNext(tx, num, engine->options_.jobs_settled_in_slice, engine->clock_.Wall(), effects));
          ASSIGN_OR_RETURN(*settled, store::GetSweep(tx, num));
          return more;
        },
        /*remembered=*/true, [promise](const absl::Status& status) { promise->set_value(status); });
    RETURN_IF_ERROR(answer.get());
    after_ = *settled;
    return absl::OkStatus();
  }

  // Several events at a time. All are waited for, whatever becomes of one.
  absl::Status AddTheRest() {
    absl::Status status;
    std::deque<InFlight> in_flight;
    int64_t at = 0;
    bool ends = false;  // With the scheduler: what is under way comes to its end.
    while (status.ok() && !ends ? after_.to_come > 0 : !in_flight.empty()) {
      if (in_flight.empty()) at = after_.there();  // Another caller may have added some.
      while (status.ok() && !ends && at < sweep_.size() && in_flight.size() < engine_.options_.slices_in_flight) {
        in_flight.push_back(Start(at, /*begins=*/false));
        at = in_flight.back().slice->end();
      }
      const absl::Status answer = Await(in_flight.front());
      in_flight.pop_front();
      status.Update(answer);  // Behind one that failed no other has found its place.
      ends = engine_.memory_.Lock()->stopping;
    }
    if (ends && after_.to_come > 0) status.Update(BrokenOffByEnd(/*remembered=*/true));
    return status;
  }

  Engine& engine_;
  experiments::Expansion& sweep_;
  const int64_t most_;  // Jobs of an event.
  const Begin begin_;
  const std::string by_;
  PlanCounter counter_;
  bool counted_ = false;
  bool created_ = false;
  std::optional<SweepState> state_before_;
  store::SweepRow after_;
};

absl::StatusOr<v1::SubmitSweepResponse> Engine::SubmitSweep(const v1::SubmitSweepRequest& request, store::Store& store,
                                                            const std::function<bool()>& given_up, const std::string& by) {
  ASSIGN_OR_RETURN(experiments::Expansion sweep, experiments::Expansion::Of(request.spec(), options_.revisions));
  // Before anything is trained for it.
  std::string table;
  if (request.has_table()) {
    ASSIGN_OR_RETURN(table, TableToKeep(request.table(), request.spec(), sweep.kind().MainMetric()));
  }
  v1::SubmitSweepResponse response;
  std::optional<store::SweepRow> known;
  {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
    ASSIGN_OR_RETURN(known, store::FindSweep(snapshot, sweep.id().value));
    if (known && known->to_come == 0) {
      ASSIGN_OR_RETURN(*response.mutable_plan(), PlanOfSweep(snapshot, *known, board_.Read()));
    } else if (request.dry_run()) {
      ASSIGN_OR_RETURN(*response.mutable_plan(), MakePlan(snapshot, sweep, board_.Read(), given_up));
    }
  }
  const auto add_unused = [&] {
    for (const std::string& path : experiments::UnusedSettings(request.spec(), sweep)) response.mutable_plan()->add_unused(path);
  };
  if (request.dry_run()) {
    add_unused();
    return response;
  }

  Submission submission(*this, sweep, {.priority = request.has_priority() ? std::optional(request.priority()) : std::nullopt, .aside = request.aside(), .by = by, .table = table});
  RETURN_IF_ERROR(submission.Run(known));
  response.set_created(submission.created());
  if (submission.state_before()) response.set_state_before(std::string(Word(*submission.state_before())));
  *response.mutable_sweep() = ToSweep(submission.sweep());
  if (!response.has_plan()) {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
    if (const PlanCounter* counter = submission.counter(); counter != nullptr) {
      ASSIGN_OR_RETURN(*response.mutable_plan(), Estimated(snapshot, *counter, board_.Read()));
    } else {
      ASSIGN_OR_RETURN(*response.mutable_plan(), PlanOfSweep(snapshot, submission.sweep(), board_.Read()));
    }
  }
  add_unused();
  if (submission.created() && response.plan().hours() > 0) KeepExpectation(submission.sweep().num, response.plan().hours() * kSecondsPerHour, *response.mutable_sweep());
  return response;
}

void Engine::KeepExpectation(int64_t sweep, double seconds, v1::Sweep& told) {
  const store::Expectation expected{.seconds = seconds, .made_at = clock_.Wall()};
  const auto keep = [sweep, expected](sql::Transaction& tx, Effects&) { return store::SetSweepExpected(tx, sweep, expected); };
  if (!StartEvent(keep, /*bulk=*/false).get().ok()) return;  // The sweep is there, and goes on without.
  told.mutable_expected()->set_seconds(expected.seconds);
  *told.mutable_expected()->mutable_made_at() = ToTimestamp(expected.made_at);
}

void Engine::GoOnWith(int64_t sweep) {
  memory_.Lock()->unfinished.Set(sweep, clock_.Steady());
  wake_();
}

void Engine::NoteStalled(const store::SweepRow& sweep, const absl::Status& why) {
  const std::string_view text(why.message().data(), why.message().size());
  const std::string line(text.substr(0, text.find('\n')));
  if (!board_.SetStalled(sweep.num, line) || !options_.log) return;
  options_.log(fmt::format("the sweep '{}' ({}) stays as it is, with {} of its {} jobs, as this scheduler cannot make the others: {}; start the version that it was "
                           "submitted to, or end it with 'longreach cancel {}'",
                           sweep.name, ShortId(sweep.id), sweep.there(), sweep.counts.jobs(), line, ShortId(sweep.id)));
}

absl::StatusOr<bool> Engine::AddNextSlice(sql::Transaction& tx, int64_t num, Effects& effects) {
  ASSIGN_OR_RETURN(const store::SweepRow sweep, store::GetSweep(tx, num));
  if (sweep.to_come == 0 || sweep.state == SweepState::kCancelled) return false;
  if (!going_on_ || going_on_->first != num) {
    going_on_.reset();
    // What this program cannot expand (it was submitted to another version) stays as it is.
    absl::StatusOr<experiments::Expansion> expansion = experiments::ExpandStored(sweep.spec);
    if (!expansion.ok()) {
      NoteStalled(sweep, expansion.status());
      return false;
    }
    going_on_.emplace(num, *std::move(expansion));
  }
  Slice slice(going_on_->second, sweep.there(), going_on_->second.has_inputs() ? going_on_->second.size() : options_.jobs_in_slice);
  RETURN_IF_ERROR(AddSlice(tx, sweep, slice, effects));
  const bool more = slice.end() < going_on_->second.size();
  if (!more) going_on_.reset();
  return more;
}

}  // namespace longreach::service
