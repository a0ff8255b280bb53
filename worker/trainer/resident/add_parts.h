// Between the slices' gradients and a member's step: what they add up to. The blocks of a member divide its numbers.
#pragma once

#include <cstdint>

#include "worker/trainer/resident/gradient_scale.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// A piece of a member's numbers: multiples of 4.
struct Piece {
  int begin, end;
};
// Block `slice` has it, of the member's.
LONGREACH_DEVICE Piece PieceOf(const StepArguments& step, int slice) {
  const int64_t fours = step.places.stride / 4;
  return {static_cast<int>(fours * slice / step.slices) * 4, static_cast<int>(fours * (slice + 1) / step.slices) * 4};
}

// Whether slices leave anything to AddParts(): one alone whose gradient was not scaled has made the member's.
LONGREACH_DEVICE bool HasParts(const StepArguments& step) { return kScalesGradients || step.slices > 1; }

// The slices' gradients of a piece become the member's, added in their order, each divided by what it was scaled by. A thread writes what it will
// read in SquaredNorm() of the piece.
LONGREACH_DEVICE void AddParts(const StepArguments& step, int member, const Piece& piece) {
  constexpr int kAtOnce = 14;  // Loads that are under way together.
  const int64_t stride = step.places.stride;
  const float* const first = step.parts + member * step.slices * stride;
  const SliceSums* const sums = step.sums + member * step.slices;
  float* const gradient = step.gradients + member * stride;
  for (int i = piece.begin + 4 * Thread(); i < piece.end; i += 4 * kThreads) {
    bool of_head[4] = {};
    if constexpr (kScalesGradients) {
      LONGREACH_DEVICE_UNROLL
      for (int k = 0; k < 4; ++k) of_head[k] = IsOfHead(step.places, i + k);
    }
    Float4 sum = {};
    for (int done = 0; done < step.slices; done += kAtOnce) {
      Float4 part[kAtOnce];
      float scale[kAtOnce];
      LONGREACH_DEVICE_UNROLL
      for (int n = 0; n < kAtOnce; ++n) {
        if (done + n >= step.slices) continue;
        part[n] = LoadFour(first + (done + n) * stride + i);
        scale[n] = kScalesGradients ? sums[done + n].scale : 1.0f;
      }
      LONGREACH_DEVICE_UNROLL
      for (int n = 0; n < kAtOnce; ++n) {
        if (done + n >= step.slices) continue;
        LONGREACH_DEVICE_UNROLL
        for (int k = 0; k < 4; ++k) sum.x[k] += part[n].x[k] * (of_head[k] ? 1.0f : scale[n]);
      }
    }
    StoreFour(gradient + i, sum);
  }
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
