#include "scheduler/service/needs.h"

#include <vector>

#include "proto/base/text.h"
#include "store/workers.h"

namespace longreach::service {
namespace {

// What the store binds a name to; empty: nothing yet.
absl::StatusOr<std::string> BytesOf(sql::Connection& db, const std::string& name) {
  if (name.empty()) return std::string();
  ASSIGN_OR_RETURN(std::optional<store::DataSetRow> data_set, store::FindDataSet(db, name));
  return data_set.has_value() ? data_set->sha256 : std::string();
}

}  // namespace

std::string JoinDataSets(const DataSetNames& names) {
  std::string data = names.corpus;
  for (const std::string& more : {names.model, names.longbench}) {
    if (more.empty()) break;
    data += " " + more;
  }
  return data;
}

DataSetNames SplitDataSets(std::string_view data) {
  const std::vector<std::string> names = Split(data, ' ');
  const auto at = [&names](size_t i) { return i < names.size() ? names[i] : std::string(); };
  return {.corpus = at(0), .model = at(1), .longbench = at(2)};
}

absl::StatusOr<core::Needs> NeedsOf(sql::Connection& db, const store::Requirement& requirement) {
  const DataSetNames names = SplitDataSets(requirement.data);
  core::Needs needs{.experiment = requirement.experiment,
                    .task = requirement.task,
                    .task_revision = requirement.task_revision,
                    .encoding = requirement.encoding,
                    .encoding_revision = requirement.encoding_revision,
                    .model_revision = requirement.model_revision,
                    .data = names.corpus,
                    .model = names.model,
                    .longbench = names.longbench};
  ASSIGN_OR_RETURN(needs.data_sha256, BytesOf(db, needs.data));
  ASSIGN_OR_RETURN(needs.model_sha256, BytesOf(db, needs.model));
  ASSIGN_OR_RETURN(needs.longbench_sha256, BytesOf(db, needs.longbench));
  return needs;
}

}  // namespace longreach::service
