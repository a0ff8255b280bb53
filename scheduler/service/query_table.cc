#include "scheduler/service/query_table.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/usual_axes.h"
#include "proto/types/words.h"
#include "scheduler/experiments/differences.h"
#include "scheduler/experiments/expansion.h"
#include "scheduler/service/needs.h"
#include "scheduler/service/other_values.h"
#include "scheduler/service/references.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/results_table.h"
#include "scheduler/service/step_bins.h"
#include "store/loss_curves.h"
#include "store/measurements.h"
#include "store/reading.h"
#include "store/sweeps.h"

namespace longreach::service {
namespace {

using UseJob = std::function<void(const TableJob&)>;

// The members of a sweep, or the makers of one of their inputs. Which system a job is of, and its settings, only members have.
struct Jobs {
  int64_t sweep = 0;
  std::string input = {};
  std::span<const experiments::SystemRange> systems = {};
  std::span<const SettingsByJob> settings = {};  // Of each system; without systems of all.
};

// Jobs as a table sees them, from rows of the store: neighbours have most of their texts in common.
class JobMaker {
 public:
  explicit JobMaker(const Jobs& jobs) : jobs_(jobs) {}

  TableJob& Of(const store::MeasuredJob& measured) {
    bool has_neighbours_settings = true;
    if (job_.task != measured.task) {
      job_.task = measured.task;
      has_neighbours_settings = false;
    }
    if (!encoding_ || encoding_->name != measured.encoding || encoding_->randomized != measured.randomized) {
      encoding_ = EncodingName{std::string(measured.encoding), measured.randomized};
      job_.encoding = ToText(*encoding_);
      has_neighbours_settings = false;
    }
    if (job_.builds != measured.builds) job_.builds = measured.builds;
    job_.learning_rate = measured.learning_rate;
    job_.seed = measured.seed;
    job_.state = measured.state;
    job_.diverged = measured.diverged;
    job_.value = measured.value;
    job_.again = job_.more = false;
    job_.slice.clear();
    if (data_ != measured.data) {
      data_ = measured.data;
      job_.data = SplitDataSets(data_).corpus;
    }
    const std::optional<size_t> system = experiments::SystemIndexAt(jobs_.systems, measured.position);
    job_.system = system ? jobs_.systems[*system].name : std::string();
    if (!has_neighbours_settings || system_ != system) job_.settings = SettingsOf(system);
    system_ = system;
    return job_;
  }

 private:
  const SettingValues* SettingsOf(std::optional<size_t> system) const {
    if (jobs_.settings.empty()) return nullptr;
    const SettingsByJob& of_system = jobs_.settings[system.value_or(0)];
    const auto found = of_system.find({job_.task, job_.encoding});
    return found == of_system.end() ? nullptr : &found->second;
  }

  const Jobs& jobs_;
  TableJob job_;
  std::optional<size_t> system_;
  std::string data_;
  std::optional<EncodingName> encoding_;
};

absl::Status ForEach(sql::Connection& db, const Jobs& jobs, const v1::TableSpec& spec, int length,
                     const std::function<void(const store::MeasuredJob&)>& use) {
  return jobs.input.empty() ? store::ForEachMeasuredMember(db, jobs.sweep, spec.metric(), length, spec.slice(), use)
                            : store::ForEachMeasuredMaker(db, jobs.sweep, jobs.input, spec.metric(), length, spec.slice(), use);
}

// With the values of one length.
absl::Status ReadAtOne(sql::Connection& db, const Jobs& jobs, const v1::TableSpec& spec, const UseJob& use) {
  JobMaker maker(jobs);
  return ForEach(db, jobs, spec, spec.length(), [&](const store::MeasuredJob& measured) { use(maker.Of(measured)); });
}

// With all lengths of its values for each job that is `wanted`, none for the others.
absl::Status ReadValues(sql::Connection& db, const Jobs& jobs, const v1::TableSpec& spec, const std::function<bool(const TableJob&)>& wanted,
                        const std::function<void(TableJob&, std::span<const store::LengthValue>)>& use) {
  JobMaker maker(jobs);
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

// With the mean over the lengths that spec().only() names and that it has values at; without a value where there are none.
absl::Status ReadMeans(sql::Connection& db, const Jobs& jobs, ResultsTable& table, const std::function<bool(const TableJob&)>& wanted, const UseJob& use) {
  return ReadValues(db, jobs, table.spec(), wanted, [&](TableJob& job, std::span<const store::LengthValue> values) {
    double sum = 0;
    job.lengths = 0;
    for (const store::LengthValue& value : values) {
      if (!table.TakesLength(value.length)) continue;
      sum += value.value;
      ++job.lengths;
    }
    job.value = job.lengths > 0 ? std::optional(sum / job.lengths) : std::nullopt;
    use(job);
  });
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

// Those of the tests, whether or not anything was measured yet; of what is measured elsewhere, as by bins of positions, where it was. Without those
// that the table is not asked for.
absl::StatusOr<std::vector<int>> LengthsOf(sql::Connection& db, const Jobs& members, const v1::SweepSpec& sweep, ResultsTable& table,
                                           const std::function<bool(const TableJob&)>& wanted) {
  ASSIGN_OR_RETURN(const std::vector<int> of_tests, TestLengthsOfSweep(sweep));
  std::set<int> measured;
  RETURN_IF_ERROR(ReadValues(db, members, table.spec(), wanted, [&measured](const TableJob&, std::span<const store::LengthValue> values) {
    for (const store::LengthValue& value : values) measured.insert(value.length);
  }));
  std::vector<int> lengths = of_tests;
  if (!std::ranges::includes(of_tests, measured)) lengths.assign(measured.begin(), measured.end());
  std::erase_if(lengths, [&](int length) { return measured.empty() ? !table.AsksForLength(length) : !table.TakesLength(length); });
  return lengths;
}

// By system those at which its jobs have the main metric of their kind, once they are done. Of a sweep without systems nothing.
absl::StatusOr<std::map<std::string, std::set<int>>> TestLengthsOfSystems(const v1::SweepSpec& sweep) {
  std::map<std::string, std::set<int>> by_system;
  for (const v1::System& system : sweep.systems()) {
    v1::SweepSpec own;
    own.set_experiment(sweep.experiment());
    const auto& said = system.with().evaluation().lengths();
    *own.mutable_evaluation()->mutable_lengths() = said.empty() ? sweep.evaluation().lengths() : said;
    ASSIGN_OR_RETURN(const std::vector<int> lengths, TestLengthsOfSweep(own));
    by_system[system.name()].insert(lengths.begin(), lengths.end());
  }
  return by_system;
}

// Where a measurement stands on the axes of values that a table is asked for by.
struct Place {
  int length = 0;
  std::vector<std::string> keys;  // On rows and columns that are axes of slices.
  auto operator<=>(const Place&) const = default;
};

// Reads what jobs have measured in slices. Which slice has which place is worked out once: jobs mostly have the same.
class SliceReader {
 public:
  SliceReader(sql::Connection& db, ResultsTable& table) : db_(db), table_(table) {
    for (const std::string& axis : table.slice_axes()) {
      if (table.IsAxis(axis)) axes_.push_back(axis);
    }
  }

  // With all values of each job that is wanted, none of the others.
  absl::Status Read(const Jobs& jobs, bool extra, const std::function<void(TableJob&, const std::map<Place, std::vector<double>>&)>& use) {
    JobMaker maker(jobs);
    absl::Status status;
    RETURN_IF_ERROR(ForEach(db_, jobs, table_.spec(), 0, [&](const store::MeasuredJob& measured) {
      TableJob& job = maker.Of(measured);
      if (!status.ok()) return;
      if (!table_.IsWanted(job, extra)) return use(job, {});
      absl::StatusOr<std::vector<store::SliceValue>> values = store::ValuesInSlices(db_, measured.num, table_.spec().metric());
      if (!values.ok()) status = values.status();
      else use(job, ByPlace(bins_.has_value() ? bins_->MeansOf(*values) : table_.IsOverLengths() ? MeansOverLengths(*values) : *values));
    }));
    return status;
  }

  // Puts the steps of loss curves together as the table is asked for, from 1 to the newest of those jobs that are wanted.
  absl::Status BinSteps(const Jobs& jobs) {
    if (table_.spec().step_bins() == 0 || table_.spec().metric() != kTrainingLoss) return absl::OkStatus();
    int64_t last = 0;
    RETURN_IF_ERROR(ForEachWanted(jobs, [&](int64_t job) -> absl::Status {
      ASSIGN_OR_RETURN(const int64_t newest, store::NewestStepOf(db_, job));
      last = std::max(last, newest);
      return absl::OkStatus();
    }));
    bins_.emplace(last, table_.spec().step_bins());
    return absl::OkStatus();
  }

  // At which those jobs have values in slices that the table is asked for by, be the table of these lengths or not.
  absl::StatusOr<std::set<int>> LengthsOfSlices(const Jobs& jobs) {
    std::set<int> lengths;
    RETURN_IF_ERROR(ForEachWanted(jobs, [&](int64_t job) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<store::SliceValue> values, store::ValuesInSlices(db_, job, table_.spec().metric()));
      for (const store::SliceValue& value : values) {
        if (!lengths.contains(value.length) && PlaceOf(value.slice).has_value()) lengths.insert(value.length);
      }
      return absl::OkStatus();
    }));
    return lengths;
  }

  // Once with each value at each of `places`, with none where there is none.
  absl::Status ReadAt(const std::set<Place>& places, const Jobs& jobs, bool extra, const UseJob& use) {
    return Read(jobs, extra, [&](TableJob& job, const std::map<Place, std::vector<double>>& values) {
      if (!table_.IsWanted(job, extra)) return use(job);
      job.again = false;
      for (const Place& place : places) {
        job.length = place.length;
        for (size_t i = 0; i < place.keys.size(); ++i) job.slice[axes_[i]] = place.keys[i];
        job.more = false;
        const auto found = values.find(place);
        const size_t count = found == values.end() ? 0 : found->second.size();
        for (size_t i = 0; i == 0 || i < count; ++i) {
          job.value = i < count ? std::optional(found->second[i]) : std::nullopt;
          use(job);
          job.again = job.more = true;
        }
      }
    });
  }

  // How the metric was measured, in the jobs that were read: "by depth", "by head and layer", "without slices". Empty: not at all.
  std::string Axes() const {
    std::set<std::string> names;
    for (const auto& [slice, place] : places_) {
      if (slice.empty()) continue;
      std::vector<std::string> axes;
      for (const auto& [axis, key] : catalog::SliceKeys(slice)) axes.push_back(axis);
      names.insert(Join(axes, " and "));
    }
    if (names.empty()) return places_.empty() ? "" : "without slices";
    return fmt::format("by {}", Join({names.begin(), names.end()}, ", "));
  }

 private:
  absl::Status ForEachWanted(const Jobs& jobs, const std::function<absl::Status(int64_t)>& use) {
    JobMaker maker(jobs);
    absl::Status status;
    RETURN_IF_ERROR(ForEach(db_, jobs, table_.spec(), 0, [&](const store::MeasuredJob& measured) {
      if (status.ok() && table_.IsWanted(maker.Of(measured), false)) status = use(measured.num);
    }));
    return status;
  }

  std::map<Place, std::vector<double>> ByPlace(std::span<const store::SliceValue> values) {
    std::map<Place, std::vector<double>> by_place;
    for (const store::SliceValue& value : values) {
      if (!table_.TakesLength(value.length)) continue;
      const std::optional<std::vector<std::string>>& keys = PlaceOf(value.slice);
      if (keys.has_value()) by_place[{.length = table_.ByLength() ? value.length : 0, .keys = *keys}].push_back(value.value);
    }
    return by_place;
  }

  // Of each slice over the lengths that are asked for: a value at one of them.
  std::vector<store::SliceValue> MeansOverLengths(std::span<const store::SliceValue> values) {
    std::map<std::string_view, std::vector<const store::SliceValue*>> by_slice;
    for (const store::SliceValue& value : values) {
      if (table_.TakesLength(value.length)) by_slice[value.slice].push_back(&value);
    }
    std::vector<store::SliceValue> means;
    for (const auto& [slice, of_slice] : by_slice) {
      double sum = 0;
      for (const store::SliceValue* value : of_slice) sum += value->value;
      means.push_back({.length = of_slice.front()->length, .slice = std::string(slice), .value = sum / static_cast<double>(of_slice.size())});
    }
    return means;
  }

  // Its keys; nullopt: it has no place.
  const std::optional<std::vector<std::string>>& PlaceOf(const std::string& slice) {
    const auto [found, added] = places_.try_emplace(slice);
    if (!added) return found->second;
    TableJob at;
    at.slice = catalog::SliceKeys(slice);
    if (!table_.TakesSlice(at.slice)) return found->second;
    std::vector<std::string>& keys = found->second.emplace();
    for (const std::string& axis : axes_) keys.push_back(KeyOf(at, axis));
    return found->second;
  }

  sql::Connection& db_;
  ResultsTable& table_;
  std::optional<StepBins> bins_;
  std::vector<std::string> axes_;  // Of a Place. What spec().only() names beside them is aggregated over, in the same cell.
  std::map<std::string, std::optional<std::vector<std::string>>> places_;  // By slice.
};

// What the first job that is wanted and has succeeded has measured instead of what the table asks for. Empty: nothing has, yet.
absl::StatusOr<std::string> MeasuredInstead(sql::Connection& db, const Jobs& members, const v1::TableSpec& spec,
                                            const std::function<bool(const TableJob&)>& wanted) {
  JobMaker maker(members);
  std::optional<int64_t> first;
  RETURN_IF_ERROR(ForEach(db, members, spec, 0, [&](const store::MeasuredJob& measured) {
    if (!first && measured.state == store::State::kSucceeded && !measured.diverged && wanted(maker.Of(measured))) first = measured.num;
  }));
  if (!first) return std::string();
  ASSIGN_OR_RETURN(const std::vector<store::Measurement> all, store::MeasurementsOf(db, *first, store::MeasurementFilter{}));
  return OtherValues(all, spec);
}

// The sweep that an extra column is of, and what it differs in from the table's.
struct Beside {
  int64_t sweep = 0;
  int64_t to_come = 0;
  bool cancelled = false;
  std::set<std::string> differences = {};
};

// Of the sweeps of a name with the table's own settings the one with the most jobs, as a later one of some tasks or encodings is not all that the
// column stands for; the newest of those. If none has these settings, the newest. nullopt: there is none.
absl::StatusOr<std::optional<Beside>> SweepBeside(sql::Connection& db, const v1::SweepSpec& sweep, const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<std::string> named, store::SweepsNamed(db, name));
  std::optional<Beside> newest, alike;
  int64_t most = -1;
  for (const std::string& id : named) {
    ASSIGN_OR_RETURN(const std::optional<store::SweepRow> row, store::FindSweep(db, id));
    if (!row.has_value()) return absl::InternalError("a sweep went away within a snapshot");
    const absl::StatusOr<v1::SweepSpec> spec = SpecOf(*row);
    Beside found{.sweep = row->num, .to_come = row->to_come, .cancelled = row->state == SweepState::kCancelled};
    if (spec.ok()) found.differences = experiments::DifferingSettings(sweep, *spec);
    else found.differences.insert("what this program cannot read");
    if (found.differences.empty() && row->counts.jobs() > most) {
      most = row->counts.jobs();
      alike = found;
    }
    if (!newest) newest = std::move(found);
  }
  return alike ? alike : newest;
}

// A sweep's jobs on their way into its table: where values stand is found first, then each job is added with those that it has there.
class TableFiller {
 public:
  TableFiller(sql::Connection& db, const store::SweepRow& sweep, const v1::SweepSpec& spec, ResultsTable& table)
      : db_(db), sweep_(sweep), sweep_spec_(spec), table_(table), systems_(experiments::SystemRanges(spec)),
        settings_(experiments::SettingsOfSystems(spec, table.SettingAxes())),
        members_{.sweep = sweep.num, .systems = systems_, .settings = settings_}, slices_(db, table) {}

  absl::Status FindPlaces(std::string_view main_metric) {
    if (BySlice()) {
      RETURN_IF_ERROR(slices_.BinSteps(members_));
      return slices_.Read(members_, false, [this](const TableJob&, const std::map<Place, std::vector<double>>& values) {
        for (const auto& [place, some] : values) places_.insert(place);
      });
    }
    if (!table_.ByLength()) return absl::OkStatus();
    ASSIGN_OR_RETURN(lengths_, LengthsOf(db_, members_, sweep_spec_, table_, IsWanted(false)));
    if (spec().metric() != main_metric || !spec().slice().empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(auto test_lengths, TestLengthsOfSystems(sweep_spec_));
    table_.SetTestLengths(std::move(test_lengths));
    return absl::OkStatus();
  }

  absl::Status AddMembers() {
    if (IsNowhere()) {
      RETURN_IF_ERROR(ReadAtOne(db_, members_, spec(), [this](const TableJob& job) { table_.AddWithoutCell(job); }));
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
    if (BySlice()) return IsNowhere() ? NoteNoSlice(built) : absl::OkStatus();
    if (std::ranges::any_of(built.cells(), [](const v1::TableCell& cell) { return cell.has_measured(); })) return absl::OkStatus();
    std::string instead;
    if (sweep_.counts.succeeded > 0) {
      ASSIGN_OR_RETURN(instead, MeasuredInstead(db_, members_, spec(), IsWanted(false)));
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
  std::function<bool(const TableJob&)> IsWanted(bool extra) const {
    return [this, extra](const TableJob& job) { return table_.IsWanted(job, extra); };
  }

  absl::Status Read(const Jobs& jobs, bool extra, const UseJob& use) {
    if (BySlice()) return slices_.ReadAt(places_, jobs, extra, use);
    if (table_.ByLength()) return ReadAtEach(db_, jobs, spec(), lengths_, IsWanted(extra), use);
    return table_.IsOverLengths() ? ReadMeans(db_, jobs, table_, IsWanted(extra), use) : ReadAtOne(db_, jobs, spec(), use);
  }

  absl::Status AddExtraColumn(int column) {
    const v1::ExtraColumn& extra = spec().extra_columns(column);
    const auto add = [this, column](const TableJob& job) { table_.AddExtra(column, job); };
    if (!extra.input().empty()) return Read({.sweep = sweep_.num, .input = extra.input()}, true, add);
    ASSIGN_OR_RETURN(const std::optional<Beside> other, SweepBeside(db_, sweep_spec_, extra.sweep()));
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
    Note(built, fmt::format("no job has a value of {} by {} {}{}", spec().metric(), Join(table_.slice_axes(), " and "), table_.AtLength(),
                            other.empty() ? "" : fmt::format("; there are values {}", other)));
    return absl::OkStatus();
  }
  static void Note(v1::Table& built, const std::string& text) { AddTypedNote(built, v1::TableNote::KIND_NO_VALUE, "", text); }

  sql::Connection& db_;
  const store::SweepRow& sweep_;
  const v1::SweepSpec& sweep_spec_;
  ResultsTable& table_;
  const std::vector<experiments::SystemRange> systems_;
  const std::vector<SettingsByJob> settings_;
  const Jobs members_;
  SliceReader slices_;
  std::vector<int> lengths_;  // Where the table is by length,
  std::set<Place> places_;    // and by slice.
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
  TableFiller filler(db, sweep, sweep_spec, table);
  RETURN_IF_ERROR(filler.FindPlaces(main_metric));
  RETURN_IF_ERROR(filler.AddMembers());
  RETURN_IF_ERROR(filler.AddExtraColumns());
  RETURN_IF_ERROR(table.CheckSize());
  RETURN_IF_ERROR(table.CheckOnly());
  v1::Table built = table.Build();
  RETURN_IF_ERROR(filler.NoteNoValue(built));
  if (built.title().empty()) built.set_title(sweep.name);
  return built;
}

}  // namespace longreach::service
