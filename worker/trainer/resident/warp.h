// The instructions of a GPU that the resident kernels are made of, in which a warp of 32 threads takes part together: as PTX for
// nvcc, and in emulation.h for a CPU. Kernels see no other difference, so tests execute the very text that nvcc compiles.
//
// Where the numbers of a matrix lie among the threads of a warp (PTX ISA, "Matrix fragments for mma.m16n8k8" and "m16n8k16", type
// .bf16 or .f16), with g = lane / 4 and c = lane % 4; a word holds two neighbours of a row (A, C) or of a column (B), the first one low:
//   A 16 x 16  a0 (g, 2c..)  a1 (g+8, 2c..)  a2 (g, 2c+8..)  a3 (g+8, 2c+8..)   A 16 x 8: a0 and a1
//   B 16 x 8   b0 (2c.., g)  b1 (2c+8.., g)                                     B 8 x 8: b0
//   C 16 x 8   c0 c1 (g, 2c..)  c2 c3 (g+8, 2c..), in float32
// So two neighbouring C, rounded, are an A as they lie; and one C of 16 x 8, rounded, is an A of 16 x 8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/trainer/resident/operands.h"

#if defined(__CUDACC__)

#define LONGREACH_DEVICE __device__ __forceinline__
#define LONGREACH_DEVICE_UNROLL _Pragma("unroll")
// Before loops that are too long to be unrolled as a whole: what is walked through for each tile should stay in the cache of instructions.
#define LONGREACH_DEVICE_ROLLED _Pragma("unroll 1")
#define LONGREACH_DEVICE_UNROLL_BY_4 _Pragma("unroll 4")

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

LONGREACH_DEVICE int Thread() { return static_cast<int>(threadIdx.x); }
LONGREACH_DEVICE void SyncBlock() { __syncthreads(); }
LONGREACH_DEVICE uint64_t Clock() { return static_cast<uint64_t>(clock64()); }  // Of this multiprocessor.
LONGREACH_DEVICE void SyncWarp() { __syncwarp(); }
LONGREACH_DEVICE float ShuffleXor(float x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
// Adds a partner's, of several at once: a shuffle takes its time, and the next one does not wait for it.
template <int kCount>
LONGREACH_DEVICE void AddPartners(float (&x)[kCount], int mask) {
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < kCount; ++i) x[i] += ShuffleXor(x[i], mask);
}
// What all threads of a warp have. The compiler knows it, and keeps what is made of it in the warp's registers, not in each thread's.
LONGREACH_DEVICE int OfWarp(int x) { return __shfl_sync(0xffffffffu, x, 0); }

// To about two units of float32's last place; numbers below its normal range are taken for 0.
LONGREACH_DEVICE float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
LONGREACH_DEVICE float Log2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
LONGREACH_DEVICE float InverseSqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
LONGREACH_DEVICE float Reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
LONGREACH_DEVICE float Max(float x, float y) { return fmaxf(x, y); }  // Of a number and none: the number.
LONGREACH_DEVICE float Size(float x) { return fabsf(x); }
LONGREACH_DEVICE uint32_t BitsOf(float x) { return __float_as_uint(x); }
LONGREACH_DEVICE float FloatOf(uint32_t bits) { return __uint_as_float(bits); }

// The type of operands in the names of instructions.
#if defined(LONGREACH_RESIDENT_FLOAT16)
#define LONGREACH_RESIDENT_PTX "f16"
#else
#define LONGREACH_RESIDENT_PTX "bf16"
#endif

// Two numbers in one word, rounded to the nearest, ties to even; beyond the largest one they are infinite.
LONGREACH_DEVICE uint32_t Pack(float low, float high) {
  uint32_t pair;
  if constexpr (kOperands == Operands::kFloat16) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}
// Of both numbers of a word what is above 0, and 0 for the rest.
LONGREACH_DEVICE uint32_t PositiveOf(uint32_t pair) {
  uint32_t most;
  asm("max." LONGREACH_RESIDENT_PTX "x2 %0, %1, %2;" : "=r"(most) : "r"(pair), "r"(0u));
  return most;
}
LONGREACH_DEVICE float ToFloat(Half x) {
  if constexpr (kOperands == Operands::kFloat16) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
  } else {
    return __uint_as_float(static_cast<uint32_t>(x) << 16);
  }
}

// Each half full of its upper bit.
LONGREACH_DEVICE uint32_t SpreadUpperBits(uint32_t x) {
  uint32_t spread;
  asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(spread) : "r"(x));
  return spread;
}

// sums += A B. A is 16 x 8, B is 8 x 8.
LONGREACH_DEVICE void Mma8(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t b0) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32." LONGREACH_RESIDENT_PTX "." LONGREACH_RESIDENT_PTX ".f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a0), "r"(a1), "r"(b0));
}
// The same; A is 16 x 16, B is 16 x 8.
LONGREACH_DEVICE void Mma16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." LONGREACH_RESIDENT_PTX "." LONGREACH_RESIDENT_PTX ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Four matrices of 8 x 8 from shared memory: thread 8 i + r brings the address of row r of matrix i, which is 16 bytes long and
// aligned to them. Word i of a thread is row g, columns 2c and 2c+1 of matrix i; transposed, of its transpose.
LONGREACH_DEVICE uint32_t SharedAddress(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
LONGREACH_DEVICE void Load4(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(SharedAddress(row))
               : "memory");
}
LONGREACH_DEVICE void Load4Transposed(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(SharedAddress(row))
               : "memory");
}
// Two matrices: the addresses of threads from 16 on do not count.
LONGREACH_DEVICE void Load2Transposed(uint32_t (&to)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(SharedAddress(row))
               : "memory");
}
// Transposes matrices of 8 x 8 that lie among the threads.
template <int kCount>
LONGREACH_DEVICE void Transpose8x8(uint32_t (&x)[kCount]) {
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < kCount; ++i) asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(x[i]) : "r"(x[i]));
}

// Where pointers lead that come out of memory, or of arithmetic: the compiler cannot see it, would take instructions that
// ask for each address, and could not know that what is written to the one memory is not read from the other. Null is anywhere.
template <class... T>
LONGREACH_DEVICE void AssumeGlobal(const T*... pointers) {
  (__builtin_assume(__isGlobal(pointers)), ...);
}
template <size_t kBytes>
LONGREACH_DEVICE void AssumeShared(const char* first) {
  __builtin_assume(__isShared(first));
}
// Products of a warpgroup that are made of the above (wgmma_by_warps.h) go on for nobody. In the emulation they are done when they are waited for, or at
// once.
LONGREACH_DEVICE void BeginBatchOfProducts() {}
template <class Product>
LONGREACH_DEVICE void BeginProduct(const Product& product) {
  product();
}
LONGREACH_DEVICE void EndBatchOfProducts() {}
template <int kLater>
LONGREACH_DEVICE void AwaitBatchesOfProducts() {}
// Of what threads have written, for products that read memory by other ways than theirs: the emulation sees to it that it comes before them.
LONGREACH_DEVICE void PublishShared() {}
// Of a factor that wgmma is to read: it begins at a multiple of 1024 bytes. The emulation sees to it.
LONGREACH_DEVICE void AssumeSquare(const void*) {}
// Has a line of the GPU's memory brought into its second cache, and waits for nothing.
LONGREACH_DEVICE void PrefetchLine(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p))); }

// Copies 16 bytes, or 8 or 4, of global memory into shared memory, from a place that is a multiple of as many, while the thread goes on. They
// are there, for this thread, once it has waited for their group: AwaitCopies() leaves the last kLater groups under way.
LONGREACH_DEVICE void BeginCopy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(to)), "l"(__cvta_generic_to_global(from)) : "memory");
}
LONGREACH_DEVICE void BeginCopy8(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(SharedAddress(to)), "l"(__cvta_generic_to_global(from)) : "memory");
}
LONGREACH_DEVICE void BeginCopy4(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SharedAddress(to)), "l"(__cvta_generic_to_global(from)) : "memory");
}
LONGREACH_DEVICE void EndGroupOfCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLater>
LONGREACH_DEVICE void AwaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLater) : "memory");
}

// Two neighbours at an even place.
LONGREACH_DEVICE uint32_t LoadPair(const Half* p) { return *reinterpret_cast<const uint32_t*>(p); }
LONGREACH_DEVICE void StorePair(Half* p, uint32_t pair) { *reinterpret_cast<uint32_t*>(p) = pair; }

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS

#else
#include "worker/trainer/resident/emulation.h"
#endif

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline constexpr int kWarps = kThreads / 32;

LONGREACH_DEVICE int Lane() { return Thread() & 31; }
LONGREACH_DEVICE int Warp() { return Thread() >> 5; }

LONGREACH_DEVICE int Least(int a, int b) { return a < b ? a : b; }

// Of two numbers those whose partner in `positive`, of which none is below 0, is not 0; else 0.
LONGREACH_DEVICE uint32_t WherePositive(uint32_t pair, uint32_t positive) {
  return pair & SpreadUpperBits(positive + 0x7fff7fffu);  // The sum has the upper bit of a half for all but 0.
}

LONGREACH_DEVICE float Low(uint32_t pair) { return ToFloat(static_cast<Half>(pair)); }
LONGREACH_DEVICE float High(uint32_t pair) { return ToFloat(static_cast<Half>(pair >> 16)); }

// What is read and written at once.
struct [[gnu::may_alias]] alignas(8) Float2 {
  float x, y;
};
struct [[gnu::may_alias]] alignas(16) Float4 {
  float x[4];
};
struct [[gnu::may_alias]] alignas(8) Words2 {
  uint32_t at[2];
};
struct [[gnu::may_alias]] alignas(16) Words4 {
  uint32_t at[4];
};
LONGREACH_DEVICE Float2 LoadFloat2(const float* p) { return *reinterpret_cast<const Float2*>(p); }
LONGREACH_DEVICE void StoreFloat2(float* p, float x, float y) { *reinterpret_cast<Float2*>(p) = Float2{x, y}; }
LONGREACH_DEVICE Float4 LoadFour(const float* from) { return *reinterpret_cast<const Float4*>(from); }
LONGREACH_DEVICE void StoreFour(float* to, const Float4& four) { *reinterpret_cast<Float4*>(to) = four; }
LONGREACH_DEVICE Words4 LoadWords4(const Half* from) { return *reinterpret_cast<const Words4*>(from); }
LONGREACH_DEVICE void StoreWords4(Half* to, const Words4& words) { *reinterpret_cast<Words4*>(to) = words; }

// Sums over the threads of the same g, over groups of eight, and over the warp; all of them have the result.
LONGREACH_DEVICE float SumOfFour(float x) {
  x += ShuffleXor(x, 1);
  return x + ShuffleXor(x, 2);
}
template <int kRows, int kCount>
LONGREACH_DEVICE void SumsOfFour(float (&x)[kRows][kCount]) {
  LONGREACH_DEVICE_UNROLL for (int mask = 1; mask < 4; mask *= 2) {
    LONGREACH_DEVICE_UNROLL for (int row = 0; row < kRows; ++row) AddPartners(x[row], mask);
  }
}
template <int kCount>
LONGREACH_DEVICE void SumsOfEight(float (&x)[kCount]) {
  LONGREACH_DEVICE_UNROLL for (int mask = 1; mask < 8; mask *= 2) AddPartners(x, mask);
}
LONGREACH_DEVICE float SumOfWarp(float x) {
  x = SumOfFour(x);
  x += ShuffleXor(x, 4);
  x += ShuffleXor(x, 8);
  return x + ShuffleXor(x, 16);
}

// What a phase will read next, at most kMost numbers: by the whole block, in the memory's lines. Nothing where `count` is not above 0.
template <int kMost, class T>
LONGREACH_DEVICE void Prefetch(const T* from, int count) {
  constexpr int kLine = 128 / sizeof(T);
  LONGREACH_DEVICE_UNROLL for (int first = 0; first < kMost; first += kLine * kThreads) {
    const int i = first + kLine * Thread();
    if (i < count) PrefetchLine(from + i);
  }
}

// Begins to copy so many numbers into shared memory, by the whole block: multiples of 16 bytes, from a place that is one too. They are there once all
// threads have waited for the group that they are of, and then for each other.
template <class T>
LONGREACH_DEVICE void BeginCopy(T* to, const T* from, int count) {
  constexpr int kAtOnce = 16 / sizeof(T);
  for (int i = kAtOnce * Thread(); i < count; i += kAtOnce * kThreads) BeginCopy16(to + i, from + i);
}
LONGREACH_DEVICE void ClearFloats(float* to, int count) {
  for (int i = Thread(); i < count; i += kThreads) to[i] = 0.0f;
}
LONGREACH_DEVICE void ClearHalves(Half* to, int count) {
  for (int i = Thread(); i < count / 2; i += kThreads) StorePair(to + 2 * i, 0u);
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
