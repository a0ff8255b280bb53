// The longest of an algorithmic task's tapes, of which memory is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "proto/catalog/catalog.h"

namespace longreach::catalog {

// Its input and output tokens; 0 of no lengths.
template <typename Lengths>
int64_t LongestTape(const Task& task, const Lengths& lengths) {
  int64_t longest = 0;
  for (const int length : lengths) longest = std::max(longest, task.Tape(length));
  return longest;
}

}  // namespace longreach::catalog
