#include <fmt/format.h>

#include <optional>
#include <set>

#include "client/commands/common.h"
#include "client/commands/outcome.h"
#include "client/interrupt.h"
#include "client/output/json.h"
#include "client/output/progress.h"
#include "client/output/results_table.h"
#include "client/output/text.h"
#include "client/watcher.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// How often a run without running jobs asks its workers why.
constexpr seconds kAskWorkersEvery{2};

class RunCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupRun,
        .summary = "Run a sweep on this machine to its end, and print its table",
        .details =
            "Starts a scheduler and a worker for this one command. Everything is kept in the store [./longreach.db]: after\n"
            "Ctrl-C the same command goes on where it was, and finished jobs are never run again. Ctrl-C once writes a\n"
            "checkpoint, twice ends at once. Where a scheduler is named (--scheduler, LONGREACH_SCHEDULER or the config file)\n"
            "the sweep is submitted to it and watched instead.\n"
            "SPEC is a preset ('longreach list presets') or a YAML file whose fields are those of a SweepSpec\n"
            "(docs/reference/sweep-files.md). --set replaces an axis (task, encoding, learning_rate, seed) or a field\n"
            "(training.steps); lists have ',' between their values, and ranges of whole numbers are a..b.",
        .examples =
            "longreach run quickstart\n"
            "longreach run table-b1 --store b1.db --set training.steps=1000 --set seed=0\n"
            "longreach run sweep.yaml --device cuda",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    spec_.AddTo(app);
    app.add_flag("--published", published_, "Print published values in parentheses behind the measured ones");
    app.add_option("--device", worker_options_.device,
                   "Device of the worker: cpu or cuda [the worker's choice]")
        ->type_name("DEVICE")
        ->check(CLI::IsMember({"cpu", "cuda"}));
    app.add_option("--data-folder", worker_options_.data_folder,
                   "Where the worker's data sets lie [LONGREACH_DATA, else ~/.local/share/longreach/data]")
        ->type_name("DIR");
    app.add_option("--threads", worker_options_.threads, "Threads of the worker [all cores]")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    app.add_option("--pack-limit", worker_options_.pack_limit,
                   "The most jobs that are trained together [the worker's]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
    app.add_option("--checkpoint-every-s", worker_options_.checkpoint_every_s,
                   "Seconds between checkpoints [60]")
        ->type_name("S")
        ->check(CLI::PositiveNumber);
  }

  absl::StatusOr<int> Run(Session& session) override;

 private:
  absl::StatusOr<int> RunSweep(Session& session, Connection& connection, InterruptScope& interrupt);
  absl::StatusOr<v1::Sweep> Submit(Session& session, Connection& connection);
  // Has the worker's program look for the sweep's data sets, and make those that it can. An exit code: one is missing.
  absl::StatusOr<std::optional<int>> EnsureData(Session& session);
  // Until the sweep has ended, the user ends it, or it cannot go on. An exit code ends the run without a
  // table.
  absl::StatusOr<std::optional<int>> Follow(Session& session, Connection& connection,
                                            InterruptScope& interrupt, v1::Sweep& sweep);
  // Why nothing can go on, if so: a child has died, or the scheduler gives our worker nothing any more.
  absl::Status CheckChildren(Session& session);
  absl::Status CheckWorkers(Connection& connection, ProgressView& view);
  int Interrupted(Session& session, InterruptScope& interrupt, const v1::Sweep& sweep);
  void StopWorker(InterruptScope& interrupt);
  absl::Status PrintResults(Session& session, Connection& connection, const v1::Sweep& sweep);

  SpecArguments spec_;
  bool published_ = false;
  WorkerOptions worker_options_;

  SweepFile file_;
  std::optional<Process> worker_;
  Clock::time_point workers_asked_;
  std::string told_reason_;
};

absl::StatusOr<int> RunCommand::Run(Session& session) {
  ASSIGN_OR_RETURN(file_, spec_.Load());
  ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kCreate, /*embed_by_default=*/true));
  InterruptScope interrupt;
  const absl::StatusOr<int> code = RunSweep(session, *connection, interrupt);
  // The worker before the scheduler: it still has something to hand in.
  StopWorker(interrupt);
  worker_.reset();
  return code;
}

absl::StatusOr<int> RunCommand::RunSweep(Session& session, Connection& connection,
                                         InterruptScope& interrupt) {
  ASSIGN_OR_RETURN(v1::Sweep sweep, Submit(session, connection));
  if (session.embedded() != nullptr && !AllSucceeded(sweep)) {
    ASSIGN_OR_RETURN(const std::optional<int> missing, EnsureData(session));
    if (missing.has_value()) return *missing;
    ASSIGN_OR_RETURN(Process worker,
                     StartWorker(session.environment().binaries, session.embedded()->address(),
                                 session.store(), worker_options_));
    worker_.emplace(std::move(worker));
  }
  ASSIGN_OR_RETURN(const std::optional<int> ended, Follow(session, connection, interrupt, sweep));
  if (ended.has_value()) return *ended;
  // Nothing is left to train; the worker ends while the table is made.
  if (worker_.has_value()) worker_->CloseInput();
  RETURN_IF_ERROR(PrintResults(session, connection, sweep));
  const int code = ReportOutcome(session, connection, sweep);
  session.Say(fmt::format("'longreach results {}{}' prints the table again", ShortId(sweep.id()),
                          WhereFlags(session)));
  return code;
}

absl::StatusOr<std::optional<int>> RunCommand::EnsureData(Session& session) {
  std::set<std::string> names;
  if (!file_.spec.data().empty()) {
    names.insert(file_.spec.data());
  } else {
    // The data set of a task that reads one goes by the task's name.
    for (const std::string& task : file_.spec.axes().task()) {
      if (catalog::FindDataTask(task) != nullptr) names.insert(task);
    }
  }
  for (const std::string& name : names) {
    std::vector<std::string> arguments = {"data", "ensure", name};
    if (!worker_options_.data_folder.empty()) arguments.insert(arguments.end(), {"--data-folder", worker_options_.data_folder});
    if (session.settings().quiet) arguments.emplace_back("--quiet");
    session.out().flush();
    ASSIGN_OR_RETURN(const int code, RunAttached(session.environment().binaries / "longreach-worker", arguments));
    if (code != 0) return std::optional<int>(code == kNotFound ? kNotFound : kFailed);
  }
  return std::optional<int>();
}

absl::StatusOr<v1::Sweep> RunCommand::Submit(Session& session, Connection& connection) {
  v1::SubmitSweepRequest request;
  *request.mutable_spec() = file_.spec;
  ASSIGN_OR_RETURN(const v1::SubmitSweepResponse response,
                   connection.Call(&Connection::Stub::SubmitSweep, request, std::chrono::minutes(10)));
  const v1::Sweep& sweep = response.sweep();
  session.Say(fmt::format(
      "sweep {} {}: {}, {} done{}", ShortId(sweep.id()), Printable(sweep.name()),
      Count(response.plan().jobs(), "job"), Thousands(response.plan().done()),
      session.embedded() != nullptr ? fmt::format("; store {}", Printable(session.store())) : ""));
  if (sweep.state() != "paused") return sweep;
  // Whoever types `run` wants it to run.
  v1::SteerSweepRequest resume;
  resume.set_sweep(sweep.id());
  resume.set_action(v1::SteerSweepRequest::ACTION_RESUME);
  session.Say("it was paused and goes on now");
  return connection.Call(&Connection::Stub::SteerSweep, resume);
}

absl::StatusOr<std::optional<int>> RunCommand::Follow(Session& session, Connection& connection,
                                                      InterruptScope& interrupt, v1::Sweep& sweep) {
  const Environment& environment = session.environment();
  std::ostream silent(nullptr);
  ProgressView view(session.settings().quiet ? silent : *environment.err,
                    {.terminal = environment.err_is_terminal && !session.settings().quiet,
                     .color = session.settings().color_err,
                     .width = environment.width});
  // A scheduler of our own does not come back.
  SweepWatcher watcher(connection, sweep.id(), session.embedded() != nullptr ? seconds(0) : seconds(600));
  v1::SweepUpdate last;
  while (true) {
    const SweepWatcher::Event event = watcher.Next(interrupt, milliseconds(500));
    switch (event.kind) {
      case SweepWatcher::Event::Kind::kTick: break;
      case SweepWatcher::Event::Kind::kInterrupt:
        view.Finish();
        return Interrupted(session, interrupt, sweep);
      case SweepWatcher::Event::Kind::kLost:
        view.Say(fmt::format("lost the scheduler at {}; trying again", connection.address()));
        break;
      case SweepWatcher::Event::Kind::kUpdate:
        last = event.update;
        sweep = last.sweep();
        view.Show(last);
        break;
      case SweepWatcher::Event::Kind::kEnded:
        view.Finish();
        // The stream breaks a moment before the process is gone; its own words say more.
        if (!event.status.ok() && session.embedded() != nullptr) {
          session.embedded()->process().WaitFor(seconds(2));
        }
        RETURN_IF_ERROR(CheckChildren(session));
        RETURN_IF_ERROR(event.status);
        return std::optional<int>();
    }
    if (last.finished()) continue;
    if (absl::Status status = CheckChildren(session); !status.ok()) {
      view.Finish();
      return status;
    }
    if (worker_.has_value() && last.running().empty() && Clock::now() - workers_asked_ > kAskWorkersEvery) {
      workers_asked_ = Clock::now();
      if (absl::Status status = CheckWorkers(connection, view); !status.ok()) {
        view.Finish();
        return status;
      }
    }
  }
}

absl::Status RunCommand::CheckChildren(Session& session) {
  if (session.embedded() != nullptr && !session.embedded()->process().Running()) {
    return Error(absl::StatusCode::kAborted,
                 fmt::format("the scheduler ended: {}",
                             LastWords(session.embedded()->process(), "longreach-scheduler")),
                 "what was finished is kept in the store; the same command goes on");
  }
  if (worker_.has_value() && !worker_->Running()) {
    return Error(absl::StatusCode::kAborted,
                 fmt::format("the worker ended: {}", LastWords(*worker_, "longreach-worker")),
                 "what was finished is kept in the store; the same command goes on");
  }
  return absl::OkStatus();
}

absl::Status RunCommand::CheckWorkers(Connection& connection, ProgressView& view) {
  const absl::StatusOr<v1::ListWorkersResponse> response =
      connection.Call(&Connection::Stub::ListWorkers, v1::ListWorkersRequest(), seconds(10));
  if (!response.ok()) return absl::OkStatus();  // The stream tells about the scheduler's health.
  bool any_useful = false;
  bool any_put_aside = false;
  std::string reason;
  for (const v1::WorkerInfo& worker : response->workers()) {
    if (worker.state() == "gone") continue;
    if (worker.state() == "put_aside") any_put_aside = true;
    if (worker.state() != "put_aside") any_useful = true;
    if (!worker.reason().empty()) reason = worker.reason();
  }
  if (any_put_aside && !any_useful) {
    return Error(
        absl::StatusCode::kAborted, fmt::format("the worker gets no more work: {}", Printable(reason)),
        "'longreach jobs last --store FILE' shows the jobs and their failures; the same command tries again");
  }
  if (!reason.empty() && reason != told_reason_) {
    view.Say(fmt::format("the worker gets no work: {}", Printable(reason)));
    told_reason_ = reason;
  }
  return absl::OkStatus();
}

void RunCommand::StopWorker(InterruptScope& interrupt) {
  if (!worker_.has_value()) return;
  const int before = interrupt.count();
  worker_->CloseInput();
  // It ends by itself once its checkpoint is handed in; the user may cut that short.
  const Clock::time_point end = Clock::now() + std::chrono::minutes(5);
  while (!worker_->WaitFor(milliseconds(100)) && interrupt.count() == before && Clock::now() < end) {
  }
  if (worker_->Running()) worker_->Kill();
  worker_->WaitFor(seconds(5));
}

int RunCommand::Interrupted(Session& session, InterruptScope& interrupt, const v1::Sweep& sweep) {
  if (session.embedded() == nullptr) {
    session.Say(fmt::format("the sweep goes on at {}; 'longreach watch {}{}' follows it",
                            session.settings().scheduler, ShortId(sweep.id()), WhereFlags(session)));
    return interrupt.exit_code();
  }
  session.Say("stopping after a checkpoint; Ctrl-C again stops at once");
  StopWorker(interrupt);
  session.Say(fmt::format("{} of {} done, and everything is kept. To go on:\n  longreach run {}{}",
                          Thousands(sweep.counts().succeeded()), Count(sweep.jobs(), "job"),
                          spec_.CommandLine(), WhereFlags(session)));
  return interrupt.exit_code();
}

absl::Status RunCommand::PrintResults(Session& session, Connection& connection, const v1::Sweep& sweep) {
  v1::TableSpec table = file_.has_table ? file_.table : TableOfPreset(sweep.name());
  CompleteTable(sweep.name(), table);
  ASSIGN_OR_RETURN(const v1::Table measured, FetchTable(connection, sweep.id(), table));
  if (session.json()) {
    session.out() << JsonDocument({{"sweep", JsonOf(sweep)}, {"table", JsonOf(measured)}});
  } else {
    session.out() << RenderResults(measured, table, session.settings().format,
                                   {.published = published_, .color = session.settings().color_out});
  }
  session.out().flush();
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Command> Make_run() { return std::make_unique<RunCommand>(); }

}  // namespace longreach::client
