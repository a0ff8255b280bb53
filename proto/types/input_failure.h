// What the failure of a job says that failed because of an input (kInputFailed).
#pragma once

#include <string_view>

#include "proto/types/words.h"

namespace longreach {

// How it goes on of an input whose job failed because of one that diverged: "input failed: weights (job 1a2b3c4d, whose input diverged)".
inline constexpr std::string_view kWhoseInputDiverged = ", whose input diverged";

// Whether a job diverged that it needs, or that one needs which it needs: "input failed: weights (job 1a2b3c4d diverged)". That is a result, which
// stays: no retry helps.
inline bool InputHasDiverged(std::string_view failure) {
  return failure.starts_with(kInputFailed) && failure.find(" diverged") != std::string_view::npos;
}

}  // namespace longreach
