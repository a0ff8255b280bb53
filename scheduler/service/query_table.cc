#include "scheduler/service/query_table.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>

#include "proto/types/words.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/results_table.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

using UseJob = std::function<void(const TableJob&)>;

// Jobs as a table sees them, from rows of the store: neighbours have most of their texts in common.
class JobMaker {
 public:
  explicit JobMaker(std::span<const experiments::SystemRange> systems) : systems_(systems) {}

  TableJob& Of(const store::MeasuredJob& measured) {
    if (job_.task != measured.task) job_.task = measured.task;
    if (!encoding_ || encoding_->name != measured.encoding || encoding_->randomized != measured.randomized) {
      encoding_ = EncodingName{std::string(measured.encoding), measured.randomized};
      job_.encoding = ToText(*encoding_);
    }
    if (job_.build != measured.build) job_.build = measured.build;
    job_.learning_rate = measured.learning_rate;
    job_.seed = measured.seed;
    job_.state = measured.state;
    job_.diverged = measured.diverged;
    job_.value = measured.value;
    job_.system = experiments::SystemAt(systems_, measured.position);
    return job_;
  }

 private:
  std::span<const experiments::SystemRange> systems_;
  TableJob job_;
  std::optional<EncodingName> encoding_;
};

// The members of a sweep, or the makers of one of their inputs. Which system a job is of only members have.
struct Jobs {
  int64_t sweep = 0;
  std::string input = {};
  std::span<const experiments::SystemRange> systems = {};
};

absl::Status ForEach(sql::Connection& db, const Jobs& jobs, const v1::TableSpec& spec, int length,
                     const std::function<void(const store::MeasuredJob&)>& use) {
  return jobs.input.empty() ? store::ForEachMeasuredMember(db, jobs.sweep, spec.metric(), length, spec.slice(), use)
                            : store::ForEachMeasuredMaker(db, jobs.sweep, jobs.input, spec.metric(), length, spec.slice(), use);
}

// With the values of one length.
absl::Status ReadAtOne(sql::Connection& db, const Jobs& jobs, const v1::TableSpec& spec, const UseJob& use) {
  JobMaker maker(jobs.systems);
  return ForEach(db, jobs, spec, spec.length(), [&](const store::MeasuredJob& measured) { use(maker.Of(measured)); });
}

// With all lengths of its values for each job that is `wanted`, none for the others.
absl::Status ReadValues(sql::Connection& db, const Jobs& jobs, const v1::TableSpec& spec, const std::function<bool(const TableJob&)>& wanted,
                        const std::function<void(TableJob&, std::span<const store::LengthValue>)>& use) {
  JobMaker maker(jobs.systems);
  absl::Status status;
  RETURN_IF_ERROR(ForEach(db, jobs, spec, 0, [&](const store::MeasuredJob& measured) {
    TableJob& job = maker.Of(measured);
    if (!status.ok()) return;
    if (!wanted(job)) return use(job, {});
    absl::StatusOr<std::vector<store::LengthValue>> values = store::ValuesAtLengths(db, measured.num, spec.metric(), spec.slice());
    if (!values.ok()) status = values.status();
    else use(job, *values);
  }));
  return status;
}

// Once with each of `lengths`.
absl::Status ReadAtEach(sql::Connection& db, const Jobs& jobs, const v1::TableSpec& spec, std::span<const int> lengths,
                        const std::function<bool(const TableJob&)>& wanted, const UseJob& use) {
  return ReadValues(db, jobs, spec, wanted, [&](TableJob& job, std::span<const store::LengthValue> values) {
    size_t next = 0;
    for (const int length : lengths) {
      while (next < values.size() && values[next].length < length) ++next;
      const bool there = next < values.size() && values[next].length == length;
      job.value = there ? std::optional(values[next].value) : std::nullopt;
      job.length = length;
      job.again = length != lengths.front();
      use(job);
      if (!wanted(job)) return;
    }
  });
}

// Those of the tests, whether or not anything was measured yet; of what is measured elsewhere, as by bins of positions, where it was.
absl::StatusOr<std::vector<int>> LengthsOf(sql::Connection& db, const Jobs& members, const v1::SweepSpec& sweep, const v1::TableSpec& spec,
                                           const std::function<bool(const TableJob&)>& wanted) {
  ASSIGN_OR_RETURN(const std::vector<int> of_tests, TestLengthsOfSweep(sweep));
  std::set<int> measured;
  RETURN_IF_ERROR(ReadValues(db, members, spec, wanted, [&measured](const TableJob&, std::span<const store::LengthValue> values) {
    for (const store::LengthValue& value : values) measured.insert(value.length);
  }));
  if (std::ranges::includes(of_tests, measured)) return of_tests;
  return std::vector<int>(measured.begin(), measured.end());
}

}  // namespace

absl::StatusOr<v1::Table> GetTable(sql::Connection& db, const v1::GetTableRequest& request) {
  ASSIGN_OR_RETURN(store::SweepRow sweep, ResolveSweep(db, request.sweep()));
  ASSIGN_OR_RETURN(const v1::SweepSpec sweep_spec, SpecOf(sweep));
  ASSIGN_OR_RETURN(std::string main_metric, MainMetricOfSweep(sweep_spec));
  ASSIGN_OR_RETURN(ResultsTable table, ResultsTable::Of(request.table(), main_metric));
  const v1::TableSpec& spec = table.spec();
  const std::vector<experiments::SystemRange> systems = experiments::SystemRanges(sweep_spec);
  const Jobs members{.sweep = sweep.num, .systems = systems};
  const auto is_wanted = [&table](bool extra) { return [&table, extra](const TableJob& job) { return table.IsWanted(job, extra); }; };
  std::vector<int> lengths;
  if (table.ByLength()) {
    ASSIGN_OR_RETURN(lengths, LengthsOf(db, members, sweep_spec, spec, is_wanted(false)));
  }
  const auto read = [&](const Jobs& jobs, bool extra, const UseJob& use) {
    return table.ByLength() ? ReadAtEach(db, jobs, spec, lengths, is_wanted(extra), use) : ReadAtOne(db, jobs, spec, use);
  };
  RETURN_IF_ERROR(read(members, false, [&table](const TableJob& job) { table.Add(job); }));
  for (int column = 0; column < spec.extra_columns_size(); ++column) {
    const auto add = [&table, column](const TableJob& job) { table.AddExtra(column, job); };
    if (!spec.extra_columns(column).input().empty()) {
      RETURN_IF_ERROR(read({.sweep = sweep.num, .input = spec.extra_columns(column).input()}, true, add));
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
    RETURN_IF_ERROR(read({.sweep = other->num}, true, add));
  }
  RETURN_IF_ERROR(table.CheckOnly());
  v1::Table built = table.Build();
  if (built.title().empty()) built.set_title(sweep.name);
  return built;
}

}  // namespace longreach::service
