// Times in buckets whose bounds are 2^(1/32) apart: a quantile is right within 2.2 %, in constant space however long a run is.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace longreach::fake {

class Latencies {
 public:
  void Add(std::chrono::duration<double, std::milli> time) {
    const double ms = std::max(time.count(), 0.0);
    ++count_;
    sum_ms_ += ms;
    max_ms_ = std::max(max_ms_, ms);
    const double place = kPerDoubling * (std::log2(std::max(ms, kLeastMs)) - std::log2(kLeastMs));
    ++buckets_[std::min(static_cast<size_t>(place), buckets_.size() - 1)];
  }

  int64_t count() const { return count_; }
  double max_ms() const { return max_ms_; }
  double mean_ms() const { return count_ == 0 ? 0 : sum_ms_ / static_cast<double>(count_); }

  // The time that a share `q` of all was below; 0 when there are none.
  double Quantile(double q) const {
    const auto rank = static_cast<int64_t>(std::ceil(q * static_cast<double>(count_)));
    int64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      // The middle of the bucket, on the scale of the buckets.
      if (seen >= rank && seen > 0) return std::min(max_ms_, kLeastMs * std::exp2((static_cast<double>(i) + 0.5) / kPerDoubling));
    }
    return 0;
  }

 private:
  static constexpr double kLeastMs = 0.001;
  static constexpr double kPerDoubling = 32;
  std::array<int64_t, 32 * 32> buckets_{};  // Up to 2^32 us: over an hour.
  int64_t count_ = 0;
  double sum_ms_ = 0;
  double max_ms_ = 0;
};

}  // namespace longreach::fake
