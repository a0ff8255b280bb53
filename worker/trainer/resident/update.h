// The end of an update: the gradient's norm, clipping and Adam; and the beginning of the next, rounded copies of weights.
#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>

#include "worker/trainer/engine/optimizer.h"
#include "worker/trainer/resident/add_parts.h"
#include "worker/trainer/resident/squares.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline constexpr int kEight = 8;  // Numbers of 16 bits that are written together.

// A matrix [kRows, kColumns] into squares: beside each other, or below each other where it has 64 columns.
template <int kRows, int kColumns>
LONGREACH_DEVICE void RoundMatrix(const float* from, Half* to) {
  constexpr int kEach = kRows * kColumns / kEight / kThreads, kAtOnce = kEach < 4 ? kEach : 4;  // Of all; loads under way together.
  static_assert(kEach * kEight * kThreads == kRows * kColumns && kEach % kAtOnce == 0);
  for (int done = 0; done < kEach; done += kAtOnce) {
    Float4 low[kAtOnce], high[kAtOnce];
    LONGREACH_DEVICE_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = ((done + k) * kThreads + Thread()) * kEight;
      low[k] = LoadFour(from + i);
      high[k] = LoadFour(from + i + 4);
    }
    LONGREACH_DEVICE_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = ((done + k) * kThreads + Thread()) * kEight;
      const int column = i % kColumns;
      *reinterpret_cast<Words4*>(to + column / kDim * kSquare + Swizzled(i / kColumns, column % kDim)) = Words4{
          {Pack(low[k].x[0], low[k].x[1]), Pack(low[k].x[2], low[k].x[3]), Pack(high[k].x[0], high[k].x[1]), Pack(high[k].x[2], high[k].x[3])}};
    }
  }
}

// A layer's weights come in parts of a size: attention's four matrices, and each of the MLP's.
inline constexpr int kWeightParts = 3;

// One of these, from a member's flat parameters, rounded into the layout of step_arguments.h.
// matrices: [kLayerMatrices], of which the part's are all written. These and the weights begin at multiples of 16 bytes.
LONGREACH_DEVICE void RoundWeights(const LayerPlaces& at, const float* parameters, int part, Half* matrices) {
  if (part == 0) {
    const int projections[3] = {at.q, at.k, at.v};
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < 3; ++i) RoundMatrix<kDim, kDim>(parameters + projections[i], matrices + i * kSquare);
    RoundMatrix<kDim, kDim>(parameters + at.o, matrices + kAtOut);
  } else if (part == 1) {
    RoundMatrix<kDim, kHidden>(parameters + at.mlp1_w, matrices + kAtUp);
  } else {
    RoundMatrix<kHidden, kDim>(parameters + at.mlp2_w, matrices + kAtDown);
  }
  SyncBlock();
}

// Shared memory of SquaredNorm().
constexpr size_t SquaredNormSharedBytes() { return sizeof(double) * kSumDoubles; }

// Sum of squares in float64, the same for every thread. `size` is a multiple of 4, `values` begins at a multiple of 16 bytes.
LONGREACH_DEVICE double SquaredNorm(const float* values, int size, char* shared) {
  double sum = 0;
  LONGREACH_DEVICE_UNROLL_BY_4
  for (int i = 4 * Thread(); i < size; i += 4 * kThreads) {
    const Float4 four = LoadFour(values + i);
    LONGREACH_DEVICE_UNROLL
    for (int k = 0; k < 4; ++k) sum += static_cast<double>(four.x[k]) * static_cast<double>(four.x[k]);
  }
  return SumOfBlock(sum, reinterpret_cast<double*>(shared));
}

// As ClipFactor() of engine/optimizer.h.
LONGREACH_DEVICE float ClipBy(double norm, double most) { return norm >= most ? static_cast<float>(most / norm) : 1.0f; }

// One step of Adam by a gradient of this norm, for a piece of a member's numbers: those between parameters, too, stay 0 where
// their gradient is. The formula is ApplyAdam()'s of
// engine/optimizer.h, in float32; whether products and sums are rounded apart is the compiler's choice, here as there.
LONGREACH_DEVICE void ClipAndAdam(const StepArguments& step, int member, double norm, const Piece& piece) {
  constexpr float kB1 = static_cast<float>(kBeta1), kB2 = static_cast<float>(kBeta2);
  constexpr float kRest1 = static_cast<float>(1 - kBeta1), kRest2 = static_cast<float>(1 - kBeta2);
  constexpr float kEps = static_cast<float>(kEpsilon);
  const float clip = ClipBy(norm, static_cast<double>(step.clip_norm)), rate = step.learning_rates[member];
  const int size = piece.end - piece.begin;
  const int64_t begin = int64_t{member} * step.places.stride + piece.begin;
  constexpr int kAtOnce = 4, kApart = 4 * kThreads;  // Loads under way together of each buffer: this phase waits for memory alone.
  for (int first = 4 * Thread(); first < size; first += kAtOnce * kApart) {
    Float4 gradient[kAtOnce], m[kAtOnce], v[kAtOnce], x[kAtOnce];
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int64_t at = begin + first + i * kApart;
      if (first + i * kApart >= size) continue;
      gradient[i] = LoadFour(step.gradients + at);
      m[i] = LoadFour(step.moment1 + at);
      v[i] = LoadFour(step.moment2 + at);
      x[i] = LoadFour(step.parameters + at);
    }
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int64_t at = begin + first + i * kApart;
      if (first + i * kApart >= size) continue;
      LONGREACH_DEVICE_UNROLL
      for (int k = 0; k < 4; ++k) {
        const float g = gradient[i].x[k] * clip;
        m[i].x[k] = kB1 * m[i].x[k] + kRest1 * g;
        v[i].x[k] = kB2 * v[i].x[k] + kRest2 * (g * g);
        x[i].x[k] -= rate * ((m[i].x[k] * step.correction1) / (sqrtf(v[i].x[k] * step.correction2) + kEps));
      }
      StoreFour(step.moment1 + at, m[i]);
      StoreFour(step.moment2 + at, v[i]);
      StoreFour(step.parameters + at, x[i]);
    }
  }
  SyncBlock();
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
