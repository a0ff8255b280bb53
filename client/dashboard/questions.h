// Which commands the dashboard's page asks, and with which options: those that only look, as their JSON.
#pragma once

#include <string>
#include <vector>

#include "client/dashboard/url.h"
#include "proto/base/status.h"

namespace longreach::client {

// The command line of a question: "/api/jobs?sweep=last&state=failed" is {"jobs", "--state=failed", "-o", "json", "--", "last"}. A parameter
// becomes one word, so none can be taken for an option of another name.
// NOT_FOUND: there is no such question. INVALID_ARGUMENT: it lacks what it is about, or has a parameter that it does not know.
absl::StatusOr<std::vector<std::string>> CommandOf(const Url& url);

}  // namespace longreach::client
