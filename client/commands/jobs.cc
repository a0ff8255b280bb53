#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/sweep_calls.h"
#include "client/commands/words_elsewhere.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/job.h"

namespace longreach::client {
namespace {

// For every page the scheduler reads the sweep's specification, with all of its seeds. With the longest reasons of failures, 1,000 bytes each, this many
// jobs are 6 MB, and an answer may have kMaxMessageBytes.
constexpr int kPage = 4000;

// Leaves so many of the best, the best first; of equal ones the first.
void KeepBest(size_t most, bool higher_is_better, std::vector<v1::Job>& jobs) {
  std::erase_if(jobs, [](const v1::Job& job) { return !job.has_score() || std::isnan(job.score()); });
  std::ranges::stable_sort(jobs, [higher_is_better](const v1::Job& a, const v1::Job& b) { return higher_is_better ? a.score() > b.score() : a.score() < b.score(); });
  if (jobs.size() > most) jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(most), jobs.end());
}

class Jobs final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "List the jobs of a sweep",
            .details = "SCORE is the main metric over all test lengths, as it is stored. The best of many jobs is partly the luckiest: 'longreach results'\n"
                       "has means over seeds.\n"
                       "SWEEP is a sweep's id, the beginning of one, its name, or 'last'.",
            .examples = "longreach jobs last --state failed,diverged\nlongreach jobs last --only encoding=rope,alibi --only seed=0\n"
                        "longreach jobs table-b1 --only task=even_pairs --best 5\nlongreach jobs table-b1 -o csv",
            .more_formats = kAllFormats};
  }
  void AddOptions(CLI::App& app) override {
    AddSweepArgument(app, sweep_, {.required = false});
    app.add_option("--state", state_, "Only jobs in one of these states: " + Join(ShownFilterWords(), ", "))->type_name("STATE[,STATE...]");
    AddOnlyJobsOption(app, only_);
    app.add_option("--limit", limit_, "At most this many; 0: all [0]")
        ->type_name("N")
        ->check(CheckCount);
    app.add_option("--best", best_, "Only so many with the best scores, the best first")->type_name("N")->check(CLI::Range(1, 1'000'000));
  }

  absl::StatusOr<int> Run(Session& session) override {
    if (best_ > 0 && (limit_ > 0 || !state_.empty())) {
      return UsageError(fmt::format("--best: names how many, of the jobs that have succeeded; {} is of no use beside it", limit_ > 0 ? "--limit" : "--state"), "leave one of the two out");
    }
    ASSIGN_OR_RETURN(const std::string states, AskedStates());
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    // JSON and CSV are written page by page: ten million jobs do not fit into memory. The first page comes before
    // the first byte, so that a refusal leaves stdout empty.
    const bool is_csv = session.settings().format == Format::kCsv && !session.settings().quiet;
    std::vector<v1::Job> all;
    int64_t count = 0;
    // What 'last' or a name stands for may change from one page to the next.
    ASSIGN_OR_RETURN(const v1::Sweep sweep, FindSweep(*connection, sweep_));
    if (best_ > 0) return PrintBest(session, *connection, sweep);
    v1::ListJobsRequest request;
    request.set_sweep(sweep.id());
    request.set_state(states);
    for (const std::string& only : only_) request.add_only(only);
    const int64_t most = limit_ == 0 ? std::numeric_limits<int64_t>::max() : limit_;
    const auto ask = [&] {
      request.set_limit(static_cast<int>(std::min<int64_t>(kPage, most - count)));
      return connection->Start(&Connection::Stub::ListJobs, request);
    };
    auto next = ask();
    for (bool is_first = true; next.valid(); is_first = false) {
      ASSIGN_OR_RETURN(v1::ListJobsResponse page, next.get());
      const bool is_list_begun = count > 0;
      count += page.jobs_size();
      request.set_page_token(page.next_page_token());
      // The next page is asked for while this one is written: a large sweep's pages are as much work here as there.
      if (!request.page_token().empty() && count < most) next = ask();
      if (session.json()) {
        if (is_first) session.out() << fmt::format("{{\"schema\":{},\"jobs\":[", JsonText(kJsonSchema));
        WriteJson(page, is_list_begun, session);
      } else if (session.settings().quiet) {
        for (const v1::Job& job : page.jobs()) session.out() << job.id() << "\n";
      } else {
        std::ranges::move(*page.mutable_jobs(), std::back_inserter(all));
      }
      if (is_csv) {
        session.out() << GridAsCsv(JobsGrid(all, true), is_first);
        all.clear();
      }
      if (!session.out()) break;  // Nobody reads on.
    }
    if (session.json()) {
      session.out() << "]}\n";
    } else if (!session.settings().quiet && !is_csv) {
      session.Print(JobsGrid(all, false), "jobs");
    }
    if (!request.page_token().empty() && session.out()) {
      session.Say(fmt::format("the first {}; --limit 0 shows all", Thousands(count)));
    }
    return kDone;
  }

 private:
  absl::StatusOr<int> PrintBest(Session& session, Connection& connection, const v1::Sweep& sweep) const {
    const catalog::Metric* const metric = catalog::FindMetric(catalog::MainMetric(sweep.spec().experiment()));
    if (metric == nullptr || metric->better == catalog::Better::kNeither) {
      return UsageError(fmt::format("--best: of the experiment kind '{}' neither higher nor lower scores are better", Printable(sweep.spec().experiment())), "leave it out");
    }
    v1::ListJobsRequest request;
    request.set_sweep(sweep.id());
    request.set_state("succeeded");
    request.set_limit(kPage);
    for (const std::string& only : only_) request.add_only(only);
    std::vector<v1::Job> jobs;
    do {
      ASSIGN_OR_RETURN(v1::ListJobsResponse page, connection.Call(&Connection::Stub::ListJobs, request));
      std::ranges::move(*page.mutable_jobs(), std::back_inserter(jobs));
      KeepBest(static_cast<size_t>(best_), metric->better == catalog::Better::kHigher, jobs);
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    if (jobs.empty()) session.Say("no job that is asked for has a score yet");
    if (session.json()) {
      v1::ListJobsResponse best;
      best.mutable_jobs()->Assign(jobs.begin(), jobs.end());
      session.out() << fmt::format("{{\"schema\":{},\"jobs\":[", JsonText(kJsonSchema));
      WriteJson(best, false, session);
      session.out() << "]}\n";
    } else if (session.settings().quiet) {
      for (const v1::Job& job : jobs) session.out() << job.id() << "\n";
    } else {
      session.Print(JobsGrid(jobs, session.settings().format == Format::kCsv), "jobs");
    }
    if (const int64_t open = OpenJobs(sweep); open > 0 && !jobs.empty()) {
      session.Say(fmt::format("note: {} of the sweep {} not finished, and may be better", Count(open, "job"), open == 1 ? "is" : "are"));
    }
    return kDone;
  }

  static void WriteJson(const v1::ListJobsResponse& page, bool is_list_begun, Session& session) {
    for (const v1::Job& job : page.jobs()) {
      session.out() << (is_list_begun ? "," : "") << JsonOf(job);
      is_list_begun = true;
    }
  }

  // By the words that the scheduler takes, which are a program's words here too: those of JSON.
  absl::StatusOr<std::string> AskedStates() const {
    if (state_.empty()) return "";
    const std::vector<std::string> known = JobFilterWords();
    std::vector<std::string> states;
    for (const std::string& state : Split(state_, ',')) {
      if (state.empty()) return UsageError(fmt::format("--state: '{}' has a ',' without a state", Printable(state_)), fmt::format("there are: {}", Join(ShownFilterWords(), ", ")));
      const auto meant = std::ranges::find_if(known, [&state](const std::string& word) { return word == state || ShownState(word) == state; });
      if (meant == known.end()) RETURN_IF_ERROR(CheckChoice("--state", state, ShownFilterWords(), MeantElsewhere(WordOf::kState, state)));
      states.push_back(meant == known.end() ? state : *meant);
    }
    return Join(states, ",");
  }

  std::string sweep_ = "last";
  std::string state_;
  std::vector<std::string> only_;
  int limit_ = 0;
  int best_ = 0;
};

}  // namespace

std::unique_ptr<Command> Make_jobs() { return std::make_unique<Jobs>(); }

}  // namespace longreach::client
