#include "scheduler/service/step_bins.h"

#include <algorithm>

#include <fmt/format.h>

#include "proto/types/words.h"
#include "store/loss_curves.h"

namespace longreach::service {

StepBins::StepBins(int64_t last, int64_t most) : last_(std::max<int64_t>(last, 1)), width_((last_ + most - 1) / most) {}

std::vector<store::SliceValue> StepBins::MeansOf(std::span<const store::SliceValue> values) const {
  std::vector<store::SliceValue> means;
  int64_t end = 0;
  int64_t count = 0;
  for (const store::SliceValue& value : values) {
    const int64_t step = store::StepOf(value.length, value.slice).value_or(0);
    if (step > end || means.empty()) {
      end = std::min(last_, (std::max<int64_t>(step, 1) + width_ - 1) / width_ * width_);
      count = 0;
      means.push_back({.length = value.length, .slice = fmt::format("{}={}", kStepAxis, end), .value = 0});
    }
    ++count;
    means.back().value += (value.value - means.back().value) / static_cast<double>(count);
  }
  return means;
}

}  // namespace longreach::service
