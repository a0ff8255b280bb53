// How a finished sweep ended, for people and as an exit code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/session.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {

// Says on stderr how many jobs failed, the first of them with reason, and the command that tells more. `again`: what runs them again; empty:
// 'run', or 'retry' where workers are others'. Exit code 0 when every job succeeded, else 1.
int ReportOutcome(Session& session, Connection& connection, const v1::Sweep& sweep, const std::string& again = "");

// The first 1,000 failed jobs of a sweep, or of those of its jobs that `only` names, as --only does.
absl::StatusOr<std::vector<v1::Job>> FailedJobs(Connection& connection, const std::string& sweep, const std::vector<std::string>& only);

// Of `all` failed jobs, of which these were looked at: that some failed because what they begin with diverged, which a retry does not change. Empty: none.
std::string OfDivergedInputs(const std::vector<v1::Job>& failed, int64_t all);

// Of a sweep that was submitted, that so many of its jobs have failed and are left so; and what queues them again, unless that is in vain.
void SayWhatStaysFailed(Session& session, Connection& connection, const v1::Sweep& sweep, int64_t failed);

// What goes on with a store on which nothing works.
inline constexpr std::string_view kWhatGoesOn = "'longreach run' with the sweep's preset or file and this --store goes on with it";

// FAILED_PRECONDITION, for commands that would wait: a store that is opened for this command alone has no worker.
absl::Status NothingWorks(Session& session, const v1::Sweep& sweep);

}  // namespace longreach::client
