// Biases of all pairs of positions, FIRE's, as the fast engine for CPUs has them: a table for each layer and head of a job, and in training a gradient of all
// these tables for each group of a batch's sequences. Which jobs it leaves to LibTorch, as they would be too large, and what memory they take.
#pragma once

#include <algorithm>
#include <cstdint>

namespace longreach::catalog {

// A group is a number of sequences that every instruction set fills tiles with; fixed by the size of the batch alone, because the order of sums is part of
// the result.
inline constexpr int64_t kSequencesPerGroup = 16;
inline constexpr int64_t kMaxGroups = 16;

// Of a batch of one sequence or more.
constexpr int64_t SequencesPerGroup(int64_t batch) {
  const int64_t sixteens = (batch + kSequencesPerGroup - 1) / kSequencesPerGroup;
  return kSequencesPerGroup * ((sixteens + kMaxGroups - 1) / kMaxGroups);
}
constexpr int64_t GroupsOf(int64_t batch) { return (batch + SequencesPerGroup(batch) - 1) / SequencesPerGroup(batch); }

// Floats of tables, and as many of their gradients, that a pack has in memory at a time: 1 GiB of each.
inline constexpr int64_t kTableFloatsAtATime = int64_t{1} << 28;

// Those of one job. All numbers in float64: of what is too large int64 might have no room for the square.
struct PairTables {
  double tables = 0;       // Layers times heads; 0: its biases are no tables of pairs.
  int64_t trained = 0;     // Tokens of the longest tape that is trained; 0: nothing is.
  int64_t tested = 0;      // And of the longest one that is tested.
  int64_t batch_size = 0;  // Sequences of an update.

  double GradientFloats() const { return batch_size < 1 ? 0 : FloatsAt(trained) * static_cast<double>(GroupsOf(batch_size)); }
  // Tokens of a tape on which they would be too large; 0: there is none.
  int64_t TapeBeyond() const {
    if (GradientFloats() > kMost) return trained;
    return FloatsAt(tested) > kMost ? tested : 0;
  }
  // What a pack of so many such jobs has of them in memory at most; 0 where LibTorch trains it. Members that there is no room for come after the others, and
  // memory of training is kept in tests.
  double BytesOfPack(int64_t members) const {
    if (TapeBeyond() > 0) return 0;
    const double own = FloatsAt(std::max(trained, tested)), jobs = static_cast<double>(members);
    return static_cast<double>(sizeof(float)) * (std::min(kMost, jobs * GradientFloats()) + std::min(kMost, jobs * own));
  }

 private:
  static constexpr double kMost = static_cast<double>(kTableFloatsAtATime);

  double FloatsAt(int64_t tape) const { return tables * static_cast<double>(tape) * static_cast<double>(tape); }
};

}  // namespace longreach::catalog
