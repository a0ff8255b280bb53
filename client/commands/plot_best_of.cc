#include "client/commands/plot_best_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "client/commands/paired_values.h"
#include "client/errors.h"
#include "client/output/text.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/axis_list.h"
#include "proto/types/settings.h"

namespace longreach::client {
namespace {

const v1::TableCell& AtPlace(const v1::Table& table, int row, int column) {
  const int place = row * table.columns_size() + column;
  return place < table.cells_size() ? table.cells(place) : v1::TableCell::default_instance();
}

bool IsHigherBetter(const v1::Table& choice) {
  const catalog::Metric* const metric = catalog::FindMetric(choice.metric());
  return metric == nullptr || metric->better == catalog::Better::kHigher;
}

// The columns where a line's value is best: one, or those that are equally good. None where it has no value.
std::vector<int> BestColumns(const v1::Table& choice, int row) {
  const bool higher = IsHigherBetter(choice);
  std::vector<int> best;
  for (int column = 0; column < choice.columns_size(); ++column) {
    const v1::TableCell& cell = AtPlace(choice, row, column);
    if (!cell.has_measured() || !std::isfinite(cell.measured())) continue;
    const double value = cell.measured(), of_best = best.empty() ? value : AtPlace(choice, row, best.front()).measured();
    if (value != of_best && (value > of_best) != higher) continue;
    if (value != of_best) best.clear();
    best.push_back(column);
  }
  return best;
}

// The key of a line at a value, which is that of several axes already where it is of several.
std::string KeyAt(const std::string& line, const std::string& value, size_t axes) {
  std::vector<std::string> keys = SplitKeys(value, axes);
  keys.insert(keys.begin(), line);
  return JoinKeys(keys);
}

// The same of the values of a line as tables say of those of a cell, and what else a reader must know of the values that were chosen by: what is
// typed says what they are, and the lines are of others.
void AddNotesOnChoices(const v1::Table& choice, const std::string& axes, v1::Table& table) {
  for (const std::string& note : choice.notes()) {
    const bool typed = std::ranges::any_of(choice.typed_notes(), [&note](const v1::TableNote& one) { return one.text() == note; });
    if (!typed && std::ranges::find(table.notes(), note) == table.notes().end()) table.add_notes(note);
  }
  std::set<int> choices;
  std::vector<std::string> uneven, tied;
  for (int row = 0; row < choice.rows_size(); ++row) {
    std::set<int> jobs;
    int count = 0;
    for (int column = 0; column < choice.columns_size(); ++column) {
      const v1::TableCell& cell = AtPlace(choice, row, column);
      if (!cell.has_measured()) continue;
      ++count;
      jobs.insert(cell.measured_jobs());
    }
    if (count > 0) choices.insert(count);
    if (jobs.size() > 1) uneven.push_back(fmt::format("{} ({} to {})", LabelOf(choice.rows(row)), *jobs.begin(), *jobs.rbegin()));
    if (const size_t best = BestColumns(choice, row).size(); best > 1) tied.push_back(fmt::format("{} ({} values)", LabelOf(choice.rows(row)), best));
  }
  if (!tied.empty()) {
    table.add_notes(fmt::format("{} equally good at several values of {}, of which the first is drawn: {}", tied.size() == 1 ? "1 line is" : fmt::format("{} lines are", tied.size()), axes,
                                JoinSome(tied)));
  }
  if (choices.size() > 1) {
    table.add_notes(fmt::format("of {} lines have {} to {} to choose from: the best of more is better by chance alone", axes, *choices.begin(), *choices.rbegin()));
  }
  if (!uneven.empty()) {
    table.add_notes(fmt::format("{} over unlike numbers of jobs: {}", uneven.size() == 1 ? fmt::format("1 line compares values of {}", axes)
                                                                                           : fmt::format("{} lines compare values of {}", uneven.size(), axes), JoinSome(uneven)));
  }
}

}  // namespace

absl::Status CheckBestOf(const std::vector<std::string>& best_of, const PlotAxes& axes) {
  for (const std::string& axis : best_of) {
    if (axes.Has(axis)) return UsageError(fmt::format("--best-of {}: it is an axis of this figure", axis), "leave it out, or choose other --x, --lines and --panels");
  }
  for (const auto& [option, axis] : {std::pair("--lines", axes.lines), std::pair("--panels", axes.panels)}) {
    if (best_of.empty() || axis == "none" || IsPairAxis(axis) || IsSettingPath(axis)) continue;
    return UsageError(fmt::format("--best-of beside {} {}: that is of the values of one job, of which each would have another best", option, axis),
                      fmt::format("choose other {}, or one value with --only {}=VALUE", option, Join(best_of, "=VALUE --only ")));
  }
  return absl::OkStatus();
}

v1::Table AtBestValues(const v1::Table& choice, const v1::Table& by_value, const std::vector<std::string>& best_of) {
  v1::Table table = by_value;
  table.clear_rows();
  table.clear_cells();
  AddNotesOnChoices(choice, Join(best_of, " and "), table);
  std::map<std::string, int> rows;
  for (int row = 0; row < by_value.rows_size(); ++row) rows.emplace(by_value.rows(row).key(), row);
  for (int line = 0; line < choice.rows_size(); ++line) {
    const std::vector<int> best = BestColumns(choice, line);
    if (best.empty()) continue;
    // As tables have it: their columns are in the order of the axis.
    const std::string& value = choice.columns(best.front()).key();
    const auto row = rows.find(KeyAt(choice.rows(line).key(), value, best_of.size()));
    if (row == rows.end()) continue;
    *table.add_rows() = choice.rows(line);
    for (int column = 0; column < by_value.columns_size(); ++column) {
      v1::TableCell& cell = *table.add_cells();
      cell = AtPlace(by_value, row->second, column);
      cell.set_best_of(value);
    }
  }
  return table;
}

std::string NoteOnBestValues(const std::vector<PlotPanel>& panels, const std::vector<std::string>& best_of, std::string_view by) {
  const auto before = [](const std::string& a, const std::string& b) { return IsValueBefore(a, b); };
  std::map<std::string, int, decltype(before)> lines_of(before);
  for (const PlotPanel& panel : panels) {
    for (int row = 0; panel.table.columns_size() > 0 && row < panel.table.rows_size(); ++row) ++lines_of[AtPlace(panel.table, row, 0).best_of()];
  }
  std::vector<std::string> counted;
  for (const auto& [value, count] : lines_of) counted.push_back(fmt::format("{} in {}", value.empty() ? "none" : value, Count(count, "line")));
  return counted.empty() ? "" : fmt::format("{} chosen for each line by its {}: {}", Join(best_of, " and "), by, JoinSome(counted));
}

}  // namespace longreach::client
