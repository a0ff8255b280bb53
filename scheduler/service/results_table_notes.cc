// What a reader must know beside the numbers of a table: jobs that are in no cell, cells of several builds or engines, what was published otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "proto/base/text.h"
#include "proto/catalog/aggregates.h"
#include "scheduler/service/results_table.h"
#include "scheduler/service/test_lengths.h"

namespace longreach::service {
namespace {

// "1 job is", "3 jobs are".
std::string Count(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Of jobs that are not there, and of which nobody knows yet whether a table is of them.
std::string AsTheyMayBe(int64_t count) { return count == 1 ? "which may be asked for" : "some of which may be asked for"; }

std::string CellName(const v1::Table& table, int cell) {
  return fmt::format("{} / {}", table.rows(cell / table.columns_size()).label(), table.columns(cell % table.columns_size()).label());
}

// For each of `entries` the first that has the same jobs, at another length or in another slice. Those from `own` on are columns from elsewhere,
// which have jobs of their own.
std::vector<int> FirstsOfTheSameJobs(const TableSide& side, const google::protobuf::RepeatedPtrField<v1::TableAxisEntry>& entries, int own) {
  std::vector<int> firsts;
  std::map<std::string, int> first_of;
  for (int i = 0; i < entries.size(); ++i) {
    firsts.push_back(i < own ? first_of.try_emplace(side.JobsKeyOf(entries[i].key()), i).first->second : i);
  }
  return firsts;
}

// Jobs of one system without a value. Systems are tested at lengths (and in bins) of their own: what no job of a system has was not asked of it,
// unless none has anything, or the sweep says that it was.
struct Unmeasured {
  int anywhere = 0;  // The most in one cell,
  int asked = 0;     // and in one of those in which the system has values, or was to have some.
  bool system_is_measured = false;
};

}  // namespace

void AddTypedNote(v1::Table& table, v1::TableNote::Kind kind, const std::string& axis, const std::string& text) {
  table.add_notes(text);
  v1::TableNote& note = *table.add_typed_notes();
  note.set_kind(kind);
  note.set_axis(axis);
  note.set_text(text);
}

void ResultsTable::AddNotes(v1::Table& table) const {
  for (const TableFilter& filter : filters_) {
    const bool means = &filter == LengthFilter() && IsOverLengths() && !filter.IsSingle();
    AddTypedNote(table, v1::TableNote::KIND_ONLY, filter.axis(),
                 fmt::format("only {}{}{}", filter.IsOfValues() ? "" : "jobs with ", filter.Text(), means ? ": of each job the mean over " + LengthsOfMeans() : ""));
  }
  AddNotesOnJobs(table);
  AddNotesOnMakers(table);
  if (const std::string mixed = Mixed().Note(spec_); !mixed.empty()) AddTypedNote(table, v1::TableNote::KIND_MIXED, "", mixed);
  else AddNoteOnNumbers(table);
  AddNotesOnBestOf(table);
  AddNoteOnTests(table);
  for (int i = 0; i < spec_.extra_columns_size(); ++i) AddNotesOnExtra(table, i);
  AddNotesOnPublished(table);
}

std::string ResultsTable::LengthsOfMeans() const {
  if (lengths_.size() != 1) return "them";
  const size_t count = lengths_.begin()->size();
  return fmt::format("the {} of them that it has values at", count == 1 ? "one" : fmt::format("{}", count));
}

bool ResultsTable::IsTestedAt(const std::string& system, const v1::Table& table, int row, int column) const {
  const auto lengths = test_lengths_.find(system);
  if (lengths == test_lengths_.end()) return false;
  const std::string length = row_axes_.Has("length") ? row_axes_.KeyOn("length", table.rows(row).key()) : column_axes_.KeyOn("length", table.columns(column).key());
  return lengths->second.contains(static_cast<int>(ParseInteger(length).value_or(0)));
}

ResultsTable::LeftOut ResultsTable::LeftOutOf(const v1::Table& table, int first_column, int columns) const {
  LeftOut left_out;
  std::map<std::pair<int, std::string>, Unmeasured> unmeasured_of;  // By the first cell of the same jobs, and by system.
  const std::vector<int> first_rows = FirstsOfTheSameJobs(row_axes_, table.rows(), table.rows_size());
  const std::vector<int> first_columns = FirstsOfTheSameJobs(column_axes_, table.columns(), static_cast<int>(columns_.size()));
  for (int row = 0; row < table.rows_size(); ++row) {
    for (int column = first_column; column < first_column + columns; ++column) {
      const Cell* found = Find(table, row, column);
      if (found == nullptr) continue;
      const int first = first_rows[row] * table.columns_size() + first_columns[column];
      for (const auto& [system, jobs] : found->unmeasured) {
        Unmeasured& of = unmeasured_of[{first, system}];
        of.anywhere = std::max(of.anywhere, jobs);
        if (found->measured_systems.contains(system) || IsTestedAt(system, table, row, column)) of.asked = std::max(of.asked, jobs);
      }
      for (const std::string& system : found->measured_systems) unmeasured_of[{first, system}].system_is_measured = true;
      if (first != row * table.columns_size() + column) continue;
      left_out.failed += found->failed;
      left_out.diverged += found->diverged;
    }
  }
  for (const auto& [of, jobs] : unmeasured_of) left_out.unmeasured += jobs.system_is_measured ? jobs.asked : jobs.anywhere;
  return left_out;
}

std::string ResultsTable::WithoutValue() const {
  std::vector<std::string> some = slice_axes_;
  if (ByLength()) some.insert(some.begin(), "length");
  const std::string at = some.empty() ? AtLength() : fmt::format("at some {}", Join(some, " and "));
  return fmt::format("without a value of {} {}{}", spec_.metric(), at, spec_.slice().empty() ? "" : fmt::format(" in slice '{}'", spec_.slice()));
}

void ResultsTable::AddNotesOnJobs(v1::Table& table) const {
  const LeftOut left_out = LeftOutOf(table, 0, static_cast<int>(columns_.size()));
  const int64_t open = waiting_ + queued_ + leased_;
  if (open > 0) {
    std::vector<std::string> states;
    if (waiting_ > 0) states.push_back(fmt::format("{} waiting", waiting_));
    if (queued_ > 0) states.push_back(fmt::format("{} queued", queued_));
    if (leased_ > 0) states.push_back(fmt::format("{} running", leased_));
    table.add_notes(fmt::format("{} not finished ({}): the table will change", Count(open, "job is", "jobs are"), Join(states, ", ")));
  }
  if (to_come_ > 0) {
    table.add_notes(fmt::format("{} still to come, {}: the table may change", Count(to_come_, "job of the sweep is", "jobs of the sweep are"), AsTheyMayBe(to_come_)));
  }
  if (left_out.failed > 0) {
    table.add_notes(Count(left_out.failed, "job failed and counts in no cell", "jobs failed and count in no cell"));
  }
  if (cancelled_ > 0) {
    table.add_notes(Count(cancelled_, "job was cancelled and counts in no cell", "jobs were cancelled and count in no cell"));
  }
  if (never_came_ > 0) {
    table.add_notes(fmt::format("{} there, {}", Count(never_came_, "job of the sweep was cancelled before it was", "jobs of the sweep were cancelled before they were"),
                                AsTheyMayBe(never_came_)));
  }
  if (left_out.diverged > 0) {
    table.add_notes(fmt::format("{} (the loss was not finite)", Count(left_out.diverged, "job diverged and counts in no cell",
                                                                     "jobs diverged and count in no cell")));
  }
  AddNoteOnLengths(table);
  if (left_out.unmeasured > 0) {
    table.add_notes(fmt::format("{} {}{}", Count(left_out.unmeasured, "job succeeded", "jobs succeeded"), WithoutValue(),
                                why_unmeasured_.empty() ? "" : ": " + why_unmeasured_));
  }
}

// Columns from elsewhere are what a paper made of as many jobs as it had.
void ResultsTable::AddNoteOnNumbers(v1::Table& table) const {
  if (spec_.aggregate() != "max" && spec_.aggregate() != "min") return;
  std::set<int> numbers;
  for (int i = 0; i < table.cells_size(); ++i) {
    const bool own = i % table.columns_size() < static_cast<int>(columns_.size());
    if (own && table.cells(i).has_measured()) numbers.insert(table.cells(i).jobs());
  }
  if (numbers.size() < 2) return;
  table.add_notes(fmt::format("cells are the {} over {} to {} jobs: over more of them it is {} by chance alone; --aggregate mean is not",
                              catalog::AggregateInWords(spec_.aggregate()), *numbers.begin(), *numbers.rbegin(), spec_.aggregate() == "max" ? "higher" : "lower"));
}

// What was chosen, and where the choice was not a fair one: the values of one cell stand for unlike numbers of jobs, as where some diverged, or one
// system was tried with more of them.
void ResultsTable::AddNotesOnBestOf(v1::Table& table) const {
  if (best_of_.axes().empty()) return;
  const std::string axes = Join(best_of_.axes(), " and ");
  std::map<std::string, int> cells_of;
  std::set<size_t> choices;
  std::vector<std::string> uneven, tied;
  for (int i = 0; i < table.cells_size(); ++i) {
    const Cell* const cell = Find(table, i / table.columns_size(), i % table.columns_size());
    if (cell == nullptr || cell->groups.empty()) continue;
    ++cells_of[table.cells(i).best_of()];
    choices.insert(cell->groups.size());
    std::set<size_t> jobs;
    for (const auto& [value, group] : cell->groups) jobs.insert(group.by_job.size());
    if (jobs.size() > 1) uneven.push_back(fmt::format("{} ({} to {})", CellName(table, i), *jobs.begin(), *jobs.rbegin()));
    const size_t best = cell->Best(spec_.aggregate(), metric_->better == catalog::Better::kHigher).size();
    if (best > 1) tied.push_back(fmt::format("{} ({} values)", CellName(table, i), best));
  }
  if (cells_of.empty()) return;
  std::set<std::string> chosen;
  for (const auto& [value, count] : cells_of) chosen.insert(value);
  std::vector<std::string> counted;
  for (const std::string& value : best_of_.InOrder(chosen, {})) {
    counted.push_back(fmt::format("{} in {}", value.empty() ? "none" : value, Count(cells_of.at(value), "cell", "cells")));
  }
  table.add_notes(fmt::format("cells are the {} at the best {}, chosen by these values themselves: {}", catalog::AggregateInWords(spec_.aggregate()), axes,
                              JoinSome(counted)));
  if (!tied.empty()) {
    table.add_notes(fmt::format("{} equally good at several values of {}, of which the first is shown: {}", Count(static_cast<int>(tied.size()), "cell is", "cells are"), axes,
                                JoinSome(tied)));
  }
  if (choices.size() > 1) {
    table.add_notes(fmt::format("of {} cells have {} to {} to choose from: the best of more is better by chance alone", axes, *choices.begin(), *choices.rbegin()));
  }
  if (!uneven.empty()) {
    table.add_notes(fmt::format("{} of {} over unlike numbers of jobs: {}", Count(static_cast<int>(uneven.size()), "cell compares values", "cells compare values"),
                                axes, JoinSome(uneven)));
  }
}

std::set<std::string> ResultsTable::MeasuredSystems() const {
  std::set<std::string> systems;
  for (const auto& [at, placed] : cells_) systems.insert(placed.cell.measured_systems.begin(), placed.cell.measured_systems.end());
  return systems;
}

void ResultsTable::AddNoteOnTests(v1::Table& table) const {
  if (!IsOverAllTests()) return;
  std::map<std::string, std::set<int>> tested;
  for (const std::string& system : MeasuredSystems()) {
    if (const auto lengths = test_lengths_.find(system); lengths != test_lengths_.end()) tested.insert(*lengths);
  }
  if (const std::string note = NoteOnTestLengths(tested); !note.empty()) table.add_notes(note);
}

void ResultsTable::AddNoteOnLengths(v1::Table& table) const {
  if (lengths_.size() < 2) return;
  std::set<size_t> counts;
  for (const std::vector<int>& lengths : lengths_) counts.insert(lengths.size());
  const std::string which = counts.size() == 1 ? "other ones of these lengths than others"
                                               : fmt::format("fewer of these lengths than others, {} to {}", *counts.begin(), *counts.rbegin());
  table.add_notes(fmt::format("some jobs have values at {}: their means are of other tests", which));
}

void ResultsTable::AddNotesOnMakers(v1::Table& table) const {
  std::vector<std::string> builds, engines;
  for (int i = 0; i < table.cells_size(); ++i) {
    const Cell* const cell = Find(table, i / table.columns_size(), i % table.columns_size());
    if (cell == nullptr) continue;
    if (cell->builds.size() > 1) builds.push_back(fmt::format("{} ({} builds)", CellName(table, i), cell->builds.size()));
    if (cell->engines.size() > 1) engines.push_back(fmt::format("{} ({})", CellName(table, i), Join({cell->engines.begin(), cell->engines.end()}, ", ")));
  }
  const auto cells = [](const std::vector<std::string>& names) { return Count(static_cast<int64_t>(names.size()), "cell was", "cells were"); };
  if (!builds.empty()) table.add_notes(fmt::format("{} made by more than one build: {}", cells(builds), JoinSome(builds)));
  if (!engines.empty()) table.add_notes(fmt::format("{} made by more than one engine, which do not round alike: {}", cells(engines), JoinSome(engines)));
}

void ResultsTable::AddNotesOnExtra(v1::Table& table, int index) const {
  const v1::ExtraColumn& column = spec_.extra_columns(index);
  const Extra& extra = extras_[index];
  const std::string& label = column.label().empty() ? column.key() : column.label();
  const std::string of = column.sweep().empty() ? fmt::format("behind the input '{}'", column.input()) : fmt::format("of the sweep '{}'", column.sweep());
  const auto note = [&](int64_t jobs, std::string_view what) {
    if (jobs > 0) table.add_notes(fmt::format("{}: {} {} {}", label, Count(jobs, "job", "jobs"), of, what));
  };
  if (extra.missing) {
    table.add_notes(column.sweep().empty() ? fmt::format("{}: not measured, as no job of this sweep has an input '{}'", label, column.input())
                                           : fmt::format("{}: not measured, as the sweep '{}' has not been submitted", label, column.sweep()));
  }
  note(extra.open, "not finished yet");
  note(extra.to_come, fmt::format("still to come, {}", AsTheyMayBe(extra.to_come)));
  note(extra.cancelled, "cancelled and in no cell");
  note(extra.never_came, fmt::format("cancelled before {} there, {}", extra.never_came == 1 ? "it was" : "they were", AsTheyMayBe(extra.never_came)));
  const LeftOut left_out = LeftOutOf(table, static_cast<int>(columns_.size()) + index, 1);
  note(left_out.failed, "failed and in no cell");
  note(left_out.diverged, "diverged and in no cell (the loss was not finite)");
  note(left_out.unmeasured, WithoutValue());
  if (!extra.differences.empty()) {
    table.add_notes(fmt::format("{}: of other settings: the sweep '{}' differs from this one in {}", label, column.sweep(), JoinSome(extra.differences)));
  }
}

void ResultsTable::AddNotesOnPublished(v1::Table& table) const {
  bool any_published = false;
  std::vector<std::string> as_printed;
  for (int i = 0; i < table.cells_size(); ++i) {
    any_published |= table.cells(i).has_published();
    if (const catalog::PublishedValue* published = PublishedAt(table, i / table.columns_size(), i % table.columns_size());
        published != nullptr && (published->text.starts_with('>') || published->text.ends_with('?'))) {
      as_printed.push_back(fmt::format("{} ({})", CellName(table, i), published->text));
    }
  }
  if (!as_printed.empty()) {
    table.add_notes(fmt::format("{} no plain number ('>': more than that, '?': uncertain, as the text that it is from is garbled): {}",
                                Count(static_cast<int>(as_printed.size()), "published value is", "published values are"), JoinSome(as_printed)));
  }
  if (!spec_.published().empty() && !any_published) {
    table.add_notes(fmt::format("no value of the published table '{}' belongs to a cell of this one", spec_.published()));
  }
  if (any_published) AddNoteOnRowless(table);
}

void ResultsTable::AddNoteOnRowless(v1::Table& table) const {
  // A sweep names its systems as it likes, so that values may miss their row unseen; which tasks and encodings there are has been asked for.
  if (!row_axes_.Is("system") || std::ranges::find(filters_, spec_.rows(), &TableFilter::axis) != filters_.end()) return;
  std::set<std::string> corpora;
  for (const auto& [at, placed] : cells_) corpora.insert(placed.cell.data);
  std::set<const catalog::PublishedValue*> values;
  std::vector<std::string> systems;
  for (const std::string& row : published_.Rows()) {
    if (rows_.contains(row)) continue;
    const size_t before = values.size();
    for (const std::string& data : corpora) {
      for (const std::string& column : columns_) values.insert(published_.Find(row, column, data));
    }
    values.erase(nullptr);
    if (values.size() > before) systems.push_back(row);
  }
  if (values.empty()) return;
  table.add_notes(fmt::format("{} beside no row: {}", Count(static_cast<int64_t>(values.size()), "published value stands", "published values stand"), JoinSome(systems)));
}

}  // namespace longreach::service
