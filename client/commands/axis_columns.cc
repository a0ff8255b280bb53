#include "client/commands/axis_columns.h"

#include <algorithm>
#include <vector>

namespace longreach::client {

GridColumn AxisColumn(std::string_view axis) {
  static const std::vector<GridColumn> kColumns = {{"system", "SYSTEM"}, {"task", "TASK"}, {"encoding", "ENCODING"}, {"learning_rate", "LEARNING RATE", true}, {"seed", "SEED", true}};
  return *std::ranges::find(kColumns, axis, &GridColumn::key);
}

GridCell AxisCell(const GridColumn& column, const std::string& value) { return column.is_number ? GridCell{.value = value, .is_raw = true} : TextCell(value); }

}  // namespace longreach::client
