// What a table of a sweep is asked for with.
#pragma once

#include <string>
#include <string_view>

#include "client/session.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// How a sweep is printed unless something else is asked for: as it was submitted, else as the preset of its name has it. `sweep` is an
// answer of GetSweep.
v1::TableSpec UsualTable(const v1::Sweep& sweep);
// Where the scheduler could not tell how it was submitted, that.
void SayTableTrouble(Session& session, const v1::Sweep& sweep);

// Fills in what a table leaves open: the usual axes, the main metric of the sweep's experiment kind over all lengths, the best value of
// it (the mean where the table has best_of), title. `sweep` has its specification.
absl::Status CompleteTable(Connection& connection, const v1::Sweep& sweep, v1::TableSpec& table);

absl::StatusOr<v1::Table> FetchTable(Connection& connection, const std::string& sweep,
                                     const v1::TableSpec& table);

// An axis is among its rows or its columns.
bool IsBy(const v1::TableSpec& table, std::string_view axis);

}  // namespace longreach::client
