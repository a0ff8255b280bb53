// What one member of a pack is at a point of its training, apart from its parameters and moments.
#pragma once

#include <vector>

namespace longreach::trainer {

// What tests came to, in the order in which they are made, as far as they are.
struct TestScores {
  std::vector<double> accuracy;
  std::vector<double> loss;
  std::vector<double> exact_match;  // Of problems that score it (Problem::ScoresExactMatch()); else empty.
};

struct MemberState {
  // Takes part in updates: neither dropped nor diverged.
  bool live = true;
  bool dropped = false;
  bool diverged = false;
  int diverged_at = 0;   // Updates done when loss or gradient was not finite.
  double loss_sum = 0;   // Of the updates since the last point of the loss curve.
  std::vector<double> curve;  // All points so far.
  TestScores on_the_way;      // At each point of the curve of scores, by its lengths.
  TestScores at_end;          // By test length.
  // By cell of passkey retrieval, as far as evaluated.
  std::vector<double> passkey;
  // By sample of LongBench, as far as evaluated.
  std::vector<double> longbench;
};

}  // namespace longreach::trainer
