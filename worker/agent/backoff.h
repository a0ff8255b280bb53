// How long to wait before the next try.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace longreach::agent {

// 0.2 s, doubled up to 1.5 s; each wait is drawn between half of that and all of it, so that a thousand workers do not return in
// one instant to a scheduler that has just come up. No longer, because on a bad line many tries must fit into a lease's term: at
// a round trip of 0.6 s where a reset ends every twentieth piece, a worker that holds work is silent for 15 s after one reset
// in some 6,000 to 80,000 (for 8 and 5 pieces until a call has arrived, by simulation; with waits up to 3 s one in 800 to 10,000).
class Backoff {
 public:
  std::chrono::duration<double> Next() {
    const double longest = longest_s_;
    longest_s_ = std::min(1.5, 2 * longest_s_);
    return std::chrono::duration<double>(std::uniform_real_distribution(longest / 2, longest)(engine_));
  }
  void Reset() { longest_s_ = 0.2; }

 private:
  double longest_s_ = 0.2;
  std::minstd_rand engine_{std::random_device{}()};
};

}  // namespace longreach::agent
