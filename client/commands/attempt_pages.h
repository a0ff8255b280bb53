// The attempts of many jobs, page by page: a thousand jobs in one call.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "client/commands/pages.h"

namespace longreach::client {

class AttemptPages : public Pages<v1::ListAttemptsRequest, v1::ListAttemptsResponse> {
 public:
  // The connection outlives it.
  AttemptPages(Connection& connection, v1::ListAttemptsRequest question) : Pages(connection, &Connection::Stub::ListAttempts, std::move(question)) {}
};

// Calls `use` with each job that has had an attempt, until it has an error.
absl::Status ForEachJobAttempts(Connection& connection, v1::ListAttemptsRequest question, const std::function<absl::Status(v1::JobAttempts&)>& use);

// So many jobs can be named in one call; more are asked for in several.
inline constexpr size_t kMostNamedJobs = 1000;

}  // namespace longreach::client
