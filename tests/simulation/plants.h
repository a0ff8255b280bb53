// Bugs that are planted to see that the simulator finds them: what a broken scheduler would do to its store, as triggers of the
// store itself, and three that lie elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace longreach::simulation {

struct Plant {
  std::string_view name;
  std::string_view sql;  // Run on the empty store; empty: planted where its name is asked for.
};

inline constexpr std::string_view kAnswersBeforeCommit = "answers before the commit";
inline constexpr std::string_view kShortLease = "leases of 14 s";
inline constexpr std::string_view kStaleReport = "takes a report for an attempt that has ended";

const std::vector<Plant>& Plants();
// Nullptr: there is none of this name.
const Plant* FindPlant(std::string_view name);

}  // namespace longreach::simulation
