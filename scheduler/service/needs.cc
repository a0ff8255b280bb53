#include "scheduler/service/needs.h"

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

std::string JoinDataSets(const DataSetNames& names) { return names.model.empty() ? names.corpus : names.corpus + " " + names.model; }

DataSetNames SplitDataSets(std::string_view data) {
  const size_t blank = data.find(' ');
  if (blank == std::string_view::npos) return {.corpus = std::string(data), .model = ""};
  return {.corpus = std::string(data.substr(0, blank)), .model = std::string(data.substr(blank + 1))};
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
                    .model = names.model};
  ASSIGN_OR_RETURN(needs.data_sha256, BytesOf(db, needs.data));
  ASSIGN_OR_RETURN(needs.model_sha256, BytesOf(db, needs.model));
  return needs;
}

}  // namespace longreach::service
