#include "scheduler/service/query_table.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/types/job.h"
#include "proto/types/usual_axes.h"
#include "proto/types/words.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/decoder_values.h"
#include "scheduler/service/length_reader.h"
#include "scheduler/service/other_values.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/results_table.h"
#include "scheduler/service/slice_reader.h"
#include "scheduler/service/sweep_beside.h"
#include "scheduler/service/table_source.h"
#include "scheduler/service/test_lengths.h"
#include "store/measurements.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

using UseJob = std::function<void(const TableJob&)>;

// Of so many systems a job each is asked what it has measured.
constexpr size_t kMostSystemsAsked = 1000;

// What a job that is wanted and has succeeded has measured instead of what the table asks for: the first that has its metric, elsewhere, else the
// first. One of each system is asked, as another of the same has measured the same. Empty: nothing has, yet.
absl::StatusOr<std::string> MeasuredInstead(sql::Connection& db, const TableSource& members, const ResultsTable& table) {
  std::vector<int64_t> firsts;
  std::set<std::string> systems;
  RETURN_IF_ERROR(ForEachJobOf(db, members, table.spec(), 0, [&](const TableJob& job, const store::MeasuredJob& measured) {
    const bool has_result = job.state == store::State::kSucceeded && !job.diverged && table.IsWanted(job, false);
    if (has_result && firsts.size() < kMostSystemsAsked && systems.insert(job.system).second) firsts.push_back(measured.num);
    return absl::OkStatus();
  }));
  if (firsts.empty()) return std::string();
  int64_t asked = firsts.front();
  for (const int64_t job : firsts) {
    ASSIGN_OR_RETURN(const std::vector<store::Measurement> of_metric, store::MeasurementsOf(db, job, {.metric = table.spec().metric()}));
    if (of_metric.empty()) continue;
    asked = job;
    break;
  }
  ASSIGN_OR_RETURN(const std::vector<store::Measurement> all, store::MeasurementsOf(db, asked, store::MeasurementFilter{}));
  return OtherValues(all, table.spec());
}

// Whether jobs of the sweep, or of one of its systems, have an input of this name.
bool HasInputNamed(const v1::SweepSpec& sweep, std::string_view name) {
  const auto has = [name](const v1::SweepSpec& spec) {
    return std::ranges::any_of(spec.inputs(), [name](const v1::Input& input) { return input.name() == name; });
  };
  return has(sweep) || std::ranges::any_of(sweep.systems(), [&has](const v1::System& system) { return has(system.with()); });
}

// Of a sweep some of whose jobs were made of what another job no longer has, as a repair has had that one run again: their values are true, and what is traced from them is not what they came from.
absl::Status NoteOtherInputs(sql::Connection& db, const store::SweepRow& sweep, const v1::SweepSpec& spec, v1::Table& built) {
  const auto has_inputs = [](const v1::System& system) { return !system.with().inputs().empty(); };
  if (spec.inputs().empty() && std::ranges::none_of(spec.systems(), has_inputs)) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<std::string> jobs, store::MembersMadeOfAnotherRun(db, sweep.num));
  if (jobs.empty()) return absl::OkStatus();
  for (std::string& job : jobs) job = ShortId(job);
  built.add_notes(fmt::format("{} made of another result of an input than the one that is here, if any is, as the input's job was mended and ran again since: {}; 'longreach verify JOB' trains one again beside the store",
                              jobs.size() == 1 ? "1 job was" : fmt::format("{} jobs were", jobs.size()), JoinSome(jobs, 3)));
  return absl::OkStatus();
}

// A sweep's jobs on their way into its table: where values stand is found first, then each job is added with those that it has there.
class TableFiller {
 public:
  TableFiller(sql::Connection& db, const store::SweepRow& sweep, const v1::SweepSpec& spec, ResultsTable& table)
      : db_(db), sweep_(sweep), sweep_spec_(spec), table_(table), systems_(experiments::SystemRanges(spec)),
        settings_(experiments::SettingsOfSystems(spec, table.SettingAxes())),
        members_{.sweep = sweep.num, .systems = systems_, .settings = settings_}, slices_(db, table), at_lengths_(db, table) {}

  absl::Status FindPlaces(std::string_view main_metric) {
    if (BySlice()) {
      RETURN_IF_ERROR(slices_.BinSteps(members_));
      ASSIGN_OR_RETURN(places_, slices_.PlacesOf(members_));
      is_measured_ = !places_.empty();
      // Until then a paper's table is there, with nothing measured in it.
      if (!is_measured_) places_ = slices_.PublishedPlaces();
    } else if (table_.ByLength()) {
      ASSIGN_OR_RETURN(lengths_, at_lengths_.LengthsOf(members_, sweep_spec_));
    }
    // Which slices a job was to have is not known; over which lengths one is that is over all of them is.
    const bool at_each_test = table_.ByLength() && !BySlice() && spec().slice().empty() && spec().metric() == main_metric;
    if (!at_each_test && !table_.IsOverAllTests()) return absl::OkStatus();
    ASSIGN_OR_RETURN(auto test_lengths, TestLengthsOfSystems(sweep_spec_, spec().metric()));
    table_.SetTestLengths(std::move(test_lengths));
    return absl::OkStatus();
  }

  absl::Status AddMembers() {
    if (IsNowhere()) {
      RETURN_IF_ERROR(ReadAtOne(members_, [this](const TableJob& job) { table_.AddWithoutCell(job); }));
    } else {
      RETURN_IF_ERROR(Read(members_, false, [this](const TableJob& job) { table_.Add(job); }));
    }
    table_.AddToCome(sweep_.to_come, sweep_.state == SweepState::kCancelled);
    if (sweep_.to_come > 0) table_.SeeToCome(sweep_spec_, settings_);
    return absl::OkStatus();
  }

  absl::Status AddExtraColumns() {
    for (int column = 0; column < spec().extra_columns_size(); ++column) RETURN_IF_ERROR(AddExtraColumn(column));
    return absl::OkStatus();
  }

  // Of a table without a value: what was measured instead.
  absl::Status NoteNoValue(v1::Table& built) {
    if (BySlice()) return is_measured_ ? absl::OkStatus() : NoteNoSlice(built);
    if (std::ranges::any_of(built.cells(), [](const v1::TableCell& cell) { return cell.has_measured(); })) return absl::OkStatus();
    std::string instead;
    if (sweep_.counts.succeeded > 0) {
      ASSIGN_OR_RETURN(instead, MeasuredInstead(db_, members_, table_));
    }
    if (IsNowhere()) Note(built, fmt::format("no job has a value of {} {}{}{}", spec().metric(), table_.AtLength(), instead.empty() ? "" : "; ", instead));
    else if (!instead.empty()) Note(built, instead);
    return absl::OkStatus();
  }

 private:
  const v1::TableSpec& spec() const { return table_.spec(); }
  bool BySlice() const { return !table_.slice_axes().empty(); }
  // There is no row, or no column, that values could stand in.
  bool IsNowhere() const { return BySlice() ? places_.empty() : table_.ByLength() && lengths_.empty(); }

  absl::Status Read(const TableSource& source, bool extra, const UseJob& use) {
    if (BySlice()) return slices_.ReadAt(places_, source, extra, use);
    if (table_.ByLength()) return at_lengths_.ReadAtEach(lengths_, source, extra, use);
    return table_.IsOverLengths() ? at_lengths_.ReadMeans(source, extra, use) : ReadAtOne(source, use);
  }
  // With the values of the length that the table is of.
  absl::Status ReadAtOne(const TableSource& source, const UseJob& use) {
    return ForEachJobOf(db_, source, spec(), spec().length(), [&use](const TableJob& job, const store::MeasuredJob&) {
      use(job);
      return absl::OkStatus();
    });
  }

  absl::Status AddExtraColumn(int column) {
    const v1::ExtraColumn& extra = spec().extra_columns(column);
    const auto add = [this, column](const TableJob& job) { table_.AddExtra(column, job); };
    if (!extra.input().empty()) {
      if (!HasInputNamed(sweep_spec_, extra.input())) table_.SetExtraMissing(column);
      return Read({.sweep = sweep_.num, .input = extra.input()}, true, add);
    }
    ASSIGN_OR_RETURN(const std::optional<SweepBeside> other, FindSweepBeside(db_, sweep_spec_, extra.sweep()));
    if (!other) {
      table_.SetExtraMissing(column);
      return absl::OkStatus();
    }
    table_.SetExtraDiffers(column, other->differences);
    table_.AddExtraToCome(column, other->to_come, other->cancelled);
    return Read({.sweep = other->sweep}, true, add);
  }

  absl::Status NoteNoSlice(v1::Table& built) {
    std::string other = slices_.Axes();
    ASSIGN_OR_RETURN(const std::set<int> lengths, slices_.LengthsOfSlices(members_));
    if (!lengths.empty()) other = AtLengths(lengths);
    // Where lengths are an axis, or --only names some, there is none to choose.
    if (lengths.upper_bound(0) != lengths.end() && !table_.ByLength() && !table_.IsOverLengths()) other += ": choose one with --length N";
    const bool by_step = std::ranges::find(table_.slice_axes(), kStepAxis) != table_.slice_axes().end();
    Note(built, fmt::format("no job has a value of {} by {} {}{}{}", spec().metric(), Join(table_.slice_axes(), " and "), table_.AtLength(),
                            other.empty() ? "" : fmt::format("; there are values {}", other),
                            by_step ? fmt::format("; jobs with evaluation.curve_every have some by step, and losses of training are {}", kTrainingLoss) : ""));
    return absl::OkStatus();
  }
  static void Note(v1::Table& built, const std::string& text) { AddTypedNote(built, v1::TableNote::KIND_NO_VALUE, "", text); }

  sql::Connection& db_;
  const store::SweepRow& sweep_;
  const v1::SweepSpec& sweep_spec_;
  ResultsTable& table_;
  const std::vector<experiments::SystemRange> systems_;
  const std::vector<SettingsByJob> settings_;
  const TableSource members_;
  SliceReader slices_;
  LengthReader at_lengths_;
  std::vector<int> lengths_;     // Where the table is by length,
  std::set<SlicePlace> places_;  // and by slice,
  bool is_measured_ = false;     // where a job has a value at one of them at least.
};

}  // namespace

absl::StatusOr<v1::Table> GetTable(sql::Connection& db, const v1::GetTableRequest& request, const std::stop_token& stop) {
  const sql::StopQueries stopping(db, stop);
  ASSIGN_OR_RETURN(const store::SweepRow sweep, ResolveSweep(db, request.sweep()));
  ASSIGN_OR_RETURN(const v1::SweepSpec sweep_spec, SpecOf(sweep));
  ASSIGN_OR_RETURN(const std::string main_metric, MainMetricOfSweep(sweep_spec));
  v1::TableSpec asked = request.table();
  SetUsualAxes(sweep_spec, asked);
  ASSIGN_OR_RETURN(ResultsTable table, ResultsTable::Of(asked, main_metric));
  RETURN_IF_ERROR(table.CheckBestOf(sweep_spec));
  table.SetWhyUnmeasured(WhyUnmeasured(sweep_spec, table.spec().metric()));
  TableFiller filler(db, sweep, sweep_spec, table);
  RETURN_IF_ERROR(filler.FindPlaces(main_metric));
  RETURN_IF_ERROR(filler.AddMembers());
  RETURN_IF_ERROR(filler.AddExtraColumns());
  RETURN_IF_ERROR(table.CheckSize());
  RETURN_IF_ERROR(table.CheckOnly());
  v1::Table built = table.Build();
  RETURN_IF_ERROR(filler.NoteNoValue(built));
  RETURN_IF_ERROR(NoteOtherInputs(db, sweep, sweep_spec, built));
  if (const std::string note = NoteOnDecoders(sweep_spec, built.metric(), table.MeasuredSystems()); !note.empty()) built.add_notes(note);
  if (built.title().empty()) built.set_title(sweep.name);
  return built;
}

}  // namespace longreach::service
