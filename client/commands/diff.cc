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
#include "client/commands/command.h"
#include "client/commands/repeated_job.h"
#include "client/commands/sweep_calls.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
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

// One of the two stores.
struct StoreAsked {
  Connection& connection;
  v1::ListDataSetsResponse data_sets;
};

absl::StatusOr<v1::GetJobResponse> JobOf(const StoreAsked& side, const std::string& id) {
  v1::GetJobRequest request;
  request.set_job(id);
  return side.connection.Call(&Connection::Stub::GetJob, request);
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
    AddOnlyOption(app, only_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    if (other_.empty()) return UsageError("OTHER: is empty", "name the other store's file");
    std::error_code missing;
    const std::string& own = session.settings().store;
    if (!own.empty() && (own == other_ || std::filesystem::equivalent(own, other_, missing))) return ComparedWithItself();
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
    const StoreAsked ours{here, std::move(sets_here)}, theirs{there, std::move(sets_there)};
    StoresCompared compared;
    v1::ListJobsRequest request;
    request.set_sweep(sweep.id());
    for (const std::string& only : only_) request.add_only(only);
    do {
      ASSIGN_OR_RETURN(const v1::ListJobsResponse page, here.Call(&Connection::Stub::ListJobs, request));
      for (const v1::Job& job : page.jobs()) RETURN_IF_ERROR(CompareJob(ours, job, theirs, compared));
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return compared;
  }

  static absl::Status CompareJob(const StoreAsked& here, const v1::Job& job, const StoreAsked& there, StoresCompared& compared) {
    absl::StatusOr<v1::GetJobResponse> other = JobOf(there, job.id());
    if (!other.ok() && other.status().code() != absl::StatusCode::kNotFound) return other.status();
    const bool is_here = job.state() == "succeeded", is_there = other.ok() && other->job().state() == "succeeded";
    if (!is_here || !is_there) {
      ++(is_here ? compared.only_here : is_there ? compared.only_there : compared.neither);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(v1::GetJobResponse own, JobOf(here, job.id()));
    ASSIGN_OR_RETURN(JobRecord ours, ReadRecord(here.connection, std::move(own), here.data_sets));
    ASSIGN_OR_RETURN(JobRecord theirs, ReadRecord(there.connection, *std::move(other), there.data_sets));
    KeepStepsOfBoth(ours, theirs);
    const RepeatedJob values = client::Compare(theirs, ours);  // Where files are compiled together, a command is called so too.
    if (values.Same()) {
      ++compared.same;
      return absl::OkStatus();
    }
    const int of_losses = values.losses_different > 0 ? 1 : 0;  // The first of them is among the others.
    compared.different.push_back({.here = job, .there = theirs.job.job(), .values = static_cast<int>(values.different.size()) - of_losses, .losses = values.losses_different,
                                  .series_differ = values.series_differ});
    std::vector<std::string> reasons = WhyDifferent(theirs, ours);
    if (reasons.empty()) ++compared.unexplained;
    for (std::string& reason : reasons) ++compared.reasons[std::move(reason)];
    return absl::OkStatus();
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
    const auto add = [&parts](int64_t jobs, const std::string& where) {
      if (jobs > 0) parts.push_back(fmt::format("{} {}", Thousands(jobs), where));
    };
    add(compared.only_here, "only here");
    add(compared.only_there, fmt::format("only in {}", Printable(other_)));
    add(compared.neither, "in neither");
    return parts.empty() ? "" : fmt::format("results of other jobs: {}", Join(parts, ", "));
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
