// Mixtures: data sets that training blocks of the kind "llama" are drawn from by weight.
#pragma once

#include "scheduler/experiments/transformer.h"

namespace longreach::experiments {

void CheckMixture(const v1::Training& training, Checks& checks);

// One job for each set of data sets with their weights, in whatever order they are written; none where nothing is trained.
void CompleteMixture(v1::Training& training);

}  // namespace longreach::experiments
