#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/before_store.h"
#include "client/commands/command.h"
#include "client/commands/job_sample.h"
#include "client/commands/repeated_job.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/sweep_of_job.h"
#include "client/interrupt.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/private_folder.h"
#include "client/sweep_run.h"
#include "proto/base/instruction_sets.h"
#include "proto/base/text.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

// Of values that differ, to people; programs get all.
constexpr size_t kMostShown = 20;

// A job that is to be trained again: one that was asked for, or that makes an input of one.
struct Step {
  JobRecord recorded = {};
  v1::SweepSpec spec = {};  // Of it alone, with the jobs that make its inputs.
  bool asked = false;
  std::set<std::string> makers = {};  // The ids of all of those.
};

// And that was.
struct Verified {
  JobRecord recorded;
  JobRecord again;
  RepeatedJob values;
  std::vector<std::string> why = {};  // It may well have other bits.
};

// The engine that trained a job, or where this processor lacks that the best of its kind. GPUs' own engines are left to --device and --engine.
std::string EngineLike(const JobRecord& recorded) {
  constexpr std::string_view kLanes = "lanes-";
  const v1::AttemptInfo* by = recorded.Accepted();
  if (by == nullptr) return "";
  const std::string& engine = by->engine();
  if (engine == "libtorch") return engine;
  if (!engine.starts_with(kLanes)) return "";
  // "lanes-avx2-bf16".
  const size_t operands = std::min(engine.find('-', kLanes.size()), engine.size());
  const std::optional<InstructionSet> set = FindInstructionSet(std::string_view(engine).substr(kLanes.size(), operands - kLanes.size()));
  return set && RunsHere(*set) ? engine : "lanes" + engine.substr(operands);
}

std::string WhatItIs(const v1::Job& job) {
  return fmt::format("job {}: {} {}, learning rate {}, seed {}", ShortId(job.id()), job.task(), job.encoding(), ShortestNumber(job.learning_rate()), job.seed());
}

class Verify final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Train finished jobs again on this machine, and compare what they measured bit by bit",
            .details =
                "On one kind of processor and build an engine gives a job one result, whatever pack it is in, with any number of threads and\n"
                "however often it is stopped: another value means that a file, a machine or a program has changed. Each JOB is trained from its\n"
                "beginning, and so are the jobs that make its inputs, in a store that goes away, with the engine that had trained it. The\n"
                "store that is looked into is not changed. Exit code 0: every measurement and loss is the same; 1: some is not.\n"
                "Where engine, processor or build are others, that is said, and bits may differ. With --quiet only the ids of jobs that differ.",
            .examples = "longreach verify 1f3a --store b1.db\n"
                        "longreach verify --sample 3 --sweep table-b1\n"
                        "longreach verify 1f3a 77c0 --scratch again.db",
            .more_formats = {Format::kCsv, Format::kMarkdown}};
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("JOB", jobs_, "Their ids, or the beginnings of these")->check(WhyNoText);
    app.add_option("--sample", sample_, "Instead of JOB: so many finished jobs of a sweep, by chance")->type_name("N")->check(CLI::Range(1, 1'000'000));
    app.add_option("--sweep", sweep_, "What --sample draws from: a sweep's id, the beginning of one, its name, or 'last' [last]")->type_name("SWEEP")->check(WhyNoText);
    app.add_option("--draw", draw_, "Which sample: a number draws the same jobs each time, another one others [0]")->type_name("K")->check(CheckCount);
    app.add_option("--scratch", scratch_,
                   "The store to train them in, which is kept: after Ctrl-C the same command goes on, and what has been trained in it is not trained again "
                   "[one that goes away]")
        ->type_name("FILE");
    AddWorkerOptions(app, worker_options_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    RETURN_IF_ERROR(CheckJobs());
    std::error_code missing;
    const std::string& store = session.settings().store;
    if (!scratch_.empty() && (scratch_ == store || std::filesystem::equivalent(scratch_, store, missing))) {
      return UsageError("--scratch: the jobs are to be trained in another store than the one that has them", "name a file that is not there yet");
    }
    ASSIGN_OR_RETURN(const std::vector<Step> steps, Look(session));
    InterruptScope interrupt;  // What is made from here on goes away with us.
    ASSIGN_OR_RETURN(const PrivateFolder folder, PrivateFolder::Temporary());
    Settings settings = session.settings();
    settings.scheduler_named = false;
    settings.credentials = {};
    settings.store = scratch_.empty() ? (folder / "again.db").string() : scratch_;
    Session scratch(session.environment(), std::move(settings));
    if (!scratch_.empty()) {  // Else what would be made goes away by itself.
      ASSIGN_OR_RETURN(const std::optional<int> ended, TryWorkerBeforeStore(scratch, /*embed_by_default=*/false, WorkerFor(steps.front()), interrupt));
      if (ended.has_value()) return Interrupted(session, interrupt);
    }
    scratch.KeepStore();
    scratch.StopWaitingIf([&interrupt] { return interrupt.count() > 0; });
    const absl::StatusOr<Connection*> connected = scratch.Connect(StoreUse::kCreate);
    if (interrupt.count() > 0) return Interrupted(session, interrupt);
    ASSIGN_OR_RETURN(Connection * connection, connected);
    std::vector<Verified> verified;
    std::map<std::string, std::vector<std::string>> of_makers;  // Why what comes of them may well have other bits, by their ids.
    for (const Step& one : steps) {
      ASSIGN_OR_RETURN(const std::optional<int> ended, Train(session, scratch, *connection, interrupt, one));
      if (interrupt.count() > 0) return Interrupted(session, interrupt);
      if (ended.has_value()) return *ended;
      ASSIGN_OR_RETURN(JobRecord again, ReadRecord(*connection, one.recorded.job.job().id()));
      if (again.job.job().state() != "succeeded") {
        return Error(absl::StatusCode::kAborted,
                     fmt::format("job {} has succeeded before, and is {} now: {}", ShortId(again.job.job().id()), ShownState(again.job.job().state()),
                                 Printable(again.job.job().failure())),
                     scratch_.empty() ? "with --scratch FILE its log is kept" : fmt::format("'longreach logs {} --store {}' shows its log", ShortId(again.job.job().id()), ShellWord(scratch_)));
      }
      RepeatedJob values = Compare(one.recorded, again);
      std::vector<std::string> why;
      if (!values.Same()) why = WhyDifferent(one.recorded, again);
      if (!one.asked) {
        if (values.Same()) continue;
        const std::string id = ShortId(one.recorded.job.job().id());
        for (std::string& reason : why) reason = fmt::format("of job {}, which makes an input: {}", id, reason);
        if (why.empty()) why.push_back(fmt::format("job {}, which makes an input, has other values too: 'longreach verify {}{}' says which", id, id, WhereFlags(session)));
        of_makers.emplace(one.recorded.job.job().id(), std::move(why));
        continue;
      }
      for (const auto& [maker, reasons] : of_makers) {
        if (!values.Same() && one.makers.contains(maker)) why.insert(why.end(), reasons.begin(), reasons.end());
      }
      verified.push_back({.recorded = one.recorded, .again = std::move(again), .values = std::move(values), .why = std::move(why)});
      const bool for_people = !session.json() && session.settings().format == Format::kTable;
      if (!for_people) continue;
      if (!session.settings().quiet) PrintJob(session, verified.back());
      else if (!verified.back().values.Same()) session.out() << one.recorded.job.job().id() << "\n";
    }
    if (session.json()) PrintJson(session, verified);
    else if (session.settings().format != Format::kTable) PrintRows(session, verified);
    return std::ranges::all_of(verified, [](const Verified& one) { return one.values.Same(); }) ? kDone : kFailed;
  }

 private:
  absl::Status CheckJobs() const {
    if (sample_ > 0) {
      if (jobs_.empty()) return absl::OkStatus();
      return UsageError(fmt::format("--sample: draws jobs, and {} is named", Printable(jobs_.front())), "leave one of the two out");
    }
    if (jobs_.empty()) return UsageError("no job is named", "name some, or let '--sample N' draw N finished jobs of the last sweep");
    constexpr std::string_view kHint = "give '--sample N' in place of the jobs, or leave it out";
    if (!sweep_.empty()) return UsageError("--sweep: says what --sample draws from, which is not given", kHint);
    if (draw_.has_value()) return UsageError("--draw: says what --sample draws, which is not given", kHint);
    return absl::OkStatus();
  }

  // The sample, as the jobs that are asked for: a command that goes on names them, whatever is finished until then.
  absl::Status Draw(Session& look, Connection& connection) {
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(connection, sweep_.empty() ? "last" : sweep_));
    JobSample sample(static_cast<size_t>(sample_), static_cast<uint64_t>(draw_.value_or(0)));
    v1::ListJobsRequest request;
    request.set_sweep(sweep.id());
    request.set_state("succeeded");
    RETURN_IF_ERROR(ForEachJobPage(connection, request, [&sample](const v1::ListJobsResponse& page) {
      for (const v1::Job& job : page.jobs()) sample.Add(job.id());
      return absl::OkStatus();
    }));
    const std::string name = fmt::format("sweep {} {}", ShortId(sweep.id()), Printable(sweep.name()));
    if (sample.added() == 0) {
      return Error(absl::StatusCode::kFailedPrecondition, fmt::format("{} has no finished job to verify", name),
                   fmt::format("'longreach status {}{}' says how it gets on", ShortId(sweep.id()), WhereFlags(look)));
    }
    jobs_ = sample.Drawn();
    if (static_cast<int64_t>(jobs_.size()) == sample.added()) look.Say(fmt::format("{} has {}: all of them", name, Count(sample.added(), "finished job")));
    else look.Say(fmt::format("{} of {} of {}, those of --draw {}; another number draws others", Thousands(sample_), Count(sample.added(), "finished job"), name, draw_.value_or(0)));
    return absl::OkStatus();
  }

  // What is there of the jobs, and of those that make their inputs, which come first. The store that they are in is free again afterwards.
  absl::StatusOr<std::vector<Step>> Look(Session& session) {
    Session look(session.environment(), session.settings());
    look.OpenForAMoment();
    ASSIGN_OR_RETURN(Connection * connection, look.Connect(StoreUse::kToRead));
    if (sample_ > 0) RETURN_IF_ERROR(Draw(look, *connection));
    std::vector<Step> steps;
    for (const std::string& job : jobs_) RETURN_IF_ERROR(AddStep(look, *connection, job, /*asked=*/true, steps).status());
    return steps;
  }

  // With its makers in front of it; the ids of all of them and its own.
  static absl::StatusOr<std::set<std::string>> AddStep(Session& look, Connection& connection, const std::string& job, bool asked, std::vector<Step>& steps) {
    ASSIGN_OR_RETURN(JobRecord recorded, ReadRecord(connection, job));
    const v1::Job& of_it = recorded.job.job();
    if (asked && of_it.state() != "succeeded") {
      return Error(absl::StatusCode::kFailedPrecondition, fmt::format("job {} is {}: there is no result to verify", ShortId(of_it.id()), ShownState(of_it.state())),
                   fmt::format("'longreach explain {}{}' says what it waits for", ShortId(of_it.id()), WhereFlags(look)));
    }
    std::set<std::string> ids = {of_it.id()};
    const auto there = std::ranges::find_if(steps, [&of_it](const Step& one) { return one.recorded.job.job().id() == of_it.id(); });
    if (there != steps.end()) {
      there->asked |= asked;
      ids.insert(there->makers.begin(), there->makers.end());
      return ids;
    }
    Step step{.asked = asked};
    for (const v1::JobInput& input : recorded.job.spec().inputs()) {
      ASSIGN_OR_RETURN(const std::set<std::string> makers, AddStep(look, connection, input.job(), /*asked=*/false, steps));
      step.makers.insert(makers.begin(), makers.end());
    }
    ASSIGN_OR_RETURN(step.spec, SweepOfJob(connection, recorded.job.spec()));
    step.spec.set_name(fmt::format("verify-{}", ShortId(of_it.id())));
    ids.insert(step.makers.begin(), step.makers.end());
    step.recorded = std::move(recorded);
    steps.push_back(std::move(step));
    return ids;
  }

  // An exit code: it is not there yet.
  absl::StatusOr<std::optional<int>> Train(Session& session, Session& scratch, Connection& connection, InterruptScope& interrupt, const Step& step) const {
    const std::string& id = step.recorded.job.job().id();
    // The same specification is to be the same job here.
    v1::SubmitSweepRequest submit;
    *submit.mutable_spec() = step.spec;
    ASSIGN_OR_RETURN(const v1::SubmitSweepResponse submitted, connection.Call(&Connection::Stub::SubmitSweep, submit));
    v1::GetJobRequest request;
    request.set_job(id);
    const absl::StatusOr<v1::GetJobResponse> job = connection.Call(&Connection::Stub::GetJob, request);
    if (job.status().code() == absl::StatusCode::kNotFound) {
      // Or the next command on that store would train it.
      v1::SteerSweepRequest cancel;
      cancel.set_sweep(submitted.sweep().id());
      cancel.set_action(v1::SteerSweepRequest::ACTION_CANCEL);
      RETURN_IF_ERROR(connection.Call(&Connection::Stub::SteerSweep, cancel).status());
      return Error(absl::StatusCode::kFailedPrecondition,
                   fmt::format("what job {} says of itself is another job here: a revision of its task, encoding or model was raised since, or its specification was changed", ShortId(id)),
                   fmt::format("the build that trained it can verify it: {}", Printable(ComputedBy(step.recorded))));
    }
    RETURN_IF_ERROR(job.status());
    if (step.asked && job->job().state() == "succeeded") session.Say(fmt::format("job {} has been trained in {} before", ShortId(id), Printable(scratch_)));
    v1::SubmitSweepRequest submission;
    *submission.mutable_spec() = step.spec;
    SweepRun run(scratch, connection, interrupt, submission,
                 {.retry_failed = true, .worker = WorkerFor(step), .again = scratch_.empty() ? "" : CommandAgain(session)});
    return run.ToItsEnd();
  }

  WorkerOptions WorkerFor(const Step& step) const {
    WorkerOptions options = worker_options_;
    if (options.engine.empty() && options.device.empty()) options.engine = EngineLike(step.recorded);
    return options;
  }

  // But for options of the worker.
  std::string CommandAgain(Session& session) const {
    std::string command = "longreach verify";
    for (const std::string& job : jobs_) command += " " + ShellWord(job);
    command += " --scratch " + ShellWord(scratch_);
    return command + WhereFlags(session);
  }

  int Interrupted(Session& session, const InterruptScope& interrupt) const {
    if (scratch_.empty()) session.Say("nothing is kept of what was trained; with --scratch FILE the same command goes on");
    return interrupt.exit_code();
  }

  static void PrintJob(Session& session, const Verified& one) {
    const RepeatedJob& values = one.values;
    std::ostream& out = session.out();
    out << Printable(WhatItIs(one.recorded.job.job())) << "\n";
    out << fmt::format("  recorded  {}\n  again     {}\n", Printable(ComputedBy(one.recorded)), Printable(ComputedBy(one.again)));
    const std::string all = fmt::format("{} and {}", Count(values.measurements, "measurement"), values.losses == 1 ? "1 loss" : Thousands(values.losses) + " losses of training");
    if (values.Same()) {
      out << fmt::format("  {}: the same bits\n", all);
      return;
    }
    const auto losses = static_cast<size_t>(values.losses_different > 0);
    out << fmt::format("  of {} {} and {} differ\n", all, values.different.size() - losses, values.losses_different);
    if (values.diverged_differs) out << fmt::format("  it {} diverged before, and {} now\n", Diverged(one.recorded), Diverged(one.again));
    if (values.series_differ) out << "  its series differ\n";
    for (const std::string& why : one.why) out << "  " << Printable(why) << "\n";
    Grid grid = GridOf({one}, /*with_job=*/false);
    const size_t rows = grid.rows.size();
    grid.rows.resize(std::min(rows, kMostShown));
    if (rows > 0) out << "\n" << GridAsTable(grid, session.settings().color_out, session.environment().out_width());
    if (rows > kMostShown) out << fmt::format("and {} more; -o csv and -o json have all\n", Thousands(static_cast<int64_t>(rows - kMostShown)));
    out.flush();
  }

  static std::string_view Diverged(const JobRecord& record) { return record.job.job().diverged() ? "had" : "had not"; }

  static Grid GridOf(const std::vector<Verified>& verified, bool with_job) {
    Grid grid;
    grid.columns = {{"metric", "METRIC"}, {"length", "LENGTH", true}, {"slice", "SLICE"}, {"recorded", "RECORDED", true}, {"again", "AGAIN", true}, {"difference", "DIFFERENCE", true}};
    if (with_job) grid.columns.insert(grid.columns.begin(), GridColumn{"job", "JOB"});
    const auto number = [](std::optional<double> value) { return value.has_value() ? NumberCell(*value, fmt::format("{:.9g}", *value)) : MissingCell(); };
    for (const Verified& one : verified) {
      for (const DifferentValue& value : one.values.different) {
        std::vector<GridCell>& row = grid.rows.emplace_back();
        if (with_job) row.push_back({.value = one.recorded.job.job().id(), .shown = ShortId(one.recorded.job.job().id())});
        row.push_back(TextCell(value.metric));
        row.push_back(value.length == 0 ? NumberCell(0, "all") : NumberCell(value.length));
        row.push_back(TextCell(value.slice));
        row.push_back(number(value.recorded));
        row.push_back(number(value.again));
        const bool both = value.recorded.has_value() && value.again.has_value();
        row.push_back(both ? NumberCell(*value.again - *value.recorded, fmt::format("{:+.3g}", *value.again - *value.recorded)) : MissingCell());
      }
    }
    return grid;
  }

  // What is no value of a row goes beside them.
  static void PrintRows(Session& session, const std::vector<Verified>& verified) {
    session.Print(GridOf(verified, /*with_job=*/true), "different");
    for (const Verified& one : verified) {
      const std::string id = ShortId(one.recorded.job.job().id());
      if (one.values.diverged_differs) session.Say(fmt::format("job {} {} diverged before, and {} now", id, Diverged(one.recorded), Diverged(one.again)));
      if (one.values.series_differ) session.Say(fmt::format("the series of job {} differ", id));
    }
  }

  static void PrintJson(Session& session, const std::vector<Verified>& verified) {
    std::vector<std::string> jobs;
    for (const Verified& one : verified) {
      std::vector<std::string> why;
      for (const std::string& reason : one.why) why.push_back(JsonText(reason));
      const auto attempt = [](const JobRecord& record) { return record.Accepted() == nullptr ? "null" : JsonOf(*record.Accepted()); };
      const auto flag = [](bool value) { return value ? "true" : "false"; };
      jobs.push_back(fmt::format(
          R"({{"job":{},"same":{},"measurements":{},"losses":{},"losses_different":{},"series_differ":{},"diverged_differs":{},"recorded":{},"again":{},"why":[{}],"different":{}}})",
          JsonText(one.recorded.job.job().id()), flag(one.values.Same()), one.values.measurements, one.values.losses, one.values.losses_different,
          flag(one.values.series_differ), flag(one.values.diverged_differs), attempt(one.recorded), attempt(one.again), Join(why, ","), GridAsJson(GridOf({one}, false))));
    }
    session.out() << JsonDocument({{"jobs", "[" + Join(jobs, ",") + "]"}});
  }

  std::vector<std::string> jobs_;
  int sample_ = 0;  // 0: jobs are named.
  std::string sweep_;
  std::optional<int> draw_;
  std::string scratch_;
  WorkerOptions worker_options_;
};

}  // namespace

std::unique_ptr<Command> Make_verify() { return std::make_unique<Verify>(); }

}  // namespace longreach::client
