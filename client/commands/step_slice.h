// Slices of values at a step of training: losses, and scores of jobs that were tested while they were trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/base/text.h"
#include "proto/types/words.h"

namespace longreach::client {

// Of "step=500". None: a slice of something else, or none.
inline std::optional<int64_t> StepOfSlice(std::string_view slice) {
  const size_t end = slice.find('=');
  if (end == std::string_view::npos || slice.substr(0, end) != kStepAxis) return std::nullopt;
  return ParseInteger(slice.substr(end + 1));
}

}  // namespace longreach::client
