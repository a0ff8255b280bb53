// How many positions jobs with data sets have whose sweep does not say: positions.max_position and model.learned_rows.
#pragma once

#include <cstdint>

namespace longreach::catalog {

inline constexpr int kUsualPositions = 2048;
inline constexpr int kManyPositions = 4096;

// Of the longest tape. Of pairs of sequences the scheduler takes it to be of outputs of one symbol, as it has no data.
constexpr int PositionsFor(int64_t longest_tape) { return longest_tape > kUsualPositions ? kManyPositions : kUsualPositions; }

}  // namespace longreach::catalog
