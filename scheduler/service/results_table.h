// From jobs and their values to a table as a paper prints it: rows and columns in order, one aggregate per cell, the best of
// each row, published values beside, the gain of randomized encodings, and notes on what a reader must know. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/catalog/catalog.h"
#include "proto/types/settings.h"
#include "scheduler/service/mixed_axes.h"
#include "scheduler/service/published_cells.h"
#include "scheduler/service/table_axes.h"
#include "scheduler/service/table_cell.h"
#include "scheduler/service/table_filter.h"
#include "scheduler/service/table_side.h"

namespace longreach::service {

// A note that programs act on: they go by its kind and axis, whatever its words are.
void AddTypedNote(v1::Table& table, v1::TableNote::Kind kind, const std::string& axis, const std::string& text);

class ResultsTable {
 public:
  // Fields of `spec` that are empty mean: the usual axes of a sweep without systems (proto/types/usual_axes.h), the metric `main_metric` (losses of training where steps are an axis), and the aggregate that TableSpec says.
  // INVALID_ARGUMENT: an unknown axis, metric, aggregate or published table, a negative length, the same twice.
  static absl::StatusOr<ResultsTable> Of(const v1::TableSpec& spec, std::string_view main_metric);

  ResultsTable(ResultsTable&&) = default;
  ResultsTable& operator=(ResultsTable&&) = default;

  // The specification with what was empty filled in.
  const v1::TableSpec& spec() const { return spec_; }
  // Rows or columns are lengths: each job is added once for each of its test lengths.
  bool ByLength() const { return IsAxis("length"); }
  // It is among the rows or the columns.
  bool IsAxis(std::string_view axis) const { return row_axes_.Has(axis) || column_axes_.Has(axis); }

  // spec().only() names lengths, which are no axis: of each job the mean of its values at them is added, as the score over all lengths is a mean.
  // So the best of a cell is a job's, and not that of the easiest length.
  bool IsOverLengths() const { return LengthFilter() != nullptr && !ByLength(); }
  // Values are over all the lengths of tests.
  bool IsOverAllTests() const;
  // Values at this length (0: over all) have a place: at the one that is asked for, or at those of spec().only(), or at all of an axis.
  bool AsksForLength(int length) const;
  // The same of one at which something was measured.
  bool TakesLength(int length);
  // "over all lengths", "at length 40", "at length 41 to 60", "at a length".
  std::string AtLength() const;

  // The settings that the table is asked for by: jobs are added with their values.
  std::vector<std::string> SettingAxes() const;
  // Axes of slices that the table is asked for by: each job is added once for each value of them, as for each length.
  const std::vector<std::string>& slice_axes() const { return slice_axes_; }
  // A measurement with these coordinates has its place on those axes, and spec().only() asks for it.
  bool TakesSlice(const std::map<std::string, std::string, std::less<>>& keys);

  // Where published values stand on `axes`, of slices and lengths, as far as the table is asked for by these: PublishedCells::KeysOn().
  std::set<std::vector<std::string>> PublishedOn(const std::vector<std::string>& axes) const;

  // What spec().only() says of a job; `extra`: one for AddExtra().
  bool IsWanted(const TableJob& job, bool extra) const;
  // A job that is not wanted counts in no cell.
  void Add(const TableJob& job);
  // A job for which there is no column or row, as nothing was measured yet: it counts in the notes alone.
  void AddWithoutCell(const TableJob& job);
  // So many jobs of the sweep are still to come; of a cancelled sweep they are cancelled. Which of them are wanted is not known before they are there.
  void AddToCome(int64_t jobs, bool cancelled);
  // Values that they will have, by the sweep's specification and the settings of its systems: spec().only() may name these.
  void SeeToCome(const v1::SweepSpec& sweep, std::span<const SettingsByJob> settings);
  // A job of those that spec().extra_columns(column) names.
  void AddExtra(int column, const TableJob& job);
  // By system, at which lengths its jobs were to have the metric: whether they lack it elsewhere is not known, as each is tested at its own. What is
  // over all of other lengths is of other tests.
  void SetTestLengths(std::map<std::string, std::set<int>> by_system) { test_lengths_ = std::move(by_system); }
  // Stands behind the note on jobs that succeeded without a value; empty: nothing is known.
  void SetWhyUnmeasured(std::string why) { why_unmeasured_ = std::move(why); }
  // The systems of which a cell has a value that counts.
  std::set<std::string> MeasuredSystems() const;
  // Notes over which lengths, ascending, a value is a mean that counts. Those of a job say so themselves (TableJob.lengths); of slices each has its own.
  void SeeLengths(const std::vector<int>& lengths) { lengths_.insert(lengths); }
  // AddToCome() of its sweep.
  void AddExtraToCome(int column, int64_t jobs, bool cancelled);
  // There is no such sweep, or input.
  void SetExtraMissing(int column);
  // Its sweep has other settings than the table's, by their paths.
  void SetExtraDiffers(int column, const std::set<std::string>& settings);

  // RESOURCE_EXHAUSTED: more cells than anyone reads, or than an answer holds.
  absl::Status CheckSize() const;
  // The same of values that no job of the sweep will have, before there are any: of its axes and systems.
  absl::Status CheckOnlyOf(const v1::SweepSpec& sweep);
  // Refuses the best of its systems where a sweep has none.
  absl::Status CheckBestOf(const v1::SweepSpec& sweep) const;
  // INVALID_ARGUMENT: spec().only() names a value that none of the jobs has which were added, or are to come.
  absl::Status CheckOnly() const;
  v1::Table Build() const;

 private:
  ResultsTable() = default;

  using Cell = CellJobs;
  using Place = std::pair<std::string, std::string>;  // The keys of a row and a column.
  struct Placed;
  using PlacedCell = std::pair<const Place, Placed>;
  struct Placed {
    Cell cell = {};
    // Where the value behind one of this cell stood the last time. Each job has the same lengths or slices one after the other, so it is mostly the same place again,
    // and is not looked for among all.
    PlacedCell* next = nullptr;
  };
  // Neighbours are mostly of one cell, which is then looked for once.
  struct Last {
    TableJob job;
    Cell* cell = nullptr;
  };
  // A column that comes from another sweep.
  struct Extra {
    std::map<std::string, Cell> cells;  // By row.
    Last last = {};
    int64_t open = 0;
    int64_t cancelled = 0;
    int64_t to_come = 0;     // Wanted or not,
    int64_t never_came = 0;  // as are these, whose sweep was cancelled first.
    bool missing = false;  // There is no such sweep, or input.
    std::vector<std::string> differences = {};  // Its sweep's settings that are others.
  };

  // The cell of a job of the sweep, made where there is none. nullptr: the table is too large.
  Cell* CellFor(const TableJob& job);
  void SeeLengthsOf(const TableJob& job);
  // The slice, by its axes, is of spec().slice(), and what it lacks has a place among the rows or columns: the whole of an axis has where it is named.
  bool HasPlaceFor(const std::map<std::string, std::string, std::less<>>& keys) const;
  // nullptr: spec().only() names no lengths.
  const TableFilter* LengthFilter() const;
  // Of the sweep's jobs, or of extra ones, the filter wants some alone; any filter does.
  bool Chooses(const TableFilter& filter, bool extra) const;
  bool ChoosesAny(bool extra) const;
  // With room for the extra columns.
  bool IsTooLarge() const;
  // Of a job: its value of TableSpec.best_of, by which its cell has groups.
  std::string GroupOf(const TableJob& job) const;
  // Of the best groups of a cell the one that it shows, the first in the order of the axis; the end: no job has a value.
  std::map<std::string, Cell::Group>::const_iterator Shown(const Cell& cell) const;
  // With what the cells are over, each at the value of TableSpec.best_of that it shows.
  MixedAxes Mixed() const;
  // nullptr: no job. `column` counts the sweep's own columns, then the extra ones.
  const Cell* Find(const v1::Table& table, int row, int column) const;
  // nullptr: nothing was published for this cell.
  const catalog::PublishedValue* PublishedAt(const v1::Table& table, int row, int column) const;
  v1::TableCell CellOf(const v1::Table& table, int row, int column) const;
  void MarkBest(v1::Table& table) const;

  // Jobs that are in no cell, of some columns.
  struct LeftOut {
    int failed = 0;
    int diverged = 0;
    int unmeasured = 0;
  };
  LeftOut LeftOutOf(const v1::Table& table, int first_column, int columns) const;
  // SetTestLengths() says that the system's jobs were to have a value in this cell.
  bool IsTestedAt(const std::string& system, const v1::Table& table, int row, int column) const;
  void AddNotes(v1::Table& table) const;
  void AddNotesOnJobs(v1::Table& table) const;
  void AddNoteOnNumbers(v1::Table& table) const;
  void AddNotesOnBestOf(v1::Table& table) const;
  void AddNoteOnTests(v1::Table& table) const;
  void AddNoteOnLengths(v1::Table& table) const;
  // On what made its cells: builds and engines.
  void AddNotesOnMakers(v1::Table& table) const;
  void AddNotesOnExtra(v1::Table& table, int index) const;
  void AddNotesOnPublished(v1::Table& table) const;
  void AddNoteOnRowless(v1::Table& table) const;
  // A range names lengths that nothing was tested at, too: "the 2 of them that it has values at".
  std::string LengthsOfMeans() const;
  // "without a value of accuracy at length 40".
  std::string WithoutValue() const;

  v1::TableSpec spec_;
  TableSide row_axes_;
  TableSide column_axes_;
  TableSide best_of_;
  MixedAxes mixed_;  // Without a cell.
  const catalog::Metric* metric_ = nullptr;
  std::vector<TableFilter> filters_;
  std::vector<std::string> slice_axes_;
  std::map<int, bool> taken_lengths_;  // What TakesLength() has said.
  std::set<std::vector<int>> lengths_;  // What SeeLengths() was told.
  std::map<std::string, std::set<int>> test_lengths_;  // By system.
  std::string why_unmeasured_;
  std::set<std::string> rows_;
  std::set<std::string> columns_;
  std::map<Place, Placed> cells_;
  bool too_large_ = false;
  struct {
    TableJob job;
    PlacedCell* at = nullptr;
  } last_;
  std::vector<Extra> extras_;                                  // As in spec_.extra_columns().
  int64_t waiting_ = 0;
  int64_t queued_ = 0;
  int64_t leased_ = 0;
  int64_t cancelled_ = 0;
  int64_t to_come_ = 0;     // Wanted or not,
  int64_t never_came_ = 0;  // as are these, whose sweep was cancelled first.
  PublishedCells published_;
};

}  // namespace longreach::service
