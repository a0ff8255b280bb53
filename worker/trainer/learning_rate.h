// The learning rate of each update: a warm-up, then constant, or falling as a cosine or a line. Without torch.
// Source of warm-up and cosine: utils/callbacks.py of AntNLP/nope_head_scale, as jzhang38/TinyLlama has them.
#pragma once

#include <string_view>

#include "proto/base/status.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// What rates depend on besides the update and the member's own rate, so nothing of a pack, of threads or of where a run went on.
struct RateSchedule {
  using Shape = PackSettings::Training::Schedule;
  int steps = 0;
  int warmup_steps = 0;
  Shape shape = Shape::kConstant;
  double final_share = 1;  // Of the rate, at `steps`. Nothing that is constant looks at it.

  // All updates have the same.
  bool constant() const { return warmup_steps == 0 && shape == Shape::kConstant; }
};

// Whether jobs of an experiment kind may have another one than a constant rate.
bool HasSchedules(std::string_view experiment);

// What the settings say, or their experiment kind where they say nothing.
RateSchedule ScheduleOf(const PackSettings& settings);

// INVALID_ARGUMENT with the field and the value that cannot be. Where nothing is trained anything can.
absl::Status ValidateSchedule(const PackSettings& settings);

// As sweeps have it: "cosine".
std::string_view Word(RateSchedule::Shape shape);

// The rate of an update, from 0 on, of a member whose rate is `learning_rate`: in float64, to be rounded once. Of a warm-up the first is 0, as it
// counts from there. For schedules that ValidateSchedule() refuses nothing of, and updates up to their steps.
double RateAt(const RateSchedule& schedule, double learning_rate, int update);

}  // namespace longreach::trainer
