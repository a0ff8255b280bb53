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
#include <unordered_set>
#include <utility>
#include <vector>

#include "client/commands/arguments.h"
#include "client/commands/attempt_pages.h"
#include "client/commands/command.h"
#include "client/commands/repeated_job.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/sweep_records.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/shell_word.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

// A job whose results are not the same.
struct OtherResult {
  v1::Job here, there;
  int values = 0;  // Measurements that are not the same, or that one of them lacks.
  int losses = 0;
  bool series_differ = false;
};

struct StoresCompared {
  int64_t same = 0, only_here = 0, only_there = 0, neither = 0;
  std::vector<OtherResult> different;
  std::map<std::string, int64_t> reasons;  // And of how many jobs.
  int64_t unexplained = 0;                 // Of those that differ, those without a reason.
};

// The sweep's jobs, in order of expansion, and those among them that have a result.
struct ListedResults {
  std::vector<std::string> ids;
  std::unordered_set<std::string> succeeded;
};

absl::StatusOr<ListedResults> ListResults(Connection& connection, const std::string& sweep, const std::vector<std::string>& only) {
  ListedResults listed;
  v1::ListJobsRequest request;
  request.set_sweep(sweep);
  for (const std::string& one : only) request.add_only(one);
  RETURN_IF_ERROR(ForEachJobPage(connection, request, [&listed](const v1::ListJobsResponse& page) {
    for (const v1::Job& job : page.jobs()) {
      listed.ids.push_back(job.id());
      if (job.state() == "succeeded") listed.succeeded.insert(job.id());
    }
    return absl::OkStatus();
  }));
  return listed;
}

// Of losses a store keeps some, and which ones depends on how the training was interrupted.
void KeepStepsOfBoth(JobRecord& one, JobRecord& other) {
  const auto keep = [](std::vector<v1::Measurement>& losses, const std::vector<v1::Measurement>& others) {
    std::set<std::string> steps;
    for (const v1::Measurement& loss : others) steps.insert(loss.slice());
    std::erase_if(losses, [&steps](const v1::Measurement& loss) { return !steps.contains(loss.slice()); });
  };
  keep(one.losses, other.losses);
  keep(other.losses, one.losses);
}

// Of a store that somebody works on its own scheduler is asked, which may be the one that was named: all would be the same.
bool IsSameScheduler(const std::string& one, const std::string& other) {
  constexpr std::string_view kSocket = "unix:";
  if (one == other) return true;
  std::error_code missing;
  return one.starts_with(kSocket) && other.starts_with(kSocket) && std::filesystem::equivalent(one.substr(kSocket.size()), other.substr(kSocket.size()), missing);
}

class Diff final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Compare the results of a sweep's jobs with those of the same jobs in another store, bit by bit",
            .details =
                "A job is the same in any store, as its id is made of what it is. Of each job that has a result in both, all measurements, the losses\n"
                "at steps that both have, and files of series are compared; those that differ are listed, with what may explain it: another\n"
                "engine, device or build, other bytes of a data set. Neither store is changed. Exit code 0: all that both have are the same; 1: some\n"
                "are not, or there is none that both have. With --quiet only the ids of jobs that differ. 'longreach compare' says by how much two sweeps of one store differ.\n"
                "SWEEP is a sweep's id, the beginning of one, its name, or 'last'; the other store need not have it as a sweep.",
            .examples = "longreach diff table-b1 theirs.db --store mine.db\n"
                        "longreach diff last theirs.db --only task=even_pairs -o csv",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_);
    app.add_option("OTHER", other_, "The other store's file")->required()->check(WhyNoText);
    AddOnlyJobsOption(app, only_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    if (other_.empty()) return UsageError("OTHER: is empty", "name the other store's file");
    std::error_code missing;
    const std::string& own = session.settings().store;
    if (!own.empty() && (own == other_ || std::filesystem::equivalent(own, other_, missing))) return ComparedWithItself();
    if (!std::filesystem::exists(other_, missing) && !missing) {
      return Error(absl::StatusCode::kNotFound, fmt::format("there is no store '{}'", Printable(other_)),
                   fmt::format("name the other store's file; of two sweeps in one store, 'longreach compare {} {}' says by how much they differ", ShellWord(sweep_), ShellWord(other_)));
    }
    ASSIGN_OR_RETURN(Connection * here, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*here, sweep_));
    Settings settings = session.settings();
    settings.scheduler_named = false;
    settings.credentials = {};
    settings.store = other_;
    Session others(session.environment(), std::move(settings));
    ASSIGN_OR_RETURN(Connection * there, others.Connect(StoreUse::kToRead));
    if (IsSameScheduler(here->address(), there->address())) return ComparedWithItself();
    ASSIGN_OR_RETURN(const StoresCompared compared, CompareJobs(*here, sweep, *there));
    Print(session, sweep, compared);
    // Where nothing could be compared, a script is not told that all is the same.
    return compared.different.empty() && compared.same > 0 ? kDone : kFailed;
  }

 private:
  absl::Status ComparedWithItself() const { return UsageError(fmt::format("'{}' is the store that is looked into, too", Printable(other_)), "name another one"); }

  absl::StatusOr<StoresCompared> CompareJobs(Connection& here, const v1::Sweep& sweep, Connection& there) const {
    const v1::ListDataSetsRequest all;
    ASSIGN_OR_RETURN(v1::ListDataSetsResponse sets_here, here.Call(&Connection::Stub::ListDataSets, all));
    ASSIGN_OR_RETURN(v1::ListDataSetsResponse sets_there, there.Call(&Connection::Stub::ListDataSets, all));
    // All results are known before values are asked for: a page of these may reach far ahead, and has nothing of a job that succeeds behind it.
    ASSIGN_OR_RETURN(const ListedResults ours, ListResults(here, sweep.id(), only_));
    ASSIGN_OR_RETURN(const OtherResults others, ResultsThere(there, sweep, ours));
    StoresCompared compared;
    std::vector<std::string> both;
    for (const std::string& id : ours.ids) {
      const bool is_here = ours.succeeded.contains(id), is_there = others.succeeded.contains(id);
      if (is_here && is_there) both.push_back(id);
      else ++(is_here ? compared.only_here : is_there ? compared.only_there : compared.neither);
    }
    SweepRecords records_here(here, std::move(sets_here), both, sweep.id(), only_);
    SweepRecords records_there(there, std::move(sets_there), both, others.are_of_sweep ? sweep.id() : "", only_);
    for (size_t i = 0; i < both.size(); ++i) {
      ASSIGN_OR_RETURN(JobRecord own, records_here.Next());
      ASSIGN_OR_RETURN(JobRecord other, records_there.Next());
      CompareJob(std::move(own), std::move(other), compared);
    }
    return compared;
  }

  struct OtherResults {
    std::unordered_set<std::string> succeeded;
    bool are_of_sweep = false;  // The other store has the sweep, with all of its jobs.
  };

  // A sweep's id is the same in any store, as its jobs' are. Where the other one does not have it, it is asked for the jobs by their names.
  absl::StatusOr<OtherResults> ResultsThere(Connection& there, const v1::Sweep& sweep, const ListedResults& here) const {
    const absl::StatusOr<v1::Sweep> same = FindSweep(there, sweep.id());
    if (!same.ok() && same.status().code() != absl::StatusCode::kNotFound) return same.status();
    if (same.ok()) {
      ASSIGN_OR_RETURN(ListedResults listed, ListResults(there, sweep.id(), only_));
      // There some may be to be written yet, which another of its sweeps may have.
      if (listed.ids == here.ids) return OtherResults{.succeeded = std::move(listed.succeeded), .are_of_sweep = true};
    }
    OtherResults found;
    for (size_t first = 0; first < here.ids.size(); first += kMostNamedJobs) {
      v1::ListAttemptsRequest request;
      for (size_t place = first; place < std::min(first + kMostNamedJobs, here.ids.size()); ++place) request.add_jobs(here.ids[place]);
      RETURN_IF_ERROR(ForEachJobAttempts(there, std::move(request), [&found](const v1::JobAttempts& job) {
        if (job.job().state() == "succeeded") found.succeeded.insert(job.job().id());
        return absl::OkStatus();
      }));
    }
    return found;
  }

  static void CompareJob(JobRecord ours, JobRecord theirs, StoresCompared& compared) {
    KeepStepsOfBoth(ours, theirs);
    const RepeatedJob values = client::Compare(theirs, ours);  // Where files are compiled together, a command is called so too.
    if (values.Same()) {
      ++compared.same;
      return;
    }
    const int of_losses = values.losses_different > 0 ? 1 : 0;  // The first of them is among the others.
    compared.different.push_back({.here = ours.job.job(), .there = theirs.job.job(), .values = static_cast<int>(values.different.size()) - of_losses,
                                  .losses = values.losses_different, .series_differ = values.series_differ});
    std::vector<std::string> reasons = WhyDifferent(theirs, ours);
    if (reasons.empty()) ++compared.unexplained;
    for (std::string& reason : reasons) ++compared.reasons[std::move(reason)];
  }

  static Grid Rows(const StoresCompared& compared) {
    Grid grid;
    grid.columns = {{"job", "JOB"},          {"task", "TASK"},           {"encoding", "ENCODING"},           {"learning_rate", "LEARNING RATE", true}, {"seed", "SEED", true},
                    {"here", "HERE", true},  {"there", "THERE", true},   {"measurements", "MEASUREMENTS", true}, {"losses", "LOSSES", true},
                    {"series_differ", "SERIES DIFFER"}};
    const auto score = [](const v1::Job& job) {
      return job.has_score() ? NumberCell(job.score(), fmt::format("{:.9g}", job.score())) : job.diverged() ? GridCell{.value = "null", .shown = "diverged", .is_raw = true} : MissingCell();
    };
    for (const OtherResult& one : compared.different) {
      grid.rows.push_back({{.value = one.here.id(), .shown = ShortId(one.here.id())},
                           TextCell(one.here.task()),
                           TextCell(one.here.encoding()),
                           NumberCell(one.here.learning_rate(), ShortestNumber(one.here.learning_rate())),
                           NumberCell(one.here.seed()),
                           score(one.here),
                           score(one.there),
                           NumberCell(one.values),
                           NumberCell(one.losses),
                           BoolCell(one.series_differ)});
    }
    return grid;
  }

  // What there is to say of those that cannot be compared; "": nothing.
  std::string OfTheRest(const StoresCompared& compared) const {
    std::vector<std::string> parts;
    const auto add = [&parts](int64_t jobs, const std::string& what) {
      if (jobs > 0) parts.push_back(fmt::format("{} {} {}", Thousands(jobs), jobs == 1 ? "has" : "have", what));
    };
    add(compared.only_here, "one only here");
    add(compared.only_there, fmt::format("one only in {}", Printable(other_)));
    add(compared.neither, "none in either");
    return parts.empty() ? "" : fmt::format("jobs without a result in both: {}", Join(parts, ", "));
  }

  void Print(Session& session, const v1::Sweep& sweep, const StoresCompared& compared) const {
    const Grid grid = Rows(compared);
    if (session.json()) {
      std::vector<std::string> reasons;
      for (const auto& [reason, jobs] : compared.reasons) reasons.push_back(JsonText(reason));
      const auto count = [](int64_t jobs) { return JsonNumber(static_cast<double>(jobs)); };
      session.out() << JsonDocument({{"sweep", JsonText(sweep.id())},
                                     {"other", JsonText(other_)},
                                     {"same", count(compared.same)},
                                     {"different", count(static_cast<int64_t>(compared.different.size()))},
                                     {"only_here", count(compared.only_here)},
                                     {"only_there", count(compared.only_there)},
                                     {"neither", count(compared.neither)},
                                     {"reasons", "[" + Join(reasons, ",") + "]"},
                                     {"unexplained", count(compared.unexplained)},
                                     {"jobs", GridAsJson(grid)}});
      return;
    }
    if (session.settings().quiet) {
      for (const OtherResult& one : compared.different) session.out() << one.here.id() << "\n";
      return;
    }
    const auto different = static_cast<int64_t>(compared.different.size());
    const std::string summary = fmt::format("{} and {}: {} with a result in both, {} of them the same bits", Printable(sweep.name()), Printable(other_), Count(compared.same + different, "job"),
                                            Thousands(compared.same));
    const bool for_people = session.settings().format == Format::kTable;
    if (for_people) session.out() << summary << "\n";
    else session.Say(summary);
    if (different > 0 || !for_people) {
      if (for_people) session.out() << "\n";
      session.Print(grid, "jobs");
    }
    if (const std::string rest = OfTheRest(compared); !rest.empty()) session.Say("note: " + rest);
    if (compared.same + different == 0) session.Say("nothing was compared: no job that is asked for has a result in both");
    for (const auto& [reason, jobs] : compared.reasons) session.Say(fmt::format("of {}: {}", Count(jobs, "job"), Printable(reason)));
    if (compared.unexplained > 0) {
      session.Say(fmt::format("{}nothing that is recorded explains it; 'longreach verify JOB' trains one again, and says which of the two it is",
                              compared.unexplained < different ? fmt::format("of {}: ", Count(compared.unexplained, "job")) : ""));
    }
  }

  std::string sweep_;
  std::string other_;
  std::vector<std::string> only_;
};

}  // namespace

std::unique_ptr<Command> Make_diff() { return std::make_unique<Diff>(); }

}  // namespace longreach::client
