#include "scheduler/service/needs.h"

#include "store/workers.h"

namespace longreach::service {

absl::StatusOr<core::Needs> NeedsOf(sql::Connection& db, const store::Requirement& requirement) {
  core::Needs needs{.experiment = requirement.experiment,
                    .task = requirement.task,
                    .task_revision = requirement.task_revision,
                    .encoding = requirement.encoding,
                    .encoding_revision = requirement.encoding_revision,
                    .model_revision = requirement.model_revision,
                    .data = requirement.data,
                    .data_sha256 = ""};
  if (!needs.data.empty()) {
    ASSIGN_OR_RETURN(std::optional<store::DataSetRow> data_set, store::FindDataSet(db, needs.data));
    if (data_set.has_value()) needs.data_sha256 = data_set->sha256;
  }
  return needs;
}

}  // namespace longreach::service
