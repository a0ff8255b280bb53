// What the matrix products read. In kernels that were compiled for it, the operands of every product are rounded, as hardware
// for products of fewer bits reads them: weights, activations and gradients, queries, keys, values, probabilities and the gradients
// of all these. Sums, softmax, normalisation, residuals, biases and the update stay float32, and so do products that no such hardware
// would make: a rotation, an embedding's row.
//
// A number is rounded where it is stored if only products read it, else where a product reads it.
#pragma once

#include "worker/trainer/lanes/kernels.h"
#include "worker/trainer/lanes/vector.h"

#if !defined(LONGREACH_LANES_OPERANDS)
#error "compiled with a name of enum Operands: see CMakeLists.txt"
#endif

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

inline constexpr Operands kOperands = Operands::LONGREACH_LANES_OPERANDS;
inline constexpr bool kRounds = kOperands != Operands::kFloat32;
inline constexpr int kDroppedBits = kRounds ? static_cast<int>(Operands::kFloat32) - static_cast<int>(kOperands) : 1;

using Words [[gnu::vector_size(4 * LONGREACH_LANES), gnu::may_alias]] = uint32_t;

// The nearest number of so few bits, of two the even one; nothing to do for float32. Beyond the largest one it is infinite.
LONGREACH_INLINE Lanes Operand(Lanes x) {
  if constexpr (!kRounds) return x;
  constexpr uint32_t kDropped = (1u << kDroppedBits) - 1;
  const Words bits = reinterpret_cast<Words>(x), odd = (bits >> kDroppedBits) & 1u;
  const Lanes rounded = reinterpret_cast<Lanes>((bits + odd + kDropped / 2) & ~kDropped);
  return x == x ? rounded : x;  // The sum could make a number of a NaN.
}

LONGREACH_INLINE float Operand(float x) {
  if constexpr (!kRounds) return x;
  return Operand(Splat(x))[0];
}

// TB positions of `rows` rows of x as operands, because others than products read x too: [rows][TB][W].
template <int TB>
inline void CopyOperands(const float* x, int64_t ld, int rows, float* copy) {
  for (int r = 0; r < rows; ++r) {
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(copy + (r * TB + i) * kLanes, Operand(Load(x + r * ld + i * kLanes)));
  }
}

// Rounds rows in place, `floats` of each: what has been summed up there is read by products alone from now on.
inline void RoundRows(float* x, int64_t ld, int rows, int64_t floats) {
  for (int r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < floats; i += kLanes) Store(x + r * ld + i, Operand(Load(x + r * ld + i)));
  }
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
