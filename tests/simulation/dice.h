// Random choices of a simulation: the same seed gives the same choices on every machine. A counter that is scrambled
// (SplitMix64); std's distributions differ between libraries, so none is used.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace longreach::simulation {

class Dice {
 public:
  // The seed is scrambled first: streams of neighbours would be the same, one number apart.
  explicit Dice(uint64_t seed) : counter_(seed) { counter_ = Draw(); }

  uint64_t Draw() {
    uint64_t x = counter_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  // In [0, n); `n` is above 0.
  int Below(int n) { return static_cast<int>((static_cast<unsigned __int128>(Draw()) * static_cast<uint64_t>(n)) >> 64); }
  int Between(int low, int high) { return low + Below(high - low + 1); }
  // In [0, 1).
  double Part() { return static_cast<double>(Draw() >> 11) * 0x1.0p-53; }
  bool Chance(double probability) { return Part() < probability; }
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(Below(static_cast<int>(values.size())))];
  }

 private:
  uint64_t counter_;
};

}  // namespace longreach::simulation
