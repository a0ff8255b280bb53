// What one member of a pack is at a point of its training, apart from its parameters and moments.
#pragma once

#include <vector>

namespace longreach::trainer {

struct MemberState {
  // Takes part in updates: neither dropped nor diverged.
  bool live = true;
  bool dropped = false;
  bool diverged = false;
  int diverged_at = 0;   // Updates done when loss or gradient was not finite.
  double loss_sum = 0;   // Of the updates since the last point of the loss curve.
  std::vector<double> curve;  // All points so far.
  // By test length, as far as evaluated.
  std::vector<double> accuracy;
  std::vector<double> loss;
  std::vector<double> exact_match;  // Of problems that score it (Problem::ScoresExactMatch()); else empty.
  // By cell of passkey retrieval, as far as evaluated.
  std::vector<double> passkey;
  // By sample of LongBench, as far as evaluated.
  std::vector<double> longbench;
};

}  // namespace longreach::trainer
