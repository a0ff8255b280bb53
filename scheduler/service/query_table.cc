#include "scheduler/service/query_table.h"

#include <algorithm>
#include <functional>

#include "proto/types/words.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/results_table.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

// The members of a sweep, or the makers of one of their inputs, at each of the lengths. Which system a job is of only members
// have.
absl::Status ReadJobs(sql::Connection& db, int64_t sweep, const std::string& input, const v1::TableSpec& spec,
                      const std::vector<int>& lengths, const std::vector<experiments::SystemRange>& systems,
                      const std::function<void(const TableJob&)>& use) {
  for (const int length : lengths) {
    const auto add = [&](const store::MeasuredJob& job) {
      use({.task = job.task,
           .encoding = ToText(EncodingName{job.encoding, job.randomized}),
           .learning_rate = job.learning_rate,
           .seed = job.seed,
           .state = job.state,
           .diverged = job.diverged,
           .value = job.value,
           .build = job.build,
           .length = length,
           .again = length != lengths.front(),
           .system = experiments::SystemAt(systems, job.position)});
    };
    RETURN_IF_ERROR(input.empty()
                        ? store::ForEachMeasuredMember(db, sweep, spec.metric(), length, spec.slice(), add)
                        : store::ForEachMeasuredMaker(db, sweep, input, spec.metric(), length, spec.slice(), add));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Table> GetTable(sql::Connection& db, const v1::GetTableRequest& request) {
  ASSIGN_OR_RETURN(store::SweepRow sweep, ResolveSweep(db, request.sweep()));
  ASSIGN_OR_RETURN(std::string main_metric, MainMetricOfSweep(sweep.spec));
  ASSIGN_OR_RETURN(ResultsTable table, ResultsTable::Of(request.table(), main_metric));
  const v1::TableSpec& spec = table.spec();
  std::vector<int> lengths = {spec.length()};
  if (table.ByLength()) {
    ASSIGN_OR_RETURN(lengths, TestLengthsOfSweep(sweep.spec));
  }
  ASSIGN_OR_RETURN(const std::vector<experiments::SystemRange> systems, SystemsOfSweep(sweep.spec));
  RETURN_IF_ERROR(ReadJobs(db, sweep.num, "", spec, lengths, systems, [&table](const TableJob& job) { table.Add(job); }));
  for (int column = 0; column < spec.extra_columns_size(); ++column) {
    if (!spec.extra_columns(column).input().empty()) {
      RETURN_IF_ERROR(ReadJobs(db, sweep.num, spec.extra_columns(column).input(), spec, lengths, {},
                               [&table, column](const TableJob& job) { table.AddExtra(column, job); }));
      continue;
    }
    // By name alone: of several, the one that was submitted last.
    ASSIGN_OR_RETURN(std::vector<std::string> named, store::SweepsNamed(db, spec.extra_columns(column).sweep()));
    if (named.empty()) {
      table.SetExtraMissing(column);
      continue;
    }
    ASSIGN_OR_RETURN(std::optional<store::SweepRow> other, store::FindSweep(db, named.front()));
    if (!other.has_value()) return absl::InternalError("a sweep went away within a snapshot");
    RETURN_IF_ERROR(ReadJobs(db, other->num, "", spec, lengths, {},
                             [&table, column](const TableJob& job) { table.AddExtra(column, job); }));
  }
  v1::Table built = table.Build();
  if (built.title().empty()) built.set_title(sweep.name);
  return built;
}

}  // namespace longreach::service
