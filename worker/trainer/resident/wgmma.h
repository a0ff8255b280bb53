// Steps of a warpgroup's products on Hopper (PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate"): an instruction reads factors from shared
// memory itself, once for all four warps, and goes on while its threads do. For warpgroup.h alone.
#pragma once

#include "worker/trainer/resident/group_places.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// Where a factor lies, as the instruction wants it, in sixteens of bytes: the lower word of its descriptor. The upper one says that eights of rows follow each
// other after 1024 bytes, and how pieces change places.
LONGREACH_DEVICE uint32_t FactorAt(const Half* at) { return SharedAddress(at) >> 4 | 1u << 16; }
// From one step of the inner dimension to the next: 16 numbers of a row, or 16 rows.
LONGREACH_DEVICE constexpr uint32_t ToNextStep(bool inner_is_row) { return inner_is_row ? 16 * kRowLd * sizeof(Half) / 16 : 16 * sizeof(Half) / 16; }

#define LONGREACH_FOUR(how, n) how(d[n][0]), how(d[n][1]), how(d[n][2]), how(d[n][3])
#define LONGREACH_16(how) LONGREACH_FOUR(how, 0), LONGREACH_FOUR(how, 1), LONGREACH_FOUR(how, 2), LONGREACH_FOUR(how, 3)
#define LONGREACH_32(how) LONGREACH_16(how), LONGREACH_FOUR(how, 4), LONGREACH_FOUR(how, 5), LONGREACH_FOUR(how, 6), LONGREACH_FOUR(how, 7)
#define LONGREACH_SUMS_32 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define LONGREACH_SUMS_16 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}"
// adds: "1", or "0" for a product that is set.
#define LONGREACH_GROUP_MMA(adds, columns, factors, sums, words)                                           \
  "{.reg .pred p; .reg .b64 a, b; setp.ne.b32 p, " adds ", 0; " words "wgmma.mma_async.sync.aligned.m64n" columns \
  "k16.f32." LONGREACH_RESIDENT_PTX "." LONGREACH_RESIDENT_PTX " " sums ", " factors ";}"
#define LONGREACH_LIES(factor, word) "mov.b64 " factor ", {" word ", 0x40000040}; "
#define LONGREACH_BOTH_LIE LONGREACH_LIES("a", "%32") LONGREACH_LIES("b", "%33")

// d += A B, or with kSet d = A B, one step. kAIsColumn: memory holds A's transpose; kBIsRow: it holds B, not its transpose.
template <bool kSet, bool kAIsColumn, bool kBIsRow>
LONGREACH_DEVICE void GroupMma(float (&d)[8][4], uint32_t a, uint32_t b) {
  if constexpr (kSet) {
    asm volatile(LONGREACH_GROUP_MMA("0", "64", "a, b, p, 1, 1, %34, %35", LONGREACH_SUMS_32, LONGREACH_BOTH_LIE)
                 : LONGREACH_32("=f")
                 : "r"(a), "r"(b), "n"(kAIsColumn ? 1 : 0), "n"(kBIsRow ? 1 : 0));
  } else {
    asm volatile(LONGREACH_GROUP_MMA("1", "64", "a, b, p, 1, 1, %34, %35", LONGREACH_SUMS_32, LONGREACH_BOTH_LIE)
                 : LONGREACH_32("+f")
                 : "r"(a), "r"(b), "n"(kAIsColumn ? 1 : 0), "n"(kBIsRow ? 1 : 0));
  }
}
template <bool kSet, bool kAIsColumn, bool kBIsRow>
LONGREACH_DEVICE void GroupMma(float (&d)[4][4], uint32_t a, uint32_t b) {
  static_assert(!kSet);
  asm volatile(LONGREACH_GROUP_MMA("1", "32", "a, b, p, 1, 1, %18, %19", LONGREACH_SUMS_16, LONGREACH_LIES("a", "%16") LONGREACH_LIES("b", "%17"))
               : LONGREACH_16("+f")
               : "r"(a), "r"(b), "n"(kAIsColumn ? 1 : 0), "n"(kBIsRow ? 1 : 0));
}
template <bool kSet, bool kBIsRow>
LONGREACH_DEVICE void GroupMma(float (&d)[8][4], const uint32_t (&a)[4], uint32_t b) {
  if constexpr (kSet) {
    asm volatile(LONGREACH_GROUP_MMA("0", "64", "{%32,%33,%34,%35}, b, p, 1, 1, %37", LONGREACH_SUMS_32, LONGREACH_LIES("b", "%36"))
                 : LONGREACH_32("=f")
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "n"(kBIsRow ? 1 : 0));
  } else {
    asm volatile(LONGREACH_GROUP_MMA("1", "64", "{%32,%33,%34,%35}, b, p, 1, 1, %37", LONGREACH_SUMS_32, LONGREACH_LIES("b", "%36"))
                 : LONGREACH_32("+f")
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "n"(kBIsRow ? 1 : 0));
  }
}

// What the threads have written to shared memory is there for products: before they wait for each other.
LONGREACH_DEVICE void PublishToProducts() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

template <int kN>
LONGREACH_DEVICE void KeepInPlace(float (&d)[kN][4]) {  // The compiler may move no use of the sums to the other side.
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < kN; ++n) asm volatile("" : LONGREACH_FOUR("+f", n)::"memory");
}

template <int kM, int kN>
LONGREACH_DEVICE void KeepInPlace(float (&d)[kM][kN][4]) {
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kM; ++m) KeepInPlace(d[m]);
}

LONGREACH_DEVICE void KeepInPlace(uint32_t (&a)[4][4]) {
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) asm volatile("" : "+r"(a[k][0]), "+r"(a[k][1]), "+r"(a[k][2]), "+r"(a[k][3])::"memory");
}
template <int kM>
LONGREACH_DEVICE void KeepInPlace(uint32_t (&a)[kM][4][4]) {
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kM; ++m) KeepInPlace(a[m]);
}

// Before the first of some products: the registers that they read are written.
template <class... Registers>
LONGREACH_DEVICE void BeginProducts(Registers&... registers) {
  (KeepInPlace(registers), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// Those since BeginProducts() are a batch, which goes on.
LONGREACH_DEVICE void EndProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// All but the last kLater batches are done: their sums are there, and factors in registers are the thread's again.
template <int kLater, class... Registers>
LONGREACH_DEVICE void AwaitProducts(Registers&... registers) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLater) : "memory");
  (KeepInPlace(registers), ...);
}

template <bool kSet, bool kAIsColumn, bool kBIsRow, int kSteps, int kN>
LONGREACH_DEVICE void GroupSteps(float (&sums)[kN][4], const Half* a, const Half* b, int column) {
  const uint32_t a_at = FactorAt(a), b_at = FactorAt(b + column);
  GroupMma<kSet, kAIsColumn, kBIsRow>(sums, a_at, b_at);
  LONGREACH_DEVICE_UNROLL for (int k = 1; k < kSteps; ++k) {
    GroupMma<false, kAIsColumn, kBIsRow>(sums, a_at + k * ToNextStep(kAIsColumn), b_at + k * ToNextStep(kBIsRow));
  }
}
template <bool kSet, bool kBIsRow, int kSteps>
LONGREACH_DEVICE void GroupSteps(float (&sums)[8][4], const uint32_t (&a)[kSteps][4], const Half* b) {
  const uint32_t b_at = FactorAt(b);
  GroupMma<kSet, kBIsRow>(sums, a[0], b_at);
  LONGREACH_DEVICE_UNROLL for (int k = 1; k < kSteps; ++k) GroupMma<false, kBIsRow>(sums, a[k], b_at + k * ToNextStep(kBIsRow));
}

#undef LONGREACH_FOUR
#undef LONGREACH_16
#undef LONGREACH_32
#undef LONGREACH_SUMS_16
#undef LONGREACH_SUMS_32
#undef LONGREACH_GROUP_MMA
#undef LONGREACH_LIES
#undef LONGREACH_BOTH_LIE

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
