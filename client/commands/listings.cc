#include "client/commands/listings.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <string_view>

#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/types/job.h"

namespace longreach::client {

GridCell TimeCell(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return MissingCell();
  return {.value = google::protobuf::util::TimeUtil::ToString(time), .shown = HumanTime(time)};
}

Grid SweepsGrid(const std::vector<v1::Sweep>& sweeps, bool whole) {
  Grid grid;
  grid.columns = {{"id", "ID"},
                  {"name", "NAME"},
                  {"state", "STATE"},
                  {"priority", "PRIORITY", true},
                  {"jobs", "JOBS", true},
                  {"succeeded", "DONE", true},
                  {"leased", "RUNNING", true},
                  {"queued", "QUEUED", true},
                  {"waiting", "WAITING", true},
                  {"failed", "FAILED", true},
                  {"cancelled", "CANCELLED", true},
                  {"submitted_at", "SUBMITTED"}};
  for (const v1::Sweep& sweep : sweeps) {
    const v1::JobCounts& counts = sweep.counts();
    grid.rows.push_back({{.value = sweep.id(), .shown = ShortId(sweep.id())},
                         TextCell(sweep.name()),
                         TextCell(sweep.state()),
                         NumberCell(sweep.priority()),
                         NumberCell(sweep.jobs()),
                         NumberCell(counts.succeeded()),
                         NumberCell(counts.leased()),
                         NumberCell(counts.queued()),
                         NumberCell(counts.waiting()),
                         NumberCell(counts.failed()),
                         NumberCell(counts.cancelled()),
                         TimeCell(sweep.submitted_at())});
  }
  if (!whole) LeaveOutEmpty(grid, {"leased", "queued", "waiting", "failed", "cancelled"});
  return grid;
}

std::vector<std::string> ShownFilterWords() {
  std::vector<std::string> words = JobFilterWords();
  std::ranges::transform(words, words.begin(), ShownState);
  return words;
}

std::string SystemsText(const v1::Job& job) { return Join({job.systems().begin(), job.systems().end()}, ", "); }

Grid JobsGrid(const std::vector<v1::Job>& jobs, bool whole) {
  Grid grid;
  grid.columns = {{"id", "ID"},
                  {"task", "TASK"},
                  {"encoding", "ENCODING"},
                  {"learning_rate", "LEARNING RATE", true},
                  {"seed", "SEED", true},
                  {"state", "STATE"},
                  {"step", "STEP", true},
                  {"steps", "OF", true},
                  {"score", "SCORE", true},
                  {"failures", "FAILURES", true},
                  {"failure", "REASON"}};
  const bool systems = whole || std::ranges::any_of(jobs, [](const v1::Job& job) { return !job.systems().empty(); });
  const bool diverged = whole || std::ranges::any_of(jobs, &v1::Job::diverged);
  if (diverged) grid.columns.insert(std::ranges::find(grid.columns, "step", &GridColumn::key), GridColumn{"diverged", "DIVERGED"});
  if (systems) grid.columns.insert(grid.columns.begin() + 1, GridColumn{"system", "SYSTEM"});
  for (const v1::Job& job : jobs) {
    grid.rows.push_back(
        {{.value = job.id(), .shown = ShortId(job.id())},
         TextCell(job.task()),
         TextCell(job.encoding()),
         NumberCell(job.learning_rate()),
         NumberCell(job.seed()),
         {.value = job.state(), .shown = ShownState(job.state())},
         NumberCell(job.step()),
         NumberCell(job.steps()),
         job.has_score() ? NumberCell(job.score(), fmt::format("{:.4f}", job.score())) : MissingCell(),
         NumberCell(job.failures()),
         TextCell(job.failure())});
    std::vector<GridCell>& row = grid.rows.back();
    if (diverged) row.insert(row.begin() + 6, BoolCell(job.diverged()));  // After the state.
    if (systems) row.insert(row.begin() + 1, TextCell(SystemsText(job)));
  }
  if (!whole) LeaveOutEmpty(grid, {"failures", "failure"});
  return grid;
}

void PrintSweep(Session& session, const v1::Sweep& sweep) {
  if (session.json()) {
    session.out() << JsonDocument(sweep);
  } else if (session.settings().quiet) {
    session.out() << sweep.id() << "\n";
  } else {
    session.Print(SweepsGrid({sweep}, /*whole=*/false), "sweeps");
  }
}

}  // namespace longreach::client
