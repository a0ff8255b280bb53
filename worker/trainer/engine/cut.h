// How LibTorch's engine cuts a batch into groups of sequences, and deals these to units of work.
#pragma once

#include <cstdint>

#include "worker/trainer/engine/batch.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// Group g belongs to unit g % units. Fixed by the batch alone, because the order of sums is part of the result.
struct Cut {
  int64_t groups = 1;
  int64_t units = 1;
};

// Where a unit is a member with some of the groups.
Cut CutOf(const PackSettings& settings, const Batch& batch);

// Where the whole pack is one unit: the whole batch, and of a LLaMA decoder as many sequences at a time as leave at most so many floats behind.
Cut WholePackCut(const PackSettings& settings, const Batch& batch, int64_t members, double most_floats);

}  // namespace longreach::trainer
