// Attention by the number of keys (model.length_scaling), of the kinds whose models are made of the encoder's blocks alone.
#pragma once

#include "scheduler/experiments/registry.h"
#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

// The default.
void SetNoLengthScaling(v1::Model& model);
// Refuses another word, encodings that do not go with it, and a training length that is neither given nor known.
void CheckLengthScaling(const v1::Axes& axes, const Settings& settings, Checks& checks);
// Takes away what says nothing.
void CompleteLengthScaling(v1::Model& model);

}  // namespace longreach::experiments
