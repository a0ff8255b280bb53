#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/attempt_pages.h"
#include "client/commands/axis_columns.h"
#include "client/commands/command.h"
#include "client/commands/device_time.h"
#include "client/commands/listings.h"
#include "client/commands/paired_values.h"
#include "client/commands/suggestions.h"
#include "client/commands/sweep_calls.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

std::string ValueOfAxis(const v1::Job& job, std::string_view axis) {
  if (axis == "system") return SystemsText(job);
  if (axis == "task") return job.task();
  if (axis == "encoding") return job.encoding();
  return axis == "learning_rate" ? ShortestNumber(job.learning_rate()) : std::to_string(job.seed());
}

// To a tenth, so that rows add up to what is said of all; of long ones hours, by which papers count.
std::string DeviceTimeText(double seconds) {
  if (seconds > 0 && seconds < 0.0995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 99.5) return fmt::format("{:.1f} s", seconds);
  return seconds < 99.5 * 60 ? fmt::format("{:.1f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}
GridCell SecondsCell(double seconds) { return NumberCell(seconds, DeviceTimeText(seconds)); }

// "1 attempt has", "2 attempts have".
std::string Attempts(int64_t number, std::string_view of_one, std::string_view of_many) { return fmt::format("{} {}", Count(number, "attempt"), number == 1 ? of_one : of_many); }

bool HasInputs(const v1::SweepSpec& spec) {
  return !spec.inputs().empty() || std::ranges::any_of(spec.systems(), [](const v1::System& system) { return !system.with().inputs().empty(); });
}

class Cost final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Say how long devices have worked on a sweep's jobs: for each kind of device, encoding or the like",
            .details =
                "TIME is that of devices, from the leases of a sweep's jobs to their ends: of GPUs GPU time, of CPUs that of the machine, or of what a\n"
                "worker may use of it, whatever its threads. What is trained on one device at a time has its time divided equally among the packs, by\n"
                "whichever workers, and a pack's time is divided among its jobs. OF RESULTS is the part of the attempts whose results count, each of which has EACH on average; the rest\n"
                "failed, was lost, stopped (what goes on from a checkpoint has its first part there), or runs still and is counted until its\n"
                "worker was last heard of. So is what was lost with a worker that never came back; with one that did, until that was noticed.\n"
                "Jobs that make inputs are counted with the sweep that needs them only where they are its own, and a job that several sweeps have is counted with each.\n"
                "Of packs of another sweep that were trained there at the same time nothing is known here: their part of it is counted, too.\n"
                "As csv and json times are seconds, and the row of all is left out, as who adds up a column would count each twice; json has it as 'total'.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples = "longreach cost table-b1\n"
                        "longreach cost table-b1 --by encoding\n"
                        "longreach cost last --by system,task -o csv",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_, {.required = false});
    AddByOption(app, by_, "none: a row for each kind of device");
  }

  absl::StatusOr<int> Run(Session& session) override {
    RETURN_IF_ERROR(CheckBy(by_));
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
    ASSIGN_OR_RETURN(const v1::GetInfoResponse info, connection->Call(&Connection::Stub::GetInfo, v1::GetInfoRequest()));
    ASSIGN_OR_RETURN(const v1::ListWorkersResponse workers, connection->Call(&Connection::Stub::ListWorkers, v1::ListWorkersRequest()));
    std::map<std::string, double> seen_s;
    for (const v1::WorkerInfo& worker : workers.workers()) {
      if (worker.has_seen_at()) seen_s.emplace(worker.id(), SecondsOf(worker.seen_at()));
    }
    DeviceTime time(SecondsOf(info.now()), std::move(seen_s));
    RETURN_IF_ERROR(Read(*connection, sweep, time));
    Print(session, sweep, time);
    return kDone;
  }

 private:
  absl::Status Read(Connection& connection, const v1::Sweep& sweep, DeviceTime& time) const {
    v1::ListAttemptsRequest request;
    request.set_sweep(sweep.id());
    return ForEachJobAttempts(connection, std::move(request), [&](const v1::JobAttempts& job) -> absl::Status {
      std::vector<std::string> values;
      for (const std::string& axis : by_) values.push_back(ValueOfAxis(job.job(), axis));
      time.Add(std::move(values), job.attempts());
      return absl::OkStatus();
    });
  }

  static std::vector<GridColumn> NumberColumns() {
    return {{"jobs", "JOBS", true},
            {"attempts", "ATTEMPTS", true},
            {"results", "RESULTS", true},
            {"seconds", "TIME", true},
            {"result_seconds", "OF RESULTS", true},
            {"seconds_per_result", "EACH", true}};
  }
  static void AddNumbers(const SpentTime& one, std::vector<GridCell>& row) {
    for (const int64_t number : {one.jobs, one.attempts, one.results}) row.push_back(NumberCell(static_cast<double>(number), Thousands(number)));
    row.push_back(SecondsCell(one.seconds));
    row.push_back(SecondsCell(one.result_seconds));
    row.push_back(one.results > 0 ? SecondsCell(one.result_seconds / static_cast<double>(one.results)) : MissingCell());
  }

  // With a row for all of them where people read it. A program that adds up a column would count each twice.
  Grid Rows(const DeviceTime& time, bool with_total) const {
    Grid grid;
    for (const std::string& axis : by_) grid.columns.push_back(AxisColumn(axis));
    grid.columns.push_back({"device", "DEVICE"});
    const std::vector<GridColumn> numbers = NumberColumns();
    grid.columns.insert(grid.columns.end(), numbers.begin(), numbers.end());
    std::vector<SpentTime> rows = time.Rows();
    if (with_total && rows.size() > 1) rows.push_back(time.Total());
    for (const SpentTime& one : rows) {
      std::vector<GridCell>& row = grid.rows.emplace_back();
      for (size_t i = 0; i <= by_.size(); ++i) {
        if (one.values.empty()) {
          row.push_back(MissingCell());
          row.back().shown = i == 0 ? "all" : " ";
        } else {
          row.push_back(AxisCell(grid.columns[i], one.values[i]));
        }
      }
      AddNumbers(one, row);
    }
    return grid;
  }

  std::string RowsAsJson(const DeviceTime& time) const {
    Grid total;
    total.columns = NumberColumns();
    AddNumbers(time.Total(), total.rows.emplace_back());
    const std::string list = GridAsJson(total);  // Of one row.
    return JsonDocument({{"rows", GridAsJson(Rows(time, false))}, {"total", list.substr(1, list.size() - 2)}});
  }

  void Print(Session& session, const v1::Sweep& sweep, const DeviceTime& time) const {
    const Format format = session.settings().format;
    const std::string title = fmt::format("{}: time of devices, {} of {} done", sweep.name(), Thousands(sweep.counts().succeeded()), Count(sweep.jobs(), "job"));
    if (format == Format::kTable) session.out() << Printable(title) << "\n\n";
    if (format == Format::kMarkdown) session.out() << EscapeMarkdown(title) << "\n\n";
    if (format == Format::kLatex) session.out() << "% " << Printable(title) << "\n";
    if (format == Format::kJson) session.out() << RowsAsJson(time);
    else session.Print(Rows(time, format != Format::kCsv), "rows");
    if (time.running() > 0) session.Say(fmt::format("note: {} last heard of", Attempts(time.running(), "has not ended, and is counted until its worker was", "have not ended, and are counted until their workers were")));
    if (const SpentTime unsure = time.Unsure(); unsure.attempts > 0) {
      session.Say(fmt::format("note: {} of all TIME is of {} fell silent is not known", DeviceTimeText(unsure.seconds),
                              Attempts(unsure.attempts, "that was lost, counted until that was noticed: when its worker", "that were lost, counted until that was noticed: when their workers")));
    }
    if (const int64_t unknown = time.OnUnknownDevices(); unknown > 0) {
      session.Say(fmt::format("note: {} of workers that do not say which device of its kind they have: each of these is counted as a device of its own", Attempts(unknown, "is", "are")));
    }
    if (HasInputs(sweep.spec())) session.Say("note: jobs that make inputs are counted here where they are the sweep's own alone");
    if (time.Total().jobs == 0) session.Say(fmt::format("none of its jobs has been begun; 'longreach explain JOB{}' says why", WhereFlags(session)));
  }

  std::string sweep_ = "last";
  std::vector<std::string> by_;
};

}  // namespace

std::unique_ptr<Command> Make_cost() { return std::make_unique<Cost>(); }

}  // namespace longreach::client
