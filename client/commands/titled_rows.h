// Rows that need words above and below them to be understood, in every format but JSON.
#pragma once

#include <string>
#include <vector>

#include "client/output/grid.h"
#include "client/session.h"

namespace longreach::client {

// `lines` stand above the rows, except in CSV. `notes` go to people who look at the answer, and in Markdown and LaTeX stand below the rows: what goes
// into a document has the meaning of its marks with it.
void PrintTitledRows(Session& session, const std::vector<std::string>& lines, const Grid& grid, const std::vector<std::string>& notes);

}  // namespace longreach::client
