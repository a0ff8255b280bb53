#include "proto/types/usual_axes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "proto/types/axis_list.h"
#include "proto/types/settings.h"

namespace longreach {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;

// Tasks or encodings, as one system's jobs have them: its own, else the sweep's.
bool SomeHasSeveral(const v1::SweepSpec& spec, const Names& (*of)(const v1::Axes&)) {
  if (spec.systems().empty()) return of(spec.axes()).size() > 1;
  return std::ranges::any_of(spec.systems(), [&](const v1::System& system) {
    const Names& own = of(system.with().axes());
    return (own.empty() ? of(spec.axes()) : own).size() > 1;
  });
}

// The other side of a table that has `given`.
std::string SideBeside(const v1::SweepSpec& spec, std::string_view given, bool tasks, bool encodings, std::vector<std::string> usual) {
  const std::vector<std::string> axes = AxesIn(given);
  const bool systems = spec.systems_size() > 1 && std::ranges::none_of(axes, IsSettingPath);
  std::vector<std::string> several;
  if (tasks && !HasAxis(given, "task")) several.emplace_back("task");
  if (systems && !HasAxis(given, "system")) several.emplace_back("system");
  if (encodings && !HasAxis(given, "encoding")) several.emplace_back("encoding");
  if (!several.empty()) return Join(several, ",");
  usual.insert(usual.end(), {"task", "encoding", "seed"});
  const auto found = std::ranges::find_if(usual, [given](const std::string& axis) { return !HasAxis(given, axis); });
  return found == usual.end() ? "learning_rate" : *found;
}

}  // namespace

void SetUsualAxes(const v1::SweepSpec& spec, v1::TableSpec& table) {
  const bool systems = !spec.systems().empty();
  const bool tasks = SomeHasSeveral(spec, [](const v1::Axes& axes) -> const Names& { return axes.task(); });
  const bool encodings = SomeHasSeveral(spec, [](const v1::Axes& axes) -> const Names& { return axes.encoding(); });
  const std::string column = !systems || encodings ? "encoding" : "task";
  if (table.rows().empty() && table.columns().empty()) {
    if (!systems) table.set_rows("task");
    else if (!tasks || !encodings) table.set_rows("system");
    else table.set_rows(spec.systems_size() > 1 ? "task,system" : "task");
    table.set_columns(column);
  } else if (table.rows().empty()) {
    table.set_rows(SideBeside(spec, table.columns(), tasks, encodings, {systems ? "system" : "task"}));
  } else if (table.columns().empty()) {
    table.set_columns(SideBeside(spec, table.rows(), tasks, encodings, {column}));
  }
}

void SetUsualAggregate(v1::TableSpec& table) {
  if (!table.aggregate().empty()) return;
  table.set_aggregate(table.best_of().empty() ? std::string(catalog::UsualAggregate(catalog::FindMetric(table.metric()))) : "mean");
}

}  // namespace longreach
