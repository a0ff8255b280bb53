// How long a sweep will take at the pace of what runs of it.
#pragma once

#include <span>

#include "proto/types/words.h"

namespace longreach::core {

// A running pack, as far as it is the sweep's.
struct Pace {
  int members = 0;
  AttemptPhase phase = AttemptPhase::kStarting;
  double steps_per_second = 0;  // Of each member; 0: nobody knows yet.

  // In another phase no step is made, whatever the last speed was.
  double JobStepsPerSecond() const { return phase == AttemptPhase::kTraining ? steps_per_second * members : 0; }
};

// Seconds for so many job-steps; 0: not known. A pack that starts, or trains and has not told its speed yet, counts as fast as the others are in the
// mean: it is about to be. Where these others are the smaller part, they say too little of it.
double SecondsLeft(double job_steps, std::span<const Pace> packs);

}  // namespace longreach::core
