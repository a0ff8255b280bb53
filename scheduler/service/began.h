// Where an attempt really began.
#pragma once

#include "longreach/v1/worker.pb.h"
#include "proto/types/words.h"

namespace longreach::service {

// Whether a worker says of an attempt that it trains before the step that it was leased for: the checkpoint of that step could not be used, and it
// went on from an older one, or began anew. A worker tells the step that it began with, and no other, until that is on disk (worker/agent/attempt.h).
// Of one that has not begun, or hands in what is left of it, the step says nothing of that.
inline bool BeganEarlier(const v1::HeldAttempt& held, int start_step) {
  return held.step() >= 0 && held.step() < start_step && ParseAttemptPhase(held.phase()) == AttemptPhase::kTraining;
}

}  // namespace longreach::service
