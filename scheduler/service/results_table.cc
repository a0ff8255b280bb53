#include "scheduler/service/results_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"
#include "proto/catalog/axes.h"
#include "proto/types/usual_axes.h"
#include "proto/types/words.h"
#include "scheduler/service/table_gain.h"
#include "scheduler/service/test_lengths.h"

namespace longreach::service {
namespace {

constexpr size_t kMaxCells = 200'000;
constexpr int kMaxExtraColumns = 100;

bool IsKnown(const std::vector<std::string>& known, const std::string& word) {
  return std::ranges::find(known, word) != known.end();
}

absl::Status RefuseRepeated(std::string_view field, const google::protobuf::RepeatedPtrField<std::string>& keys) {
  std::set<std::string> seen;
  for (const std::string& key : keys) {
    if (!seen.insert(key).second) {
      return absl::InvalidArgumentError(fmt::format("{}: '{}' is there twice; name each key once", field, key));
    }
  }
  return absl::OkStatus();
}

template <typename Entry>
std::vector<std::string> NamesOf(std::span<const Entry> entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

// Nothing where no value is better than another: of one alone, or of equal ones.
std::optional<double> BestOf(std::span<const double> values, bool higher) {
  if (values.empty()) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(values);
  if (lowest == highest) return std::nullopt;
  return higher ? highest : lowest;
}

// Of jobs, as the best length or step is the easiest one.
absl::StatusOr<TableSide> BestOfSide(const v1::TableSpec& spec, const TableSide& rows, const TableSide& columns) {
  if (spec.best_of().empty()) return TableSide();
  ASSIGN_OR_RETURN(TableSide side, TableSide::Of("table.best_of", Join({spec.best_of().begin(), spec.best_of().end()}, ",")));
  for (const std::string& axis : side.axes()) {
    if (rows.Has(axis) || columns.Has(axis)) {
      return absl::InvalidArgumentError(fmt::format("table.best_of: '{}' is among the rows or the columns; a cell has one value of it", axis));
    }
    if (IsOfValues(axis)) return absl::InvalidArgumentError(fmt::format("table.best_of: '{}' is not of jobs but of their values; name learning_rate, say", axis));
  }
  return side;
}

}  // namespace

absl::StatusOr<ResultsTable> ResultsTable::Of(const v1::TableSpec& spec, std::string_view main_metric) {
  ResultsTable table;
  table.spec_ = spec;
  v1::TableSpec& full = table.spec_;
  SetUsualAxes(v1::SweepSpec(), full);
  ASSIGN_OR_RETURN(table.row_axes_, TableSide::Of("table.rows", full.rows()));
  ASSIGN_OR_RETURN(table.column_axes_, TableSide::Of("table.columns", full.columns()));
  for (const std::string& axis : table.column_axes_.axes()) {
    if (table.row_axes_.Has(axis)) {
      return absl::InvalidArgumentError(fmt::format("table.columns: rows and columns are both '{}'; choose others of {}", axis, Join(catalog::TableAxes(), ", ")));
    }
  }
  ASSIGN_OR_RETURN(table.best_of_, BestOfSide(full, table.row_axes_, table.column_axes_));
  table.mixed_ = MixedAxes(table.row_axes_, table.column_axes_);
  const bool by_step = table.IsAxis(kStepAxis);
  if (full.metric().empty()) full.set_metric(std::string(by_step ? kTrainingLoss : main_metric));
  table.metric_ = catalog::FindMetric(full.metric());
  SetUsualAggregate(full);

  if (!IsKnown(catalog::Aggregates(), full.aggregate())) {
    return RefuseWord("table.aggregate", "aggregate", full.aggregate(), catalog::Aggregates());
  }
  if (table.metric_ == nullptr) {
    return RefuseWord("table.metric", "metric", full.metric(), NamesOf(catalog::Metrics()));
  }
  if (!full.best_of().empty() && table.metric_->better == catalog::Better::kNeither) {
    return absl::InvalidArgumentError(fmt::format("table.best_of: of {} neither more nor less is better; leave it out, or choose another metric", full.metric()));
  }
  if (full.length() < 0) {
    return absl::InvalidArgumentError(
        fmt::format("table.length: {} is negative; give a length, or 0 for all lengths together", full.length()));
  }
  if (full.step_bins() < 0) {
    return absl::InvalidArgumentError(fmt::format("table.step_bins: {} is negative; 0 means every step", full.step_bins()));
  }
  if (full.step_bins() > 0 && !by_step) return absl::InvalidArgumentError("table.step_bins: neither rows nor columns are steps; make one of them 'step', or leave it out");
  RETURN_IF_ERROR(RefuseRepeated("table.row_order", full.row_order()));
  RETURN_IF_ERROR(RefuseRepeated("table.column_order", full.column_order()));
  if (full.extra_columns_size() > kMaxExtraColumns) {
    return absl::InvalidArgumentError(fmt::format("table.extra_columns: {} of them; at most {}", full.extra_columns_size(), kMaxExtraColumns));
  }
  std::set<std::string> extra_keys;
  for (const v1::ExtraColumn& extra : full.extra_columns()) {
    if (extra.key().empty() || extra.sweep().empty() == extra.input().empty()) {
      return absl::InvalidArgumentError("table.extra_columns: each needs a key and the name of a sweep, or of an input");
    }
    if (!extra_keys.insert(extra.key()).second) {
      return absl::InvalidArgumentError(
          fmt::format("table.extra_columns: '{}' is there twice; name each key once", extra.key()));
    }
  }
  table.extras_.resize(full.extra_columns_size());
  ASSIGN_OR_RETURN(table.filters_, TableFilter::AllOf(full.only(), "table.only"));
  if (table.LengthFilter() != nullptr && full.length() > 0) {
    return absl::InvalidArgumentError(fmt::format("table.length: {}, and table.only names lengths; leave one of them out", full.length()));
  }
  if (table.LengthFilter() != nullptr && full.metric() == kTrainingLoss) return absl::InvalidArgumentError("table.only: losses of training have no test length; leave out 'length', or choose another metric");

  ASSIGN_OR_RETURN(table.published_, PublishedCells::Of(full));
  for (const catalog::SliceAxis& axis : catalog::SliceAxes()) {
    const bool filtered = std::ranges::find(table.filters_, axis.name, &TableFilter::axis) != table.filters_.end();
    if (filtered || table.IsAxis(axis.name)) table.slice_axes_.emplace_back(axis.name);
  }
  return table;
}

std::vector<std::string> ResultsTable::SettingAxes() const {
  std::set<std::string> axes(row_axes_.axes().begin(), row_axes_.axes().end());
  axes.insert(column_axes_.axes().begin(), column_axes_.axes().end());
  axes.insert(best_of_.axes().begin(), best_of_.axes().end());
  for (const TableFilter& filter : filters_) axes.insert(filter.axis());
  std::erase_if(axes, [](const std::string& axis) { return !IsSettingPath(axis); });
  return {axes.begin(), axes.end()};
}

const TableFilter* ResultsTable::LengthFilter() const {
  const auto found = std::ranges::find(filters_, "length", &TableFilter::axis);
  return found == filters_.end() ? nullptr : &*found;
}

bool ResultsTable::IsOverAllTests() const {
  return spec_.length() == 0 && !ByLength() && !IsOverLengths() && IsOfEachTest(metric_->name);
}

bool ResultsTable::AsksForLength(int length) const {
  const TableFilter* const some = LengthFilter();
  if (some == nullptr && !ByLength()) return length == spec_.length();
  TableJob at;
  at.length = length;
  return length > 0 && (some == nullptr || some->Has(at));
}

bool ResultsTable::TakesLength(int length) {
  const auto [found, added] = taken_lengths_.try_emplace(length, false);
  if (!added) return found->second;
  TableJob at;
  at.length = length;
  for (TableFilter& filter : filters_) {
    if (filter.axis() == "length" && length > 0) filter.See(at);
  }
  return found->second = AsksForLength(length);
}

std::string ResultsTable::AtLength() const {
  if (const TableFilter* const some = LengthFilter()) return fmt::format("at {}", some->Text());
  if (ByLength()) return "at a length";
  return spec_.length() == 0 ? "over all lengths" : fmt::format("at length {}", spec_.length());
}

bool ResultsTable::Chooses(const TableFilter& filter, bool extra) const {
  // Extra jobs are of no system of this sweep, and are a column themselves, whatever other columns are asked for. Lengths and slices are of
  // values: TakesLength(), TakesSlice().
  return !filter.IsOfValues() && !(extra && (filter.axis() == "system" || IsSettingPath(filter.axis()) || column_axes_.Has(filter.axis())));
}

bool ResultsTable::ChoosesAny(bool extra) const {
  return std::ranges::any_of(filters_, [&](const TableFilter& filter) { return Chooses(filter, extra); });
}

bool ResultsTable::IsWanted(const TableJob& job, bool extra) const {
  return std::ranges::all_of(filters_, [&](const TableFilter& filter) { return !Chooses(filter, extra) || filter.Has(job); });
}

bool ResultsTable::HasPlaceFor(const std::map<std::string, std::string, std::less<>>& keys) const {
  const auto is_named = [](const auto& order) { return std::ranges::find(order, catalog::kWholeSlice) != order.end(); };
  for (const auto& [axis, key] : catalog::SliceKeys(spec_.slice())) {
    if (const auto found = keys.find(axis); found == keys.end() || found->second != key) return false;
  }
  for (const std::string& axis : slice_axes_) {
    if (keys.contains(axis)) continue;
    if (row_axes_.Has(axis) && !is_named(spec_.row_order())) return false;
    if (column_axes_.Has(axis) && !is_named(spec_.column_order())) return false;
  }
  return true;
}

std::set<std::vector<std::string>> ResultsTable::PublishedOn(const std::vector<std::string>& axes) const {
  std::set<std::vector<std::string>> all = published_.KeysOn(axes);
  std::erase_if(all, [&](const std::vector<std::string>& keys) {
    TableJob at;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] == "length") at.length = static_cast<int>(ParseInteger(keys[i]).value_or(0));
      else if (keys[i] != catalog::kWholeSlice) at.slice[axes[i]] = keys[i];
    }
    return !HasPlaceFor(at.slice) || !std::ranges::all_of(filters_, [&at](const TableFilter& filter) { return !filter.IsOfValues() || filter.Has(at); });
  });
  return all;
}

bool ResultsTable::TakesSlice(const std::map<std::string, std::string, std::less<>>& keys) {
  if (!HasPlaceFor(keys)) return false;
  TableJob at;
  at.slice = keys;
  bool taken = true;
  for (TableFilter& filter : filters_) {
    if (!filter.IsOfValues() || filter.axis() == "length") continue;
    if (keys.contains(filter.axis())) filter.See(at);
    taken = taken && filter.Has(at);
  }
  return taken;
}

absl::Status ResultsTable::CheckOnlyOf(const v1::SweepSpec& sweep) {
  if (!SeeAxesOf(sweep, filters_)) return absl::OkStatus();  // Then a slip is told with the table.
  for (const TableFilter& filter : filters_) {
    if (filter.IsOfAxes()) RETURN_IF_ERROR(filter.Check());
  }
  return absl::OkStatus();
}

absl::Status ResultsTable::CheckBestOf(const v1::SweepSpec& sweep) const {
  if (!best_of_.Has("system") || sweep.systems_size() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("table.best_of: 'system': the sweep has no systems; name learning_rate, say");
}

absl::Status ResultsTable::CheckOnly() const {
  for (const TableFilter& filter : filters_) RETURN_IF_ERROR(filter.Check());
  return absl::OkStatus();
}

void ResultsTable::AddWithoutCell(const TableJob& job) {
  for (TableFilter& filter : filters_) {
    if (!filter.IsOfValues()) filter.See(job);
  }
  if (!IsWanted(job, false) || job.again) return;
  if (job.state == store::State::kWaiting) ++waiting_;
  if (job.state == store::State::kQueued) ++queued_;
  if (job.state == store::State::kLeased) ++leased_;
  if (job.state == store::State::kCancelled) ++cancelled_;
}

void ResultsTable::AddToCome(int64_t jobs, bool cancelled) {
  if (ChoosesAny(false)) (cancelled ? never_came_ : to_come_) += jobs;
  else (cancelled ? cancelled_ : waiting_) += jobs;
}

void ResultsTable::SeeToCome(const v1::SweepSpec& sweep, std::span<const SettingsByJob> settings) {
  SeeAxesOf(sweep, filters_);
  for (const SettingsByJob& of_system : settings) SeeSettings(of_system, filters_);
}

void ResultsTable::AddExtraToCome(int column, int64_t jobs, bool cancelled) {
  Extra& extra = extras_[column];
  if (ChoosesAny(true)) (cancelled ? extra.never_came : extra.to_come) += jobs;
  else (cancelled ? extra.cancelled : extra.open) += jobs;
}

void ResultsTable::SeeLengthsOf(const TableJob& job) {
  if (job.value.has_value() && !job.lengths.empty()) SeeLengths(job.lengths);
}

void ResultsTable::Add(const TableJob& job) {
  AddWithoutCell(job);
  if (too_large_ || !IsWanted(job, false)) return;
  SeeLengthsOf(job);
  Cell* const cell = CellFor(job);
  if (cell == nullptr) return;
  const std::string group = GroupOf(job);
  if (cell->Add(job, group, metric_->factor)) mixed_.Add(cell->groups[group].mixture, job);
}

ResultsTable::Cell* ResultsTable::CellFor(const TableJob& job) {
  PlacedCell* const before = last_.at;
  const bool same_row = before != nullptr && row_axes_.SameKey(job, last_.job), same_column = before != nullptr && column_axes_.SameKey(job, last_.job);
  if (same_row && same_column) return &before->second.cell;
  Place place(same_row ? before->first.first : row_axes_.KeyOf(job), same_column ? before->first.second : column_axes_.KeyOf(job));
  PlacedCell* at = before == nullptr ? nullptr : before->second.next;
  if (at == nullptr || at->first != place) {
    const auto [found, is_new] = cells_.try_emplace(std::move(place));
    at = &*found;
    if (is_new) {
      rows_.insert(at->first.first);
      columns_.insert(at->first.second);
      too_large_ = IsTooLarge();
      if (too_large_) return nullptr;
    }
    if (before != nullptr) before->second.next = at;
  }
  last_.job = job;
  last_.at = at;
  return &at->second.cell;
}

std::string ResultsTable::GroupOf(const TableJob& job) const { return best_of_.axes().empty() ? std::string() : best_of_.KeyOf(job); }

std::map<std::string, CellJobs::Group>::const_iterator ResultsTable::Shown(const Cell& cell) const {
  const std::set<std::string> best = cell.Best(spec_.aggregate(), metric_->better == catalog::Better::kHigher);
  if (best.size() < 2) return best.empty() ? cell.groups.end() : cell.groups.find(*best.begin());
  return cell.groups.find(best_of_.InOrder(best, {}).front());
}

MixedAxes ResultsTable::Mixed() const {
  MixedAxes mixed = mixed_;
  for (const auto& [place, placed] : cells_) {
    const auto shown = Shown(placed.cell);
    if (shown != placed.cell.groups.end()) mixed.Count(shown->second.mixture);
  }
  return mixed;
}

absl::Status ResultsTable::CheckSize() const {
  if (!too_large_) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format("{} by {} is a table of more than {} cells; name some values with --only, or other rows and columns",
                                                  spec_.rows(), spec_.columns(), kMaxCells));
}

bool ResultsTable::IsTooLarge() const { return rows_.size() * (columns_.size() + extras_.size()) > kMaxCells; }

void ResultsTable::AddExtra(int column, const TableJob& job) {
  Extra& extra = extras_[column];
  if (too_large_ || !IsWanted(job, true)) return;
  SeeLengthsOf(job);
  if (extra.last.cell == nullptr || !row_axes_.SameKey(job, extra.last.job)) {
    extra.last = {.job = job, .cell = &extra.cells[row_axes_.KeyOf(job)]};
    too_large_ = extra.cells.size() > kMaxCells;
  }
  extra.last.cell->Add(job, GroupOf(job), metric_->factor);
  if (job.again) return;
  if (IsOpen(job.state)) ++extra.open;
  if (job.state == store::State::kCancelled) ++extra.cancelled;
}

void ResultsTable::SetExtraMissing(int column) { extras_[column].missing = true; }

void ResultsTable::SetExtraDiffers(int column, const std::set<std::string>& settings) {
  extras_[column].differences.assign(settings.begin(), settings.end());
}

const ResultsTable::Cell* ResultsTable::Find(const v1::Table& table, int row, int column) const {
  const std::string& row_key = table.rows(row).key();
  const int own_columns = static_cast<int>(columns_.size());
  if (column < own_columns) {
    const auto found = cells_.find({row_key, table.columns(column).key()});
    return found == cells_.end() ? nullptr : &found->second.cell;
  }
  const Extra& extra = extras_[column - own_columns];
  const auto found = extra.cells.find(row_key);
  return found == extra.cells.end() ? nullptr : &found->second;
}

const catalog::PublishedValue* ResultsTable::PublishedAt(const v1::Table& table, int row, int column) const {
  const Cell* found = Find(table, row, column);
  return published_.Find(table.rows(row).key(), table.columns(column).key(), found == nullptr ? "" : found->data);
}

v1::TableCell ResultsTable::CellOf(const v1::Table& table, int row, int column) const {
  v1::TableCell out;
  const Cell* found = Find(table, row, column);
  if (const catalog::PublishedValue* published = PublishedAt(table, row, column)) {
    out.set_published(published->value);
    out.set_published_text(published->text);
  }
  if (found == nullptr) return out;
  const auto shown = Shown(*found);
  SetMeasured(out, *found, spec_.aggregate(), shown == found->groups.end() ? nullptr : &shown->second);
  if (!best_of_.axes().empty() && shown != found->groups.end()) out.set_best_of(shown->first);
  return out;
}

void ResultsTable::MarkBest(v1::Table& table) const {
  if (column_axes_.IsOfValues() || column_axes_.Has("task")) return;  // Which length or task is easiest is not what is asked.
  if (metric_->better == catalog::Better::kNeither) return;
  const bool higher = metric_->better == catalog::Better::kHigher;
  const int columns = table.columns_size();
  for (int row = 0; row < table.rows_size(); ++row) {
    std::vector<double> measured;
    std::vector<double> published;
    for (int column = 0; column < columns; ++column) {
      const v1::TableCell& cell = table.cells(row * columns + column);
      if (cell.has_measured()) measured.push_back(cell.measured());
      if (cell.has_published()) published.push_back(cell.published());
    }
    const std::optional<double> best = BestOf(measured, higher);
    const std::optional<double> published_best = BestOf(published, higher);
    for (int column = 0; column < columns; ++column) {
      v1::TableCell& cell = *table.mutable_cells(row * columns + column);
      cell.set_best(cell.has_measured() && best == cell.measured());
      cell.set_published_best(cell.has_published() && published_best == cell.published());
    }
  }
}

v1::Table ResultsTable::Build() const {
  v1::Table table;
  table.set_title(spec_.title());
  table.set_metric(spec_.metric());
  table.set_unit(std::string(metric_->unit));
  for (const std::string& key : row_axes_.InOrder(rows_, spec_.row_order())) {
    *table.add_rows() = row_axes_.EntryOf(key);
  }
  for (const std::string& key : column_axes_.InOrder(columns_, spec_.column_order())) {
    *table.add_columns() = column_axes_.EntryOf(key);
  }
  for (const v1::ExtraColumn& extra : spec_.extra_columns()) {
    v1::TableAxisEntry* entry = table.add_columns();
    entry->set_key(extra.key());
    entry->set_label(extra.label().empty() ? extra.key() : extra.label());
  }
  for (int row = 0; row < table.rows_size(); ++row) {
    for (int column = 0; column < table.columns_size(); ++column) *table.add_cells() = CellOf(table, row, column);
  }
  MarkBest(table);
  const int published_pairs = spec_.gain() ? AddGain(row_axes_, column_axes_, table) : 0;
  // It is of the whole published table, and says nothing of a part.
  if (spec_.has_published_gain() && published_pairs > 0 && published_pairs == published_.RandomizedPairs()) table.set_published_gain_stated(spec_.published_gain());
  AddNotes(table);
  return table;
}

}  // namespace longreach::service
