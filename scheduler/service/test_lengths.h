// At which lengths jobs are tested, and what is measured at these.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::service {

// By system those at which its jobs have the main metric of their kind, once they are done. Of a sweep without systems nothing.
absl::StatusOr<std::map<std::string, std::set<int>>> TestLengthsOfSystems(const v1::SweepSpec& sweep);

// It is measured at each of the test lengths, so that its value over all of them is their mean. Others have lengths of their own (passkeys, bins of
// positions) or none.
bool IsOfEachTest(std::string_view metric);

// Of systems that were tested at several sets of lengths: which, and at what lengths they compare. Empty: all were tested at the same.
std::string NoteOnTestLengths(const std::map<std::string, std::set<int>>& by_system);

}  // namespace longreach::service
