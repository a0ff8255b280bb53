#include "client/commands/measured_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "client/commands/only.h"
#include "client/commands/published_settings.h"
#include "client/commands/shared_draw.h"
#include "client/commands/tables.h"
#include "client/errors.h"
#include "client/output/text.h"
#include "proto/types/settings.h"
#include "proto/types/words.h"

namespace longreach::client {
namespace {

bool IsAtSingleLengths(const v1::TableSpec& table) {
  const Only only({table.only().begin(), table.only().end()});
  return table.metric() != kTrainingLoss && (table.length() > 0 || only.Of("length") != nullptr || IsBy(table, "length"));
}

// An older scheduler passes best_of over, and aggregates over all jobs of a cell. What it is the best of is empty otherwise only where jobs do
// not have that setting, and in columns that come from other jobs.
bool IsBestOfPassedOver(const v1::TableSpec& table, const v1::Table& measured) {
  if (table.best_of().empty() || (table.best_of_size() == 1 && IsSettingPath(table.best_of(0))) || !table.extra_columns().empty()) return false;
  return std::ranges::any_of(measured.cells(), [](const v1::TableCell& cell) { return cell.has_measured(); }) &&
         std::ranges::all_of(measured.cells(), [](const v1::TableCell& cell) { return cell.best_of().empty(); });
}

// Whether something published is printed though nobody has asked for the values in the cells: a program has them all the same, and a reader the gain.
bool ShowsPublished(Format format, const v1::Table& measured) {
  return format == Format::kCsv || format == Format::kJson || measured.has_published_gain_of_cells() || measured.has_published_gain_stated();
}

// As csv a table has no place for its notes: they go to standard error then.
void SayNotesBeside(Session& session, const v1::Table& table) {
  if (session.settings().format != Format::kCsv) return;
  for (const std::string& note : table.notes()) session.Say("note: " + Printable(note));
}

}  // namespace

absl::StatusOr<v1::Table> FetchMeasuredTable(Session& session, Connection& connection, const v1::Sweep& sweep, const v1::TableSpec& table, bool published) {
  if (published && table.published().empty()) {
    session.Say(fmt::format("no published table belongs to sweep '{}' as it is asked for here; '--table PRESET' has that of a preset, as of table-b1", Printable(sweep.name())));
  }
  ASSIGN_OR_RETURN(v1::Table measured, FetchTable(connection, sweep.id(), table));
  if (IsBestOfPassedOver(table, measured)) {
    return Error(absl::StatusCode::kUnimplemented, "the scheduler is of a version that does not know best_of, and has aggregated over all jobs of a cell",
                 "start a scheduler of this client's version, or print each value: --rows or --columns with the axis");
  }
  if (published || ShowsPublished(session.settings().format, measured)) NoteOtherSettings(sweep.spec(), table, measured);
  if (IsAtSingleLengths(table)) {
    const std::string note = NoteOfSharedDraw(sweep.spec(), {table.only().begin(), table.only().end()});
    if (!note.empty()) measured.add_notes(note);
  }
  return measured;
}

void PrintMeasuredTable(Session& session, PartsOutput& output, const v1::Sweep& sweep, const v1::Table& measured, const v1::TableSpec& table, ResultsStyle style) {
  output.Begin(sweep.name());
  style.color = session.settings().color_out;
  style.width = session.environment().out_width();
  style.sweep = output.several() ? sweep.name() : "";
  style.header = output.TakeFirst();
  session.out() << RenderResults(measured, table, session.settings().format, style);
  SayNotesBeside(session, measured);
}

}  // namespace longreach::client
