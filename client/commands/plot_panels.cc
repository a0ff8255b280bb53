#include "client/commands/plot_panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/commands/plot_best_of.h"
#include "client/commands/tables.h"
#include "client/errors.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/decoders.h"
#include "proto/types/axis_list.h"
#include "proto/types/settings.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

// Rows or columns as the sweep's usual table has them; of several axes its order has the values of the others too, which mean nothing here.
std::vector<std::string> OrderOf(const v1::TableSpec& usual, const std::string& axis) {
  std::vector<std::string> order;
  if (HasAxis(usual.rows(), axis)) order.assign(usual.row_order().begin(), usual.row_order().end());
  else if (HasAxis(usual.columns(), axis)) order.assign(usual.column_order().begin(), usual.column_order().end());
  std::erase(order, catalog::kWholeSlice);  // A figure of slices is of each of them.
  return order;
}

bool HasValues(const v1::Table& table) {
  return std::ranges::any_of(table.cells(), [](const v1::TableCell& cell) { return cell.has_measured(); });
}

// What lines and panels there are is to be seen, and what values are over stands in the title.
bool IsSeen(const v1::Table& table, const std::string& note, const PlotAxes& axes) {
  return std::ranges::any_of(table.typed_notes(), [&](const v1::TableNote& typed) {
    const bool shown = typed.kind() == v1::TableNote::KIND_ONLY && (typed.axis() == axes.panels || typed.axis() == axes.lines);
    return (shown || typed.kind() == v1::TableNote::KIND_MIXED) && typed.text() == note;
  });
}

}  // namespace

std::optional<std::string> PanelOf(const PlotAxes& axes, const std::string& key) {
  return axes.panels == "none" || (key.empty() && !IsSettingPath(axes.panels)) ? std::nullopt : std::optional(key);
}

absl::StatusOr<v1::Table> FetchPanelTable(Connection& connection, const PanelsQuestion& question, const std::string& rows, const PanelsSource& source,
                                          const std::optional<std::string>& panel) {
  const std::string& panels = question.axes.panels;
  v1::TableSpec table;
  table.set_rows(rows);
  table.set_columns(source.columns);
  table.set_metric(source.metric);
  table.set_aggregate(question.aggregate);
  table.set_slice(question.slice);
  table.set_length(source.length);
  if (rows == kStepAxis || source.columns == kStepAxis) table.set_step_bins(question.step_bins);
  const std::vector<std::string> row_order = OrderOf(question.usual, rows), column_order = OrderOf(question.usual, source.columns);
  table.mutable_row_order()->Assign(row_order.begin(), row_order.end());
  if (source.usual_order && source.columns != "length") table.mutable_column_order()->Assign(column_order.begin(), column_order.end());
  for (const std::string& only : question.only) {
    // The panel's own value stands for those that were asked for.
    if (!panel || only.substr(0, only.find('=')) != panels) table.add_only(only);
  }
  if (panel) table.add_only(fmt::format("{}={}", panels, *panel));
  return FetchTable(connection, question.sweep, table);
}

namespace {

// A table whose rows are the lines of a panel.
absl::StatusOr<v1::Table> FetchLines(Connection& connection, const PanelsQuestion& question, const PanelsSource& source, const std::optional<std::string>& panel) {
  const std::string& lines = question.axes.lines;
  if (question.best_of.empty()) return FetchPanelTable(connection, question, lines, source, panel);
  const PanelsSource values{.columns = Join(question.best_of, ","), .metric = source.metric, .length = source.length, .usual_order = false};
  ASSIGN_OR_RETURN(const v1::Table choice, FetchPanelTable(connection, question, lines, values, panel));
  ASSIGN_OR_RETURN(const v1::Table by_value, FetchPanelTable(connection, question, Join({lines, values.columns}, ","), source, panel));
  if (!HasValues(choice) && HasValues(by_value)) {
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("--best-of {}: {} is there by {} alone, and not as one value of each job to choose by", values.columns, choice.metric(), source.columns),
                 fmt::format("choose one with --only {}=VALUE", Join(question.best_of, "=VALUE --only ")));
  }
  return AtBestValues(choice, by_value, question.best_of);
}

// A panel of encoders beside one of decoders: the table of neither says that they do not compare, as that of all panels does.
void SayWhyPanelsDoNotCompare(const v1::Table& overview, std::vector<PlotPanel>& panels) {
  const std::string why = catalog::WhyDecodersDoNotCompare(overview.metric());
  const auto says_it = [&why](const v1::Table& table) { return std::ranges::find(table.notes(), why) != table.notes().end(); };
  if (panels.size() < 2 || !says_it(overview)) return;
  for (PlotPanel& panel : panels) {
    if (!says_it(panel.table)) panel.table.add_notes(why);
  }
}

}  // namespace

absl::StatusOr<std::vector<PlotPanel>> FetchPanels(Connection& connection, const PanelsQuestion& question, const PanelsSource& source) {
  const PlotAxes& axes = question.axes;
  std::vector<PlotPanel> panels;
  if (axes.panels == "none") {
    ASSIGN_OR_RETURN(v1::Table table, FetchLines(connection, question, source, std::nullopt));
    panels.push_back({.title = "", .key = "", .table = std::move(table)});
    return panels;
  }
  // Slices have panels where all their axes but those of the lines are named; all else is faster without x.
  const bool of_slices = catalog::FindSliceAxis(axes.lines) != nullptr || catalog::FindSliceAxis(axes.panels) != nullptr;
  const PanelsSource by_line{.columns = axes.lines, .metric = question.metric, .length = question.length};
  ASSIGN_OR_RETURN(const v1::Table overview, FetchPanelTable(connection, question, axes.panels, of_slices ? source : by_line, std::nullopt));
  if (overview.rows_size() > kMostPanels) {
    return UsageError(fmt::format("--panels {}: {} panels are too many for a figure; at most {}", axes.panels, overview.rows_size(), kMostPanels),
                      fmt::format("choose some with --only {}=VALUE,VALUE", axes.panels));
  }
  for (const v1::TableAxisEntry& entry : overview.rows()) {
    ASSIGN_OR_RETURN(v1::Table table, FetchLines(connection, question, source, PanelOf(axes, entry.key())));
    // Of many systems few have a metric's slices.
    if (catalog::FindSliceAxis(axes.lines) != nullptr && !HasValues(table)) continue;
    panels.push_back({.title = entry.label().empty() ? entry.key() : entry.label(), .key = entry.key(), .table = std::move(table)});
  }
  if (panels.empty()) {
    ASSIGN_OR_RETURN(v1::Table none, FetchLines(connection, question, source, std::nullopt));
    panels.push_back({.title = "", .key = "", .table = std::move(none)});
  }
  SayWhyPanelsDoNotCompare(overview, panels);
  return panels;
}

std::vector<std::string> NotesOf(const PlotAxes& axes, const std::vector<PlotPanel>& panels) {
  std::vector<std::pair<std::string, std::vector<std::string>>> titles_of;  // By the note, in the order of the panels.
  for (const PlotPanel& panel : panels) {
    for (const std::string& note : panel.table.notes()) {
      if (IsSeen(panel.table, note, axes)) continue;
      auto found = std::ranges::find(titles_of, note, [](const auto& entry) { return entry.first; });
      if (found == titles_of.end()) found = titles_of.insert(found, {note, {}});
      found->second.push_back(panel.title);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [note, titles] : titles_of) {
    const bool is_of_figure = note == catalog::WhyDecodersDoNotCompare(panels.front().table.metric());
    if (panels.size() == 1 || is_of_figure) notes.push_back(note);
    else notes.push_back(titles.size() == 1 ? fmt::format("{}: {}", titles.front(), note) : fmt::format("{} panels, each: {}", titles.size(), note));
  }
  return notes;
}

}  // namespace longreach::client
