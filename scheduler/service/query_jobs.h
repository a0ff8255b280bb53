// Answers to what is asked about jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/types/wire_limits.h"
#include "scheduler/service/live_board.h"
#include "store/artifact_files.h"
#include "store/sql/connection.h"

namespace longreach::service {

inline constexpr int kJobsInPage = 1000;
inline constexpr int kMaxJobsInPage = 10'000;

// INVALID_ARGUMENT: an unknown state, a limit below 0, a page token that no answer had, or `only` with what no job of the sweep has. A limit above kMaxJobsInPage is
// taken for that. UNAVAILABLE once a stop is requested.
absl::StatusOr<v1::ListJobsResponse> ListJobs(sql::Connection& db, const v1::ListJobsRequest& request,
                                              const LiveBoard::State& live, const std::stop_token& stop = {});
absl::StatusOr<v1::GetJobResponse> GetJob(sql::Connection& db, const v1::GetJobRequest& request,
                                          const LiveBoard::State& live);
absl::StatusOr<v1::ExplainJobResponse> ExplainJob(sql::Connection& db, const v1::GetJobRequest& request,
                                                  const LiveBoard::State& live);

// What the newest attempt of a job that has left a log has left: its last kLogBytes.
struct LeftLog {
  int64_t attempt = 0;
  std::string tail = {};
  bool cut = false;  // The file has more before them.
};
// Nothing: none has. DATA_LOSS: the file no longer has its hash.
absl::StatusOr<std::optional<LeftLog>> FindLog(sql::Connection& db, const store::ArtifactFiles& files, int64_t job);
// NOT_FOUND also when no attempt has handed in a log yet; DATA_LOSS: the file no longer has its hash.
absl::StatusOr<v1::GetLogResponse> GetLog(sql::Connection& db, const store::ArtifactFiles& files,
                                          const v1::GetJobRequest& request);

}  // namespace longreach::service
