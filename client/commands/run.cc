#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "client/commands/before_store.h"
#include "client/commands/command.h"
#include "client/commands/measured_table.h"
#include "client/commands/outcome.h"
#include "client/commands/parts_output.h"
#include "client/commands/spec_arguments.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/tables.h"
#include "client/data_fit.h"
#include "client/interrupt.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/spec/parts.h"
#include "client/sweep_run.h"
#include "client/watcher.h"

namespace longreach::client {
namespace {

// Whether a table tells systems apart: else a cell is the best of them.
bool ShowsSystems(const v1::TableSpec& table) {
  const auto chooses = [](const std::string& only) { return only.starts_with("system="); };
  return IsBy(table, "system") || std::ranges::any_of(table.only(), chooses);
}

class RunCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupRun,
        .summary = "Run a sweep on this machine to its end, and print its table",
        .details =
            "Starts a scheduler and a worker for this one command. Everything is kept in the store [./longreach.db]: after\n"
            "Ctrl-C the same command goes on where it was, and finished jobs are never run again; those that have failed are\n"
            "with --retry-failed. Ctrl-C once writes a checkpoint, twice ends at once. Where a scheduler is named (--scheduler,\n"
            "LONGREACH_SCHEDULER or the config file) the sweep is submitted to it and watched instead.\n"
            "SPEC is a preset ('longreach list presets') or a YAML file whose fields are those of a SweepSpec\n"
            "(docs/reference/sweep-files.md). --set replaces an axis (task, encoding, learning_rate, seed) or a field\n"
            "(training.steps); lists have ',' between their values, ranges are a..b of whole numbers and a..b:STEP (0.1..0.5:0.1).\n"
            "A list for a field of one value (model.layers=2,4) makes a grid: one system for each value, or for each combination\n"
            "where several fields have lists.",
        .examples =
            "longreach run quickstart\n"
            "longreach run table-b1 --store b1.db --set training.steps=1000 --set seed=0\n"
            "longreach run quickstart --set model.layers=1..3 --set training.batch_size=32,64\n"
            "longreach run sweep.yaml --device cuda",
        .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    spec_.AddTo(app);
    app.add_flag("--published", published_, "Print published values in parentheses behind the measured ones");
    app.add_flag("--retry-failed", retry_failed_, "Run jobs that have failed once more");
    AddWorkerOptions(app, worker_options_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(const std::vector<LoadedSweep> sweeps, spec_.Load());
    ASSIGN_OR_RETURN(std::optional<int> missing, CheckBeforeStore(session, sweeps));
    if (missing.has_value()) return *missing;
    session.KeepStore();
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kCreate, /*embed_by_default=*/true));
    RETURN_IF_ERROR(CheckWorkerOptions(session, worker_options_));
    ASSIGN_OR_RETURN(const std::vector<v1::Plan> plans, CheckParts(*connection, sweeps));
    InterruptScope interrupt;
    if (session.embedded() != nullptr && !data_seen_to_) {
      ASSIGN_OR_RETURN(missing, EnsureAll(session, sweeps, plans, interrupt));
      if (missing.has_value()) return *missing;
    }
    PartsOutput output(session, sweeps.size() > 1);
    int code = kDone;
    for (const LoadedSweep& one : sweeps) {
      // While the table before was printed, or its worker ended.
      if (interrupt.count() > 0) return interrupt.exit_code();
      SweepRun run(session, *connection, interrupt, SubmissionOf(one.file),
                   {.retry_failed = retry_failed_, .worker = worker_options_, .again = RunLine(spec_, WhereFlags(session))});
      const absl::StatusOr<std::optional<int>> ended = run.ToItsEnd();
      if (!ended.ok()) return one.file.places.WithPlace(ended.status());
      if (ended->has_value()) return **ended;
      const v1::Sweep& sweep = run.sweep();
      RETURN_IF_ERROR(PrintResults(session, *connection, one.file, sweep, output));
      code = std::max(code, ReportOutcome(session, *connection, sweep));
      session.Say(fmt::format("'longreach results {}{}' prints the table again", ShortId(sweep.id()), WhereFlags(session)));
    }
    if (session.json()) output.Finish();
    return code;
  }

 private:
  // The exit code of a sweep that cannot run here, where that is seen before a store is made for it.
  absl::StatusOr<std::optional<int>> CheckBeforeStore(Session& session, const std::vector<LoadedSweep>& sweeps);
  // Hours of one part are not for nothing because another's data are missing.
  absl::StatusOr<std::optional<int>> EnsureAll(Session& session, const std::vector<LoadedSweep>& sweeps, const std::vector<v1::Plan>& plans,
                                               const InterruptScope& interrupt);
  absl::Status PrintResults(Session& session, Connection& connection, const SweepFile& file, const v1::Sweep& sweep, PartsOutput& output);

  SpecArguments spec_;
  bool published_ = false;
  bool retry_failed_ = false;
  WorkerOptions worker_options_;
  bool data_seen_to_ = false;  // Those of all parts, before a store was made.
};

absl::StatusOr<std::optional<int>> RunCommand::CheckBeforeStore(Session& session, const std::vector<LoadedSweep>& sweeps) {
  ASSIGN_OR_RETURN(const std::vector<v1::Plan> plans, PlansBeforeStore(session, /*embed_by_default=*/true, sweeps));
  data_seen_to_ = plans.size() == sweeps.size();
  const InterruptScope interrupt;  // Not of what comes next: there is nothing to keep yet when a scheduler starts.
  // Before the data, whose import may take long. Where no store is yet there is always something to run.
  ASSIGN_OR_RETURN(const std::optional<int> ended, TryWorkerBeforeStore(session, /*embed_by_default=*/true, worker_options_, interrupt));
  if (ended.has_value()) {
    if (interrupt.count() > 0) session.Say(kBeforeAnyJob);
    return ended;
  }
  return EnsureAll(session, sweeps, plans, interrupt);
}

absl::StatusOr<std::optional<int>> RunCommand::EnsureAll(Session& session, const std::vector<LoadedSweep>& sweeps, const std::vector<v1::Plan>& plans,
                                                         const InterruptScope& interrupt) {
  const bool of_each = plans.size() == sweeps.size();  // Else what the data sets are is asked when each sweep is submitted.
  std::map<std::string, std::string> sets;
  for (size_t i = 0; i < plans.size(); ++i) sets.merge(DataSetsOf(of_each ? sweeps[i].file.spec : v1::SweepSpec(), plans[i]));
  ASSIGN_OR_RETURN(const std::optional<int> missing, EnsureData(session, sets, worker_options_, interrupt));
  if (missing.has_value() || !of_each) return missing;
  for (size_t i = 0; i < plans.size(); ++i) {
    const absl::StatusOr<std::optional<int>> ended = CheckDataFits(session, sweeps[i].file.spec, plans[i], worker_options_, interrupt);
    if (!ended.ok()) {
      const absl::Status refusal = sweeps[i].file.places.WithPlace(ended.status());
      return sweeps.size() > 1 ? InPart(refusal, sweeps[i]) : refusal;
    }
    if (ended->has_value()) return ended;
  }
  return std::optional<int>();
}

absl::Status RunCommand::PrintResults(Session& session, Connection& connection, const SweepFile& file, const v1::Sweep& sweep, PartsOutput& output) {
  ASSIGN_OR_RETURN(const v1::Sweep whole, FindSweep(connection, sweep.id()));  // Updates lack the specification.
  if (!file.has_table) SayTableTrouble(session, whole);
  v1::TableSpec table = file.has_table ? file.table : UsualTable(whole);
  RETURN_IF_ERROR(CompleteTable(connection, whole, table));
  ASSIGN_OR_RETURN(const v1::Table measured, FetchMeasuredTable(session, connection, whole, table, published_));
  PartsOutput::Members members = {{"sweep", JsonOf(sweep)}, {"table", JsonOf(measured)}};
  if (output.several()) members.insert(members.begin(), {"name", JsonText(sweep.name())});  // As of each part that another command prints.
  if (session.json()) output.Add(members);
  else PrintMeasuredTable(session, output, whole, measured, table, {.published = published_});
  session.out().flush();
  if (!file.grid.empty() && !ShowsSystems(table)) {
    session.Say(fmt::format("'longreach results {} --rows system{}' has a row for each system of the grid", ShortId(sweep.id()), WhereFlags(session)));
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Command> Make_run() { return std::make_unique<RunCommand>(); }

}  // namespace longreach::client
