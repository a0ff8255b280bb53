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
  TableJob job;  // The same for all of them: neighbours have most of their texts in common.
  std::optional<EncodingName> encoding;
  for (const int length : lengths) {
    job.length = length;
    job.again = length != lengths.front();
    const auto add = [&](const store::MeasuredJob& measured) {
      if (job.task != measured.task) job.task = measured.task;
      if (!encoding || encoding->name != measured.encoding || encoding->randomized != measured.randomized) {
        encoding = EncodingName{std::string(measured.encoding), measured.randomized};
        job.encoding = ToText(*encoding);
      }
      if (job.build != measured.build) job.build = measured.build;
      job.learning_rate = measured.learning_rate;
      job.seed = measured.seed;
      job.state = measured.state;
      job.diverged = measured.diverged;
      job.value = measured.value;
      job.system = experiments::SystemAt(systems, measured.position);
      use(job);
    };
    RETURN_IF_ERROR(input.empty()
                        ? store::ForEachMeasuredMember(db, sweep, spec.metric(), length, spec.slice(), add)
                        : store::ForEachMeasuredMaker(db, sweep, input, spec.metric(), length, spec.slice(), add));
  }
  return absl::OkStatus();
}

// Those of the tests, whether or not anything was measured yet; of what is measured elsewhere, as by bins of positions, where it was.
absl::StatusOr<std::vector<int>> LengthsOf(sql::Connection& db, int64_t sweep, const v1::SweepSpec& sweep_spec, const v1::TableSpec& spec) {
  ASSIGN_OR_RETURN(std::vector<int> of_tests, TestLengthsOfSweep(sweep_spec));
  ASSIGN_OR_RETURN(std::vector<int> measured, store::MeasuredLengths(db, sweep, spec.metric(), spec.slice()));
  return std::ranges::includes(of_tests, measured) ? of_tests : measured;
}

}  // namespace

absl::StatusOr<v1::Table> GetTable(sql::Connection& db, const v1::GetTableRequest& request) {
  ASSIGN_OR_RETURN(store::SweepRow sweep, ResolveSweep(db, request.sweep()));
  ASSIGN_OR_RETURN(const v1::SweepSpec sweep_spec, SpecOf(sweep));
  ASSIGN_OR_RETURN(std::string main_metric, MainMetricOfSweep(sweep_spec));
  ASSIGN_OR_RETURN(ResultsTable table, ResultsTable::Of(request.table(), main_metric));
  const v1::TableSpec& spec = table.spec();
  std::vector<int> lengths = {spec.length()};
  if (table.ByLength()) {
    ASSIGN_OR_RETURN(lengths, LengthsOf(db, sweep.num, sweep_spec, spec));
  }
  const std::vector<experiments::SystemRange> systems = experiments::SystemRanges(sweep_spec);
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
  RETURN_IF_ERROR(table.CheckOnly());
  v1::Table built = table.Build();
  if (built.title().empty()) built.set_title(sweep.name);
  return built;
}

}  // namespace longreach::service
