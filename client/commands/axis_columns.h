// How the axes that jobs are known by stand in rows.
#pragma once

#include <string>
#include <string_view>

#include "client/output/grid.h"

namespace longreach::client {

// Of one of kPairAxes.
GridColumn AxisColumn(std::string_view axis);
// A value in that column, as a PairKey has it.
GridCell AxisCell(const GridColumn& column, const std::string& value);

}  // namespace longreach::client
