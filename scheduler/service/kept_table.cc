#include "scheduler/service/kept_table.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "proto/types/wire_limits.h"
#include "scheduler/service/replies.h"
#include "scheduler/service/results_table.h"

namespace longreach::service {
namespace {

// The answer of GetSweep has it beside a specification of kMaxContentBytes.
constexpr size_t kMaxKeptBytes = size_t{512} << 10;
static_assert(kMaxContentBytes + 2 * kMaxKeptBytes <= kMaxMessageBytes);

absl::StatusOr<v1::TableSpec> ReadKept(const std::string& kept, const v1::SweepSpec& sweep) {
  v1::TableSpec table;
  if (kept.size() > kMaxKeptBytes || !google::protobuf::util::JsonStringToMessage(kept, &table).ok()) {
    return absl::DataLossError("it is damaged, or has what this version does not know");
  }
  // What this version cannot make, another could.
  ASSIGN_OR_RETURN(const std::string main_metric, MainMetricOfSweep(sweep));
  RETURN_IF_ERROR(ResultsTable::Of(table, main_metric).status());
  return table;
}

}  // namespace

absl::StatusOr<std::string> TableToKeep(const v1::TableSpec& table, const v1::SweepSpec& sweep, std::string_view main_metric) {
  ASSIGN_OR_RETURN(ResultsTable made, ResultsTable::Of(table, main_metric));
  RETURN_IF_ERROR(made.CheckOnlyOf(sweep));
  RETURN_IF_ERROR(made.CheckBestOf(sweep));
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string kept;
  if (!google::protobuf::util::MessageToJsonString(table, &kept, options).ok()) return absl::InvalidArgumentError("table: cannot be written as JSON");
  if (kept.size() > kMaxKeptBytes) {
    return absl::InvalidArgumentError(fmt::format("table: {} bytes as JSON; at most {}: shorten what it lists, such as row_order", kept.size(), kMaxKeptBytes));
  }
  return kept;
}

void AddKeptTable(const std::string& kept, v1::Sweep& sweep) {
  if (kept.empty()) return;
  absl::StatusOr<v1::TableSpec> table = ReadKept(kept, sweep.spec());
  if (table.ok()) {
    *sweep.mutable_table() = *std::move(table);
    return;
  }
  const std::string_view why(table.status().message().data(), table.status().message().size());
  sweep.set_table_trouble(std::string(why.substr(0, why.find('\n'))));
}

}  // namespace longreach::service
