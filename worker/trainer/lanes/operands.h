// What the matrix products read. In kernels that were compiled for it, the operands of every product are rounded, as hardware
// for products of fewer bits reads them: weights, activations and gradients, queries, keys, values, probabilities and the gradients
// of all these. Sums, softmax, normalisation, residuals, biases and the update stay float32, and so do products that no such hardware
// would make: a rotation, an embedding's row.
//
// A number is rounded where it is stored if only products read it, else where a product reads it.
//
// Where the machine multiplies pairs of bfloat16 (AVX512_BF16: two products are added to each float32 sum at a time), products read words of
// two operands, the first one in the lower half; one after the other along what is summed over. Where it has a matrix unit for such words (AMX),
// that makes the large products (tiles.h), of as many of them at a time as a tile has.
#pragma once

#include "worker/trainer/lanes/kernels.h"
#include "worker/trainer/lanes/vector.h"

#if !defined(LONGREACH_LANES_OPERANDS)
#error "compiled with a name of enum Operands: see CMakeLists.txt"
#endif

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

inline constexpr Operands kOperands = Operands::LONGREACH_LANES_OPERANDS;
inline constexpr bool kRounds = kOperands != Operands::kFloat32;
#if defined(__AVX512BF16__)
inline constexpr bool kPairs = kOperands == Operands::kBf16;
#else
inline constexpr bool kPairs = false;
#endif
#if defined(__AMX_BF16__)
inline constexpr bool kTiles = kPairs;
#else
inline constexpr bool kTiles = false;
#endif
inline constexpr int kPerWord = kPairs ? 2 : 1;  // Operands in the space of a float.
// So many are summed up at a time; what is there is filled up with zeros. Without tiles nothing is ever missing.
inline constexpr int kDepth = kTiles ? 32 : kPerWord;
LONGREACH_INLINE constexpr int PaddedDepth(int count) { return (count + kDepth - 1) / kDepth * kDepth; }
inline constexpr int kDroppedBits = kRounds ? static_cast<int>(Operands::kFloat32) - static_cast<int>(kOperands) : 1;

using Words [[gnu::vector_size(4 * LONGREACH_LANES), gnu::may_alias]] = uint32_t;

// The nearest number of so few bits, of two the even one; nothing to do for float32. Beyond the largest one it is infinite.
LONGREACH_INLINE Lanes Operand(Lanes x) {
  if constexpr (!kRounds) return x;
#if defined(__AVX512BF16__)
  if constexpr (kPairs) {
    const __m256i halves = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
    return reinterpret_cast<Lanes>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
#endif
  constexpr uint32_t kDropped = (1u << kDroppedBits) - 1;
  const Words bits = reinterpret_cast<Words>(x), odd = (bits >> kDroppedBits) & 1u;
  const Lanes rounded = reinterpret_cast<Lanes>((bits + odd + kDropped / 2) & ~kDropped);
  return x == x ? rounded : x;  // The sum could make a number of a NaN.
}

LONGREACH_INLINE float Operand(float x) {
  if constexpr (!kRounds) return x;
  return Operand(Splat(x))[0];
}

#if defined(__AVX512BF16__)

// Words of a[i] and b[i], rounded.
LONGREACH_INLINE Lanes Pair(Lanes a, Lanes b) {
  alignas(64) static constexpr uint16_t kFromBoth[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                         8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_load_si512(kFromBoth), reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a))));
}
// Words of a[0] and a[1], a[2] and a[3], ..., b[14] and b[15].
LONGREACH_INLINE Lanes PairNeighbours(Lanes a, Lanes b) { return reinterpret_cast<Lanes>(_mm512_cvtne2ps_pbh(b, a)); }
// Of words a[0], a[1], ..., b[15] all first operands, or all second ones, as words of neighbours.
template <int which>
LONGREACH_INLINE Lanes OperandsOfWords(Lanes a, Lanes b) {
  alignas(64) static constexpr uint16_t kFirst[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                                      32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62};
  alignas(64) static constexpr uint16_t kSecond[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                       33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i from = _mm512_load_si512(which == 0 ? kFirst : kSecond);
  return _mm512_castsi512_ps(_mm512_permutex2var_epi16(reinterpret_cast<__m512i>(a), from, reinterpret_cast<__m512i>(b)));
}
// The word of a and b: rounding as Operand(Lanes) does it, which for single numbers is faster so than with vectors.
LONGREACH_INLINE uint32_t Half(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  return x == x ? (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 : bits >> 16 | 0x40;
}
LONGREACH_INLINE float PairOf(float a, float b) { return __builtin_bit_cast(float, Half(a) | Half(b) << 16); }
// Both products of each word are added to a sum.
LONGREACH_INLINE Lanes Dot(Lanes a, Lanes b, Lanes sum) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}

#else  // Never called.

LONGREACH_INLINE Lanes Pair(Lanes a, Lanes) { return a; }
LONGREACH_INLINE Lanes PairNeighbours(Lanes a, Lanes) { return a; }
LONGREACH_INLINE float PairOf(float a, float) { return a; }
LONGREACH_INLINE Lanes Dot(Lanes, Lanes, Lanes sum) { return sum; }

#endif

// A word of operands times another one, added to a sum; of one operand each, if products read no pairs.
LONGREACH_INLINE Lanes MultiplyAdd(Lanes a, Lanes b, Lanes sum) {
  if constexpr (kPairs) return Dot(a, b, sum);
  return Fma(a, b, sum);
}

// TB positions as Product() reads them: [PaddedDepth(rows) / kPerWord][TB][W], rows `ld` floats apart.
struct Block {
  const float* at;
  int64_t ld;
};

// Of `rows` rows of x, in `space` if x cannot be read as it is: because it is `rounded` not yet and others than products read it too, or
// because products read pairs.
template <int TB, bool rounded>
LONGREACH_INLINE Block BlockOf(const float* x, int64_t ld, int rows, float* space) {
  if constexpr (!kRounds || (rounded && !kPairs)) return {x, ld};
  for (int r = 0; r < rows; r += kPerWord, x += kPerWord * ld) {
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes first = Load(x + i * kLanes);
      Store(space + (r / kPerWord * TB + i) * kLanes, kPairs ? Pair(first, Load(x + ld + i * kLanes)) : Operand(first));
    }
  }
  for (int r = rows / kPerWord * TB; r < PaddedDepth(rows) / kPerWord * TB; ++r) Store(space + r * kLanes, Zero());
  return {space, TB * kLanes};
}

// Rows that products alone read, of operands: [feature][position][W], or with tiles the words that these read, [feature / 2][position][W].
inline constexpr int kPerRow = kTiles ? 2 : 1;
LONGREACH_INLINE constexpr int OperandRows(int features) { return PaddedDepth(features) / kPerRow; }

// Stores kRows features from n on.
template <int TB>
LONGREACH_INLINE void StoreOperands(float* x, int64_t ld, int n, const Lanes (&v)[kRows][TB]) {
  LONGREACH_UNROLL for (int r = 0; r < kRows; r += kPerRow) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
    Store(x + (n + r) / kPerRow * ld + i * kLanes, kTiles ? Pair(v[r][i], v[r + kPerRow - 1][i]) : Operand(v[r][i]));
  }
}

// Fills up the depth of a block whose features are all there.
template <int TB>
LONGREACH_INLINE void FillUpOperands(float* x, int64_t ld, int features) {
  for (int r = features / kPerRow; r < OperandRows(features); ++r) {
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(x + r * ld + i * kLanes, Zero());
  }
}

LONGREACH_INLINE Lanes LoadOperand(const float* x, int64_t ld, int n) {
  const Lanes row = Load(x + n / kPerRow * ld);
  if constexpr (!kTiles) return row;
  const Words words = reinterpret_cast<Words>(row);
  return reinterpret_cast<Lanes>(n % 2 == 0 ? words << 16 : words & 0xFFFF0000u);
}

template <int TB>
LONGREACH_INLINE Block BlockOfOperands(const float* x, int64_t ld, int features, float* space) {
  if constexpr (kTiles) return {x, ld};
  return BlockOf<TB, true>(x, ld, features, space);
}

// Makes what Outer() reads of tokens [count][columns], in place: [count / kPerWord][columns], and for tiles as many zeros as fill up the last one
// that begins at any position. `count` is a multiple of the lanes.
inline void TokenOperands(float* tokens, int64_t count, int64_t columns) {
  if constexpr (!kRounds) return;
  float* to = tokens;
  for (int64_t i = 0; i < count; i += kPerWord, tokens += kPerWord * columns, to += columns) {
    for (int64_t c = 0; c < columns; c += kLanes) {
      const Lanes first = Load(tokens + c);
      Store(to + c, kPairs ? Pair(first, Load(tokens + columns + c)) : Operand(first));
    }
  }
  for (int64_t i = count; i < count + kDepth - kLanes; i += kPerWord, to += columns) {
    for (int64_t c = 0; c < columns; c += kLanes) Store(to + c, Zero());
  }
}

// Rounds rows in place, `floats` of each: what has been summed up there is read by products alone from now on.
inline void RoundRows(float* x, int64_t ld, int rows, int64_t floats) {
  for (int r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < floats; i += kLanes) Store(x + r * ld + i, Operand(Load(x + r * ld + i)));
  }
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
