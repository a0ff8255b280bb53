// Sweeps and jobs in rows.
#pragma once

#include <string>
#include <vector>

#include "client/output/grid.h"
#include "client/session.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// A point in time: for programs as JSON has it, "2026-11-20T17:18:44.250Z"; none where it is not set.
GridCell TimeCell(const google::protobuf::Timestamp& time);

// `whole`: with all columns. A program reads them by their place or name; for people those are left out in which no sweep, or no job, has something.
Grid SweepsGrid(const std::vector<v1::Sweep>& sweeps, bool whole);
Grid JobsGrid(const std::vector<v1::Job>& jobs, bool whole);
// What 'jobs --state' takes, as ShownState() has it.
std::vector<std::string> ShownFilterWords();
// Its systems, as a list; "" if it has none.
std::string SystemsText(const v1::Job& job);

// One sweep after a change: its line, or JSON, or with --quiet its bare id.
void PrintSweep(Session& session, const v1::Sweep& sweep);

}  // namespace longreach::client
