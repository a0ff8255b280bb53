// What the small phases of an update have in common. A phase is run by all kThreads threads of the block that trains a
// member, and ends with SyncBlock(): what it wrote is there for every thread afterwards, and its shared memory is free again.
// No atomics, and every sum in an order that depends on the arguments alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/trainer/resident/step_arguments.h"
#include "worker/trainer/resident/warp.h"

// Before a loop that is too long to be unrolled as a whole.
#ifdef __CUDACC__
#define LONGREACH_DEVICE_UNROLL_BY_4 _Pragma("unroll 4")
#else
#define LONGREACH_DEVICE_UNROLL_BY_4
#endif

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// Four floats that are read and written together; their place is a multiple of 16 bytes.
struct [[gnu::may_alias]] alignas(16) Float4 {
  float x[4];
};

LONGREACH_DEVICE Float4 LoadFour(const float* from) { return *reinterpret_cast<const Float4*>(from); }
LONGREACH_DEVICE void StoreFour(float* to, const Float4& four) { *reinterpret_cast<Float4*>(to) = four; }

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
