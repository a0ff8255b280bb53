#include "scheduler/core/time_left.h"

#include <algorithm>

namespace longreach::core {

double SecondsLeft(double job_steps, std::span<const Pace> packs) {
  double rate = 0, known = 0, unknown = 0;
  for (const Pace& pack : packs) {
    if (pack.JobStepsPerSecond() > 0) {
      rate += pack.JobStepsPerSecond();
      known += pack.members;
    } else if (pack.phase == AttemptPhase::kStarting || pack.phase == AttemptPhase::kTraining) {
      unknown += pack.members;
    }
  }
  if (rate <= 0 || unknown > known) return 0;
  return std::max(job_steps, 0.0) / (rate * (known + unknown) / known);
}

}  // namespace longreach::core
