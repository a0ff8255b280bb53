// How the engine cuts a batch into groups of sequences, each of which leaves a gradient of its own.
#pragma once

#include <algorithm>
#include <cstdint>

namespace longreach::trainer {

// A group is a number of sequences that every instruction set fills tiles with; fixed by the size of the batch alone,
// because the order of sums is part of the result.
inline constexpr int64_t kSequencesPerGroup = 16;
inline constexpr int64_t kMaxGroups = 16;

inline int64_t SequencesPerGroup(int64_t batch) {
  const int64_t sixteens = (batch + kSequencesPerGroup - 1) / kSequencesPerGroup;
  return kSequencesPerGroup * ((sixteens + kMaxGroups - 1) / kMaxGroups);
}

inline int64_t Groups(int64_t batch) { return (batch + SequencesPerGroup(batch) - 1) / SequencesPerGroup(batch); }

// Tables of biases, or their gradients, that may be in memory at a time, in floats: 1 GiB. Only those by pair come near.
inline constexpr int64_t kTableFloatsAtATime = int64_t{1} << 28;

// How many tables of so many floats these are: at least one.
inline int64_t TablesAtATime(int64_t table_floats) { return table_floats == 0 ? kTableFloatsAtATime : std::max<int64_t>(1, kTableFloatsAtATime / table_floats); }

}  // namespace longreach::trainer
