// A sweep's table as commands print it: fetched, with the notes that belong beside its values.
#pragma once

#include "client/commands/parts_output.h"
#include "client/output/results_table.h"
#include "client/session.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// What `table`, as CompleteTable() leaves it, asks for. `sweep` has its specification. `published`: the user has asked for published values,
// and is told where there are none.
absl::StatusOr<v1::Table> FetchMeasuredTable(Session& session, Connection& connection, const v1::Sweep& sweep, const v1::TableSpec& table, bool published);

// In any format but JSON, whose document differs from command to command. Of `style` the output fills in what depends on other sweeps and
// on the terminal.
void PrintMeasuredTable(Session& session, PartsOutput& output, const v1::Sweep& sweep, const v1::Table& measured, const v1::TableSpec& table, ResultsStyle style);

}  // namespace longreach::client
