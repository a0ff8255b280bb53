// What a job's attempts have left as their logs. One that runs leaves its own when it ends; what it prints until then is in log_board.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/types/wire_limits.h"
#include "store/artifact_files.h"
#include "store/sql/connection.h"

namespace longreach::service {

// What one has left: the last kLogBytes of what it printed.
struct LeftLog {
  int64_t attempt = 0;
  std::string tail = {};
  bool cut = false;  // The file has more before them.
};
// Of this attempt, or of the newest that has left one. Nothing: there is none. DATA_LOSS: the file no longer has its hash.
absl::StatusOr<std::optional<LeftLog>> FindLog(sql::Connection& db, const store::ArtifactFiles& files, int64_t job, std::optional<int64_t> attempt = {});

// NOT_FOUND also when there is no such log, with which attempts there are and which of them have left one; FAILED_PRECONDITION: the attempt that is asked for has
// the job still; DATA_LOSS: the file no longer has its hash.
absl::StatusOr<v1::GetLogResponse> GetLog(sql::Connection& db, const store::ArtifactFiles& files, const v1::GetLogRequest& request);

}  // namespace longreach::service
