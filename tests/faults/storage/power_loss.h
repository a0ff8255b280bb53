// The power goes, at every moment of a life of a store.
#pragma once

#include <cstdint>

namespace longreach::faults {

struct PowerOptions {
  bool synchronous_off = false;
  // Every so many-th of the moments that matter: before each sync, and after each answer.
  int64_t every = 1;
  int patterns = 10;
  uint64_t seed = 1;
  // Only this moment and pattern, to repeat a failure; -1: all.
  int64_t moment = -1;
  int pattern = -1;
};

struct PowerReport {
  int64_t steps = 0;    // Writes, syncs, renames, ... in the store's life.
  int64_t syncs = 0;
  int64_t answers = 0;  // Things that somebody was told are done.
  int64_t moments = 0;  // At which the power went.
  int64_t points = 0;   // Moments times patterns.
  int64_t lost = 0;     // Points after which something was lost or the ledger was not sound.
};

PowerReport RunPowerLoss(const PowerOptions& options);

}  // namespace longreach::faults
