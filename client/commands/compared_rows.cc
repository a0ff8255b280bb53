#include "client/commands/compared_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client/commands/axis_columns.h"
#include "client/commands/differences.h"
#include "client/output/text.h"
#include "proto/catalog/catalog.h"

namespace longreach::client {
namespace {

GridCell NumberOrNone(std::optional<double> number) { return number.has_value() ? NumberCell(*number) : MissingCell(); }
GridCell NeededCell(std::optional<int> needed) {
  if (needed.value_or(0) <= kMostPairsNeeded) return NumberOrNone(needed);
  GridCell cell = MissingCell();
  cell.shown = fmt::format(">{}", kMostPairsNeeded);
  return cell;
}

}  // namespace

bool IsMarked(const PairedGroup& group, const std::vector<PairedGroup>& groups) {
  return groups.size() > 1 && group.p_holm.has_value() && *group.p_holm <= kErrorRate;
}

Grid ComparedRows(const std::vector<std::string_view>& axes, const std::vector<PairedGroup>& groups, const std::string& metric, bool for_people) {
  const catalog::Metric* const known = catalog::FindMetric(metric);
  const double factor = known == nullptr ? 1 : known->factor;
  const bool percent = known != nullptr && known->unit == "%";
  const auto number = [&](double value, bool with_sign) {
    const double shown = value * factor;
    const std::string text = percent ? fmt::format("{:.1f}", shown) : fmt::format("{:.4g}", shown);
    return NumberCell(value, with_sign ? WithSign(text) : WithoutMinusOfZero(text));
  };
  Grid grid;
  for (const std::string_view axis : axes) grid.columns.push_back(AxisColumn(axis));
  grid.columns.push_back({"pairs", "PAIRS", true});
  const bool with_draws = !for_people || std::ranges::any_of(groups, [](const PairedGroup& group) { return group.draws != group.pairs; });
  if (with_draws) grid.columns.push_back({"draws", "DRAWS", true});
  const std::vector<GridColumn> numbers = {{"first", "FIRST", true}, {"second", "SECOND", true}, {"difference", "DIFFERENCE", true}, {"low", "95 % FROM", true}, {"high", "TO", true}};
  grid.columns.insert(grid.columns.end(), numbers.begin(), numbers.end());
  const bool any_marked = std::ranges::any_of(groups, [&groups](const PairedGroup& group) { return IsMarked(group, groups); });
  const bool with_needed = !for_people || std::ranges::any_of(groups, [](const PairedGroup& group) { return group.needed.has_value(); });
  if (!for_people) grid.columns.insert(grid.columns.end(), {{.key = "p", .is_number = true}, {.key = "p_holm", .is_number = true}});
  if (with_needed) grid.columns.push_back({"needed", "NEEDED", true});
  for (const PairedGroup& group : groups) {
    std::vector<GridCell>& row = grid.rows.emplace_back();
    for (size_t i = 0; i < group.values.size(); ++i) {
      GridCell cell = AxisCell(grid.columns[i], group.values[i]);
      if (groups.size() > 1 && &group == &groups.back()) {  // Of all pairs: of no value of an axis.
        cell = MissingCell();
        cell.shown = i == 0 ? "all" : " ";
      }
      row.push_back(std::move(cell));
    }
    row.push_back(NumberCell(group.pairs));
    if (with_draws) row.push_back(NumberCell(group.draws));
    row.push_back(number(group.first, false));
    row.push_back(number(group.second, false));
    row.push_back(number(group.difference, true));
    if (any_marked) row.back().shown += IsMarked(group, groups) ? "*" : " ";
    if (group.half_width.has_value()) {
      row.push_back(number(group.difference - *group.half_width, true));
      row.push_back(number(group.difference + *group.half_width, true));
    } else {
      row.insert(row.end(), 2, MissingCell());
    }
    if (!for_people) row.insert(row.end(), {NumberOrNone(group.p), NumberOrNone(group.p_holm)});
    if (with_needed) row.push_back(NeededCell(group.needed));
  }
  return grid;
}

}  // namespace longreach::client
