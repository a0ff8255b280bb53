// At which lengths jobs are tested, and what is measured at these.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::service {

// By system those at which its jobs have a metric that is of each test, once they are done: passkeys have test lengths of their own. Of a sweep without systems nothing.
absl::StatusOr<std::map<std::string, std::set<int>>> TestLengthsOfSystems(const v1::SweepSpec& sweep, std::string_view metric);

// It is measured at each of the test lengths, so that its value over all of them is their mean. Others are measured elsewhere (in bins of positions) or at none.
bool IsOfEachTest(std::string_view metric);

// Of systems that were tested at several sets of lengths: which, and at what lengths they compare. Empty: all were tested at the same.
std::string NoteOnTestLengths(const std::map<std::string, std::set<int>>& by_system);

}  // namespace longreach::service
