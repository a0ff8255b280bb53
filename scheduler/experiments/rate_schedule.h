// The learning rate's way through a training, of the experiment kinds that have one: what is refused of it, and which settings of it a job
// uses.
#pragma once

#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

// `given` is what the sweep says, `whole` that with the kind's defaults.
void CheckRateSchedule(const v1::Training& given, const v1::Training& whole, Checks& checks);

// Takes away what says nothing: all of it where nothing is trained, and what a constant rate would fall to.
void CompleteRateSchedule(v1::Training& training);

}  // namespace longreach::experiments
