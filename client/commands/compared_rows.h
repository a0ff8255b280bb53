// The rows of a comparison, one for each group of pairs, as a grid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/commands/paired_values.h"
#include "client/output/grid.h"

namespace longreach::client {

// Of rows that are shown together: it holds when corrected for all of them. A row that stands alone needs no correction: its interval says the same.
bool IsMarked(const PairedGroup& group, const std::vector<PairedGroup>& groups);

// With a column for each of `axes`. People get marks in the place of p-values, and columns of draws and of pairs that are needed where these say
// something.
Grid ComparedRows(const std::vector<std::string_view>& axes, const std::vector<PairedGroup>& groups, const std::string& metric, bool for_people);

}  // namespace longreach::client
