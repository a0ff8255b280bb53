// Layers without a positional encoding: positions.none_every, of all kinds.
#pragma once

#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

// Of an encoding that acts in layers, and is not added to the embedding.
bool ActsInLayers(std::string_view encoding);

void CheckPositionLayers(const v1::Axes& axes, const Settings& settings, Checks& checks);

// Takes the setting out of jobs that it means nothing to.
void CompletePositionLayers(const v1::JobSpec& job, v1::Positions& positions);

}  // namespace longreach::experiments
