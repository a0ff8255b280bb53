#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/commands/suggestions.h"
#include "client/output/grid.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

GridCell Doing(const v1::WorkerInfo& worker) {
  if (worker.running().empty()) return MissingCell();
  const v1::RunningAttempt& first = worker.running(0);
  std::string text = fmt::format("{} {} x{} {}/{}", first.task(), first.encoding(), first.members(),
                                 first.step(), first.steps());
  if (worker.running_size() > 1) text += fmt::format(" and {} more", worker.running_size() - 1);
  // Of the phases the one that somebody should do something about.
  const auto waiting = std::ranges::count(worker.running(), Word(AttemptPhase::kWaitingForDisk), &v1::RunningAttempt::phase);
  if (waiting > 0) text += worker.running_size() == 1 ? fmt::format(", {}", Word(AttemptPhase::kWaitingForDisk)) : fmt::format(", {} of these waiting for its disk", waiting);
  return TextCell(text);
}

GridCell DamagedData(const v1::WorkerInfo& worker) {
  std::vector<std::string> names;
  for (const v1::DamagedDataSet& damaged : worker.damaged_data_sets()) names.push_back(damaged.name());
  return names.empty() ? MissingCell() : TextCell(Join(names, ", "));
}

// What was found, once for all workers that say the same, as those do whose machines share a folder.
void SayWhatIsDamaged(Session& session, const v1::ListWorkersResponse& response) {
  constexpr size_t kMostLines = 20;
  std::vector<std::string> found;
  std::map<std::string, std::vector<std::string>> workers;
  for (const v1::WorkerInfo& one : response.workers()) {
    for (const v1::DamagedDataSet& damaged : one.damaged_data_sets()) {
      const std::string text = fmt::format("the data set '{}' is damaged: {}", damaged.name(), damaged.reason());
      std::vector<std::string>& said_by = workers[text];
      if (said_by.empty()) found.push_back(text);
      said_by.push_back(fmt::format("'{}'", one.name()));
    }
  }
  for (size_t i = 0; i < std::min(found.size(), kMostLines); ++i) {
    const std::vector<std::string>& names = workers[found[i]];
    session.Say(Printable(fmt::format("{} {}: {}", names.size() == 1 ? "worker" : "workers", JoinSome(names), found[i])));
  }
  if (found.size() > kMostLines) session.Say(fmt::format("and {} more; 'longreach workers -o json' has all reasons", found.size() - kMostLines));
}

class Workers final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "List the workers and what they do",
            .details = "Those that are there, and those that are gone but called in the 7 days before the last call of any. Attempts name the\n"
                       "others too ('longreach job JOB').\n"
                       "A worker gets no job that reads a data set which it has found damaged; those are named, each with what was found.\n"
                       "With --waiting a number instead: of packs whose jobs could start at once and that nobody trains. So many more workers would\n"
                       "have work, if they are able to do it, as a script asks that starts them (docs/howto/slurm.md).",
            .examples = "longreach workers\nlongreach workers --waiting",
            .more_formats = kAllFormats};
  }

  void AddOptions(CLI::App& app) override { app.add_flag("--waiting", waiting_, "Print only how many packs wait for a worker"); }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    v1::ListWorkersRequest request;
    request.set_count_waiting(waiting_);
    ASSIGN_OR_RETURN(v1::ListWorkersResponse response, connection->Call(&Connection::Stub::ListWorkers, request));
    if (waiting_ && !response.has_packs_waiting()) {
      return Error(absl::StatusCode::kUnimplemented, "the scheduler is of an older build, which does not count the packs that wait", "'longreach version' says which build it is");
    }
    for (v1::WorkerInfo& one : *response.mutable_workers()) one.set_reason(WithFlags(one.reason(), session));
    if (session.json()) {
      session.out() << JsonDocument(response);
      return kDone;
    }
    if (waiting_) {
      session.out() << response.packs_waiting() << "\n";
      return kDone;
    }
    Grid grid;
    grid.columns = {{"id", "ID"},
                    {"name", "NAME"},
                    {"state", "STATE"},
                    {"device", "DEVICE"},
                    {"threads", "THREADS", true},
                    {"pack_limit", "PACK LIMIT", true},
                    {"seen_at", "SEEN"},
                    {"running", "DOES"},
                    {"reason", "REASON"}};
    // People hardly ever need it; programs find their columns where they were.
    const bool with_damaged = session.settings().format == Format::kCsv ||
                              std::ranges::any_of(response.workers(), [](const v1::WorkerInfo& one) { return !one.damaged_data_sets().empty(); });
    if (with_damaged) grid.columns.push_back({"damaged_data_sets", "DAMAGED DATA"});
    for (const v1::WorkerInfo& one : response.workers()) {
      if (session.settings().quiet) {
        session.out() << one.id() << "\n";
        continue;
      }
      grid.rows.push_back({{.value = one.id(), .shown = ShortId(one.id())},
                           TextCell(one.name()),
                           TextCell(one.state()),
                           TextCell(one.device()),
                           NumberCell(one.threads()),
                           NumberCell(one.pack_limit()),
                           TimeCell(one.seen_at()),
                           Doing(one),
                           TextCell(one.reason())});
      if (with_damaged) grid.rows.back().push_back(DamagedData(one));
    }
    if (session.settings().quiet) return kDone;
    session.Print(grid, "workers");
    if (session.settings().format == Format::kTable) SayWhatIsDamaged(session, response);
    if (!response.store_trouble().empty()) {
      // Another worker would not be known either.
      session.Say(fmt::format("{}, so that workers that have come meanwhile are not known; it goes on by itself", Printable(response.store_trouble())));
    } else if (grid.rows.empty()) {
      session.Say(!session.store().empty() ? "no worker has come yet; 'longreach run' has one of its own" : fmt::format("no worker has come yet; start one with {}", WorkerToStart(session.settings())));
    }
    return kDone;
  }

 private:
  bool waiting_ = false;
};

}  // namespace

std::unique_ptr<Command> Make_workers() { return std::make_unique<Workers>(); }

}  // namespace longreach::client
