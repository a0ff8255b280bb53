#include "client/commands/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "client/commands/system_settings.h"
#include "client/commands/title_words.h"
#include "client/output/text.h"
#include "client/spec/presets.h"
#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/axis_list.h"
#include "proto/types/usual_axes.h"
#include "proto/types/words.h"

namespace longreach::client {

bool IsBy(const v1::TableSpec& table, std::string_view axis) { return HasAxis(table.rows(), axis) || HasAxis(table.columns(), axis); }

namespace {

std::vector<std::string> ShownAxes(const v1::TableSpec& table) {
  std::vector<std::string> axes = AxesIn(table.rows());
  const std::vector<std::string> of_columns = AxesIn(table.columns());
  axes.insert(axes.end(), of_columns.begin(), of_columns.end());
  return axes;
}

// What goes into a table's cells.
std::string CellsAreOver(const SystemSettings& settings, const v1::TableSpec& table) {
  return AggregatedOver(settings, {.aggregate = table.aggregate(),
                                   .shown = ShownAxes(table),
                                   .only = {table.only().begin(), table.only().end()},
                                   .best_of = {table.best_of().begin(), table.best_of().end()}});
}

// In a title: what goes into its cells.
constexpr std::string_view kOver = "{over}";

// By `over`; where that is empty, without the comma before it.
void FillTitle(const std::string& over, v1::TableSpec& table) {
  std::string& title = *table.mutable_title();
  const size_t at = title.find(kOver);
  if (at == std::string::npos) return;
  const bool comma = over.empty() && at >= 2 && title.compare(at - 2, 2, ", ") == 0;
  title.replace(comma ? at - 2 : at, kOver.size() + (comma ? 2 : 0), over);
}

}  // namespace

v1::TableSpec UsualTable(const v1::Sweep& sweep) { return sweep.has_table() ? sweep.table() : TableOfPreset(sweep.name()); }

void SayTableTrouble(Session& session, const v1::Sweep& sweep) {
  if (!sweep.has_table_trouble()) return;
  const bool has_preset = UsualTable(sweep).ByteSizeLong() > 0;
  session.Say(fmt::format("note: the table that sweep '{}' was submitted with cannot be used here ({}): {} takes its place; submitting its file again mends that, and 'longreach results --table FILE' does without",
                          Printable(sweep.name()), Printable(sweep.table_trouble()), has_preset ? "that of the preset of this name" : "the usual one"));
}

absl::Status CompleteTable(Connection& connection, const v1::Sweep& sweep, v1::TableSpec& table) {
  SetUsualAxes(sweep.spec(), table);
  if (table.metric().empty()) table.set_metric(std::string(IsBy(table, kStepAxis) ? kTrainingLoss : catalog::MainMetric(sweep.spec().experiment())));
  if (table.metric().empty()) {
    // Of a kind that a newer scheduler knows.
    ASSIGN_OR_RETURN(const v1::Table any, FetchTable(connection, sweep.id(), table));
    table.set_metric(any.metric());
  }
  SetUsualAggregate(table);
  if (!table.title().empty() && table.title().find(kOver) == std::string::npos) return absl::OkStatus();
  std::vector<std::string> told_apart = ShownAxes(table);
  told_apart.insert(told_apart.end(), table.best_of().begin(), table.best_of().end());
  ASSIGN_OR_RETURN(const SystemSettings settings, SystemSettings::FetchFor(connection, sweep, told_apart, {table.only().begin(), table.only().end()}));
  const std::string over = CellsAreOver(settings, table);
  FillTitle(over, table);
  if (!table.title().empty()) return absl::OkStatus();
  std::vector<std::string> slices = {table.slice()};
  for (const std::string& only : table.only()) {
    if (catalog::FindSliceAxis(only.substr(0, only.find('='))) != nullptr) slices.push_back(only);
  }
  std::erase(slices, "");
  const std::vector<std::string> only(table.only().begin(), table.only().end());
  const bool by_step = IsBy(table, kStepAxis);
  const std::string lengths = table.metric() == kTrainingLoss ? by_step ? "by step" : "at the newest step"
                              : IsBy(table, "length")         ? AtEachLength(only, table.slice(), by_step)
                                                              : AtLength(table.length(), only, table.slice(), by_step);
  std::vector<std::string> parts = {fmt::format("{}: {} {}", sweep.name(), WithUnit(table.metric()), lengths)};
  if (!slices.empty()) parts.push_back(Join(slices, " and "));
  if (!over.empty()) parts.push_back(over);
  table.set_title(Join(parts, ", "));
  return absl::OkStatus();
}

absl::StatusOr<v1::Table> FetchTable(Connection& connection, const std::string& sweep,
                                     const v1::TableSpec& table) {
  v1::GetTableRequest request;
  request.set_sweep(sweep);
  *request.mutable_table() = table;
  return connection.Call(&Connection::Stub::GetTable, request, std::chrono::minutes(10));
}

}  // namespace longreach::client
