// What the small phases of an update have in common. A phase is run by all kThreads threads of a block, for a slice of a
// member, and ends with SyncBlock(): what it wrote is there for every thread afterwards, and its shared memory is free again.
// No atomics, and every sum in an order that depends on the arguments alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/trainer/resident/step_arguments.h"
#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline constexpr int kFoursOfToken = kDim / 4;

// Shared doubles that SumOfBlock() needs.
inline constexpr int kSumParts = 16;
inline constexpr int kSumDoubles = kThreads + kSumParts;

// The sum of all threads' numbers, for each of them. `shared` has kSumDoubles.
LONGREACH_DEVICE double SumOfBlock(double mine, double* shared) {
  shared[Thread()] = mine;
  SyncBlock();
  if (Thread() < kSumParts) {
    double part = 0;
    for (int i = Thread(); i < kThreads; i += kSumParts) part += shared[i];
    shared[kThreads + Thread()] = part;
  }
  SyncBlock();
  double sum = 0;
  for (int i = 0; i < kSumParts; ++i) sum += shared[kThreads + i];
  SyncBlock();
  return sum;
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
