// Where operands are float16, the gradient of the last layer's features is multiplied by a power of two before it goes back through the
// layers, so that its largest number lies in [1, 2), and the layers' gradients are divided by it at the end. Both are exact. The power is
// of the slice and the update alone, so nothing is kept from one update to the next: as a model learns, its gradients fall by orders of
// magnitude, below what float16 can hold. They may grow by 2^15 on their way through the layers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/trainer/resident/block.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// A power of two and its inverse.
struct GradientScale {
  float up = 1, down = 1;
};

// Shared memory of ScaleGradient(): as much as SumOfBlock() has.
constexpr size_t GradientScaleSharedBytes() { return sizeof(double) * kSumDoubles; }

// By the float's exponent; 1 where `largest` is 0 or not finite.
LONGREACH_DEVICE GradientScale ScaleOf(float largest) {
  if (!(largest > 0) || !(largest - largest == 0)) return {};
  constexpr uint32_t kExponents = 254;  // Of 1, twice.
  uint32_t exponent = BitsOf(largest) >> 23;
  if (exponent < 1) exponent = 1;
  if (exponent > kExponents - 1) exponent = kExponents - 1;
  return {.up = FloatOf((kExponents - exponent) << 23), .down = FloatOf(exponent << 23)};
}

// The largest of all threads' numbers, which are not negative, for each of them; of a NaN and a number the number, so NaNs are for the norm to
// find.
LONGREACH_DEVICE float LargestOfBlock(float mine, float* shared) {
  shared[Thread()] = mine;
  SyncBlock();
  float largest = 0;
  for (int i = 0; i < kThreads; ++i) largest = Max(largest, shared[i]);
  SyncBlock();
  return largest;
}

// dh [rows, D] to where its largest number lies in [1, 2).
LONGREACH_DEVICE GradientScale ScaleGradient(float* dh, int rows, char* shared) {
  const int count = rows * kFoursOfToken;
  float largest = 0;
  LONGREACH_DEVICE_UNROLL_BY_4
  for (int i = Thread(); i < count; i += kThreads) {
    const Float4 four = LoadFour(dh + 4 * i);
    LONGREACH_DEVICE_UNROLL
    for (int k = 0; k < 4; ++k) largest = Max(largest, Size(four.x[k]));
  }
  const GradientScale scale = ScaleOf(LargestOfBlock(largest, reinterpret_cast<float*>(shared)));
  LONGREACH_DEVICE_UNROLL_BY_4
  for (int i = Thread(); i < count; i += kThreads) {
    Float4 four = LoadFour(dh + 4 * i);
    LONGREACH_DEVICE_UNROLL
    for (int k = 0; k < 4; ++k) four.x[k] *= scale.up;
    StoreFour(dh + 4 * i, four);
  }
  SyncBlock();
  return scale;
}

// Whether number `i` of a member's is the head's: its gradient was made before that of what goes back was scaled.
LONGREACH_DEVICE bool IsOfHead(const ModelPlaces& places, int i) {
  return (i >= places.out_w && i < places.out_w + kDim * places.classes) || (i >= places.out_b && i < places.out_b + places.classes);
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
