// Loss curves over equal ranges of steps: a loss jumps from batch to batch, most where their lengths are drawn, and a figure shows how it
// falls. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/reading.h"

namespace longreach::service {

class StepBins {
 public:
  // At most `most` ranges (>= 1) of the steps 1 to `last`.
  StepBins(int64_t last, int64_t most);

  // Of values in slices of the axis step alone, ascending by step: the mean of those in each range that has some, at its last step.
  std::vector<store::SliceValue> MeansOf(std::span<const store::SliceValue> values) const;

 private:
  int64_t last_;
  int64_t width_;
};

}  // namespace longreach::service
