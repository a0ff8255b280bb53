// Tuning of one factor per head and layer with all weights frozen: the schedule, the bound and the update. Without torch.
// Source: trainer.py, utils/callbacks.py and configs/tnl_hs.yaml of AntNLP/nope_head_scale.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/status.h"
#include "worker/trainer/learning_rate.h"

namespace longreach::trainer {

struct HeadScaleSettings {
  // How factors are kept from turning attention around.
  enum class Bound {
    kNone,
    kRelu,   // Inside of the softmax, as the paper writes it: the parameter itself may be negative.
    kClamp,  // The parameter is at least `lower_bound` after every update, as the authors' code does it.
  };
  Bound bound = Bound::kClamp;
  double lower_bound = 1;
  double learning_rate = 0.1;
  int steps = 200;
  int warmup_steps = 20;
  double final_share = 0.1;  // Of the learning rate, at the end of the cosine.
  double clip_norm = 1;

  // A warm-up and a cosine.
  RateSchedule schedule() const {
    return {.steps = steps, .warmup_steps = warmup_steps, .shape = RateSchedule::Shape::kCosine, .final_share = final_share};
  }
};

// INVALID_ARGUMENT with the value that cannot be.
absl::Status Validate(const HeadScaleSettings& settings);

// AdamW (0.9, 0.95, 1e-8) without decay, of one member's factors. In float32 but for the norm.
class HeadScaleOptimizer {
 public:
  HeadScaleOptimizer(const HeadScaleSettings& settings, size_t factors);

  // One update, in place. Returns the norm of the gradient before clipping.
  double Step(std::span<const float> gradient, std::span<float> factors);
  int steps() const { return step_; }

 private:
  HeadScaleSettings settings_;
  int step_ = 0;
  std::vector<float> moment1_, moment2_;
};

}  // namespace longreach::trainer
