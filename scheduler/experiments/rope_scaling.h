// Rotary positions at lengths beyond those of the training: what is refused of their extensions, and which settings of them a job uses.
#pragma once

#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

// The base that all had before it was a setting of theirs: model.rope_theta's default.
inline constexpr double kUsualTheta = 10'000;

// Those that depend on the length of the training before.
bool NeedsOriginalLength(const v1::Positions& positions);

// The settings with defaults filled in.
void CheckRopeScaling(const Settings& settings, Checks& checks);
// What the sweep says: whether there is a rotation to scale among its encodings, of consecutive positions.
void CheckRopeScalingOf(const v1::SweepSpec& sweep, Checks& checks);

// Of a kind that may scale tests alone: takes away what says nothing.
void CompleteRopeScaling(const v1::JobSpec& job, Settings& whole);

}  // namespace longreach::experiments
