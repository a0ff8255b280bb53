// The worker's log: one line on standard error for each important event. What the trainer prints goes elsewhere, into
// the log of its attempt.
#pragma once

#include <string_view>

namespace longreach::agent {

// "2026-01-31 12:00:00 info  took attempt 7". Times are UTC. Safe from any thread.
void LogInfo(std::string_view text);
void LogWarning(std::string_view text);

}  // namespace longreach::agent
