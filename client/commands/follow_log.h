// 'logs --follow': what a job's attempt prints, until it ends.
#pragma once

#include <string>

#include "client/session.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// A log's text as it goes to standard output: a file gets the characters as they are, a terminal nothing that it would obey.
void PrintLogText(Session& session, const std::string& text);

// The log that an attempt has left, with the members that a part has of one that runs (LogPart). Its last kLogBytes are kept: of one that is as long nobody knows how
// much came before, and `skipped_bytes` is null.
std::string LeftLogAsJson(const v1::GetLogResponse& left);
// That it may be only the end of what was printed, if so.
void SayIfMoreWasPrinted(Session& session, const v1::GetLogResponse& left);

// "1,234 bytes at the beginning left out".
std::string LeftOut(double bytes, bool at_the_beginning);

// Waits until the job runs, if it does not yet, prints what its attempt prints until that ends, and says how the job stands then. Of a job that has come to
// its end the last log. Exit code 0: it has succeeded; 1: it has not, or not yet.
absl::StatusOr<int> FollowLog(Session& session, Connection& connection, const std::string& job);

}  // namespace longreach::client
