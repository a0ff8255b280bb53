// Lengths of jobs of the kind 'algorithmic' whose sweep names none: those of the papers.
#pragma once

namespace longreach::catalog {

inline constexpr int kFirstTrainedLength = 1;
inline constexpr int kLastTrainedLength = 40;
inline constexpr int kFirstTestedLength = 41;
inline constexpr int kLastTestedLength = 500;

}  // namespace longreach::catalog
