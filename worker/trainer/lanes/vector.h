// A register of floats, one per sequence, and the few operations that the network needs of it. No function of the
// standard library that could be shared between object files is used by the kernels: the linker might keep the copy that
// was compiled for an instruction set that the machine lacks.
#pragma once

#if !defined(LONGREACH_LANES) || !defined(LONGREACH_LANES_NAMESPACE)
#error "compiled with the number of lanes and the namespace of an instruction set: see CMakeLists.txt"
#endif

#if LONGREACH_LANES > 4
#include <immintrin.h>
#endif

#include <cstdint>

#define LONGREACH_UNROLL _Pragma("GCC unroll 32")
// Where several turns of a loop need more registers than 16: it is slower unrolled if there are no more.
#if defined(__AVX512VL__)
#define LONGREACH_UNROLL_WIDE LONGREACH_UNROLL
#else
#define LONGREACH_UNROLL_WIDE _Pragma("GCC unroll 1")
#endif
#define LONGREACH_INLINE [[gnu::always_inline]] inline

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

inline constexpr int kLanes = LONGREACH_LANES;
using Lanes [[gnu::vector_size(4 * LONGREACH_LANES), gnu::may_alias]] = float;
using IntLanes [[gnu::vector_size(4 * LONGREACH_LANES), gnu::may_alias]] = int32_t;

// Registers decide the blocks of the products: rows x 3 positions. 32 registers with AVX-512, else 16.
#if defined(__AVX512VL__)
inline constexpr bool kManyRegisters = true;
#else
inline constexpr bool kManyRegisters = false;
#endif
inline constexpr int kRows = kManyRegisters ? 8 : 4;
inline constexpr int kOuterColumns = kManyRegisters ? 4 : 2;
inline constexpr int kQueriesAtATime = kManyRegisters ? 2 : 1;
inline constexpr int kKeysAtATime = kManyRegisters ? 2 : 1;

inline constexpr float kLog2e = 1.44269504088896f;

LONGREACH_INLINE constexpr int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }

LONGREACH_INLINE Lanes Load(const float* p) { return *reinterpret_cast<const Lanes*>(p); }
// Of what several operations read: left to itself the compiler has each of them load it again, and a cycle has fewer loads than those take.
LONGREACH_INLINE Lanes LoadOnce(const float* p) {
  Lanes v = Load(p);
#if defined(__AVX512VL__)
  asm("" : "+v"(v));
#endif
  return v;
}
LONGREACH_INLINE void Store(float* p, Lanes v) { *reinterpret_cast<Lanes*>(p) = v; }
LONGREACH_INLINE Lanes Zero() { return Lanes{}; }
LONGREACH_INLINE Lanes Fma(Lanes a, Lanes b, Lanes c) { return a * b + c; }  // Contracted where the machine can.

#if LONGREACH_LANES == 16

LONGREACH_INLINE Lanes Splat(float s) { return _mm512_set1_ps(s); }
LONGREACH_INLINE Lanes Max(Lanes a, Lanes b) { return _mm512_max_ps(a, b); }
LONGREACH_INLINE Lanes Sqrt(Lanes v) { return _mm512_sqrt_ps(v); }
LONGREACH_INLINE float Sum(Lanes v) { return _mm512_reduce_add_ps(v); }
// x where the lane's bit is set, else 0.
LONGREACH_INLINE Lanes Where(uint32_t bits, Lanes x) { return _mm512_maskz_mov_ps(static_cast<__mmask16>(bits), x); }
LONGREACH_INLINE Lanes WherePositive(Lanes condition, Lanes x) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(condition, _mm512_setzero_ps(), _CMP_GT_OQ), x);
}

#else

LONGREACH_INLINE Lanes Splat(float s) { return s - Lanes{}; }
#if LONGREACH_LANES == 8
LONGREACH_INLINE Lanes Max(Lanes a, Lanes b) { return _mm256_max_ps(a, b); }
#else
LONGREACH_INLINE Lanes Max(Lanes a, Lanes b) { return a > b ? a : b; }
#endif
LONGREACH_INLINE Lanes Sqrt(Lanes v) {
#if LONGREACH_LANES == 8
  return _mm256_sqrt_ps(v);
#else
  Lanes r = {};
  LONGREACH_UNROLL for (int i = 0; i < kLanes; ++i) r[i] = __builtin_sqrtf(v[i]);
  return r;
#endif
}
#if defined(__AVX512VL__)
// In the order of a whole register's sum: so half a register of numbers has the sum of a whole one with zeros beside them.
LONGREACH_INLINE float Sum(Lanes v) { return _mm512_reduce_add_ps(_mm512_zextps256_ps512(v)); }
LONGREACH_INLINE Lanes Where(uint32_t bits, Lanes x) { return _mm256_maskz_mov_ps(static_cast<__mmask8>(bits), x); }
LONGREACH_INLINE Lanes WherePositive(Lanes condition, Lanes x) {
  return _mm256_maskz_mov_ps(_mm256_cmp_ps_mask(condition, _mm256_setzero_ps(), _CMP_GT_OQ), x);
}
#else
LONGREACH_INLINE float Sum(Lanes v) {
  float sum = v[0];
  LONGREACH_UNROLL for (int i = 1; i < kLanes; ++i) sum += v[i];
  return sum;
}
LONGREACH_INLINE Lanes Where(uint32_t bits, Lanes x) {
  IntLanes lane = {};
  LONGREACH_UNROLL for (int i = 0; i < kLanes; ++i) lane[i] = 1 << i;
  const IntLanes set = (lane & static_cast<int32_t>(bits)) != 0;
  return reinterpret_cast<Lanes>(set & reinterpret_cast<IntLanes>(x));
}
LONGREACH_INLINE Lanes WherePositive(Lanes condition, Lanes x) {
  return reinterpret_cast<Lanes>((condition > 0) & reinterpret_cast<IntLanes>(x));
}
#endif

#endif

// Of a row of 16 floats that of each lane's index.
LONGREACH_INLINE Lanes Lookup(const float* row, IntLanes index) {
#if LONGREACH_LANES == 16
  return _mm512_permutexvar_ps(reinterpret_cast<__m512i>(index), Load(row));
#elif defined(__AVX512VL__)
  return _mm256_permutex2var_ps(Load(row), reinterpret_cast<__m256i>(index), Load(row + kLanes));
#elif LONGREACH_LANES == 8
  const __m256i here = reinterpret_cast<__m256i>(index);
  return index < kLanes ? _mm256_permutevar8x32_ps(Load(row), here) : _mm256_permutevar8x32_ps(Load(row + kLanes), here);
#else
  Lanes r = {};
  LONGREACH_UNROLL for (int i = 0; i < kLanes; ++i) r[i] = row[index[i]];
  return r;
#endif
}

// 2^x, relative error below 3e-7, for x <= 127; very negative x give 0, NaN stays NaN.
LONGREACH_INLINE Lanes Exp2(Lanes x) {
#if defined(__AVX512VL__)
  // vreduceps leaves x - floor(x), vscalefps multiplies by 2^floor(x).
#if LONGREACH_LANES == 16
  const Lanes r = _mm512_reduce_ps(x, 0x09);
#else
  const Lanes r = _mm256_reduce_ps(x, 0x09);
#endif
  Lanes p = Splat(0.0018671304f);
  p = Fma(p, r, Splat(0.00901702959f));
  p = Fma(p, r, Splat(0.0557999136f));
  p = Fma(p, r, Splat(0.24016445f));
  p = Fma(p, r, Splat(0.693151312f));
  p = Fma(p, r, Splat(1.0f));
#if LONGREACH_LANES == 16
  return _mm512_scalef_ps(p, x);
#else
  return _mm256_scalef_ps(p, x);
#endif
#else
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to an integer.
  const IntLanes tiny = x < -126.0f;
  const Lanes bounded = tiny ? Splat(-126.0f) : x;
  const Lanes whole = (bounded + kRound) - kRound;
  const Lanes r = bounded - whole;  // In [-1/2, 1/2].
  Lanes p = Splat(1.535336188e-4f);
  p = Fma(p, r, Splat(1.339887440e-3f));
  p = Fma(p, r, Splat(9.618437357e-3f));
  p = Fma(p, r, Splat(5.550332471e-2f));
  p = Fma(p, r, Splat(2.402264791e-1f));
  p = Fma(p, r, Splat(6.931472029e-1f));
  p = Fma(p, r, Splat(1.0f));
  const IntLanes power = (__builtin_convertvector(whole, IntLanes) + 127) << 23;
  const Lanes result = p * reinterpret_cast<Lanes>(power);
  return tiny ? Zero() : result;
#endif
}

#if LONGREACH_LANES == 16

// Out row i, column j = in row j, column i, for a square of W x W.
LONGREACH_INLINE void Transpose(const float* in, int64_t in_stride, float* out, int64_t out_stride) {
  __m512 r[16], t[16];
  LONGREACH_UNROLL for (int i = 0; i < 16; ++i) r[i] = Load(in + i * in_stride);
  LONGREACH_UNROLL for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  const auto d = [](__m512 v) { return _mm512_castps_pd(v); };
  const auto s = [](__m512d v) { return _mm512_castpd_ps(v); };
  LONGREACH_UNROLL for (int i = 0; i < 4; ++i) {
    r[4 * i] = s(_mm512_unpacklo_pd(d(t[4 * i]), d(t[4 * i + 2])));
    r[4 * i + 1] = s(_mm512_unpackhi_pd(d(t[4 * i]), d(t[4 * i + 2])));
    r[4 * i + 2] = s(_mm512_unpacklo_pd(d(t[4 * i + 1]), d(t[4 * i + 3])));
    r[4 * i + 3] = s(_mm512_unpackhi_pd(d(t[4 * i + 1]), d(t[4 * i + 3])));
  }
  LONGREACH_UNROLL for (int j = 0; j < 4; ++j) {
    const __m512 a = r[j], b = r[4 + j], c = r[8 + j], e = r[12 + j];
    const __m512 ab0 = _mm512_shuffle_f32x4(a, b, 0x88), ab1 = _mm512_shuffle_f32x4(a, b, 0xDD);
    const __m512 ce0 = _mm512_shuffle_f32x4(c, e, 0x88), ce1 = _mm512_shuffle_f32x4(c, e, 0xDD);
    Store(out + (0 + j) * out_stride, _mm512_shuffle_f32x4(ab0, ce0, 0x88));
    Store(out + (4 + j) * out_stride, _mm512_shuffle_f32x4(ab1, ce1, 0x88));
    Store(out + (8 + j) * out_stride, _mm512_shuffle_f32x4(ab0, ce0, 0xDD));
    Store(out + (12 + j) * out_stride, _mm512_shuffle_f32x4(ab1, ce1, 0xDD));
  }
}

#elif LONGREACH_LANES == 8

LONGREACH_INLINE void Transpose(const float* in, int64_t in_stride, float* out, int64_t out_stride) {
  Lanes r[8], t[8];
  LONGREACH_UNROLL for (int i = 0; i < 8; ++i) r[i] = Load(in + i * in_stride);
  LONGREACH_UNROLL for (int i = 0; i < 4; ++i) {
    t[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  LONGREACH_UNROLL for (int i = 0; i < 2; ++i) {
    LONGREACH_UNROLL for (int j = 0; j < 2; ++j) {
      r[4 * i + 2 * j] = __builtin_shufflevector(t[4 * i + j], t[4 * i + 2 + j], 0, 1, 8, 9, 4, 5, 12, 13);
      r[4 * i + 2 * j + 1] = __builtin_shufflevector(t[4 * i + j], t[4 * i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  LONGREACH_UNROLL for (int j = 0; j < 4; ++j) {
    Store(out + j * out_stride, __builtin_shufflevector(r[j], r[4 + j], 0, 1, 2, 3, 8, 9, 10, 11));
    Store(out + (4 + j) * out_stride, __builtin_shufflevector(r[j], r[4 + j], 4, 5, 6, 7, 12, 13, 14, 15));
  }
}

#else

LONGREACH_INLINE void Transpose(const float* in, int64_t in_stride, float* out, int64_t out_stride) {
  const Lanes a = Load(in), b = Load(in + in_stride), c = Load(in + 2 * in_stride), d = Load(in + 3 * in_stride);
  const Lanes ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Lanes cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  Store(out, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  Store(out + out_stride, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  Store(out + 2 * out_stride, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  Store(out + 3 * out_stride, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

#endif

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
