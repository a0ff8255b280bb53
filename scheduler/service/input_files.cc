#include "scheduler/service/input_files.h"

#include <fmt/format.h>

#include "proto/types/words.h"
#include "scheduler/service/endings.h"

namespace longreach::service {

absl::Status CheckFileOf(const v1::ResolvedInput& resolved, const store::JobInputRow& input, const store::ArtifactFiles* files) {
  if (files == nullptr || !resolved.has_artifact()) return absl::OkStatus();
  const std::string why = files->WhyLost(resolved.artifact().sha256(), static_cast<int64_t>(resolved.artifact().bytes()));
  if (why.empty()) return absl::OkStatus();
  return absl::NotFoundError(fmt::format("{}: {} (the file of job {} {}; 'longreach store merge' brings it back from a store that has it, "
                                         "or from one where that job has run again; then 'longreach retry')",
                                         kInputFailed, input.name, ShortId(input.source_id), why));
}

absl::StatusOr<bool> LacksFiles(sql::Connection& db, const store::AttemptRow& attempt, const store::ArtifactFiles* files) {
  if (files == nullptr) return false;
  ASSIGN_OR_RETURN(const std::vector<store::JobRow> jobs, store::JobsOfAttempt(db, attempt.id));
  for (const store::JobRow& job : jobs) {
    ASSIGN_OR_RETURN(const std::vector<store::JobInputRow> inputs, store::InputsOf(db, job.num));
    for (const store::JobInputRow& input : inputs) {
      const absl::StatusOr<v1::ResolvedInput> resolved = ResolveInput(db, input, job.spec);
      if (resolved.ok() && !CheckFileOf(*resolved, input, files).ok()) return true;
    }
  }
  return false;
}

}  // namespace longreach::service
