// What wgmma.h has, made of the instructions of warp.h: for GPUs without it, and for a CPU that is asked for it (wgmma_emulated.h). On an H200 both have the
// same bits. For warpgroup.h alone.
#pragma once

#include "worker/trainer/resident/group_places.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

LONGREACH_DEVICE void PublishToProducts() { PublishShared(); }
template <class... Registers>
LONGREACH_DEVICE void BeginProducts(Registers&...) {
  BeginBatchOfProducts();
}
LONGREACH_DEVICE void EndProducts() { EndBatchOfProducts(); }
template <int kLater, class... Registers>
LONGREACH_DEVICE void AwaitProducts(Registers&...) {
  AwaitBatchesOfProducts<kLater>();
}

namespace by_warps {

template <bool kBIsRow, int kN>
LONGREACH_DEVICE void GroupMma(float (&sums)[kN][4], const uint32_t (&a)[4], const Half* b, int k, int column) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < kN; n += 2) {
    uint32_t pair[4];
    if constexpr (kBIsRow) {
      Load4Transposed(pair, RowOfB<true>(b, k, n, column));
    } else {
      Load4(pair, RowOfB<false>(b, k, n, column));
    }
    Mma16(sums[n], a[0], a[1], a[2], a[3], pair[0], pair[1]);
    Mma16(sums[n + 1], a[0], a[1], a[2], a[3], pair[2], pair[3]);
  }
}
template <bool kSet, int kN>
LONGREACH_DEVICE void Clear(float (&sums)[kN][4]) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; kSet && n < kN; ++n) sums[n][0] = sums[n][1] = sums[n][2] = sums[n][3] = 0.0f;
}
template <bool kSet, bool kAIsColumn, bool kBIsRow, int kSteps, int kN>
LONGREACH_DEVICE void GroupSteps(float (&sums)[kN][4], const Half* a, const Half* b, int column) {
  AssumeSquare(a);
  AssumeSquare(b);
  BeginProduct([&sums, a, b, column] {
    Clear<kSet>(sums);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kSteps; ++k) {
      uint32_t factor[4];
      LoadGroupA<kAIsColumn>(factor, a, k);
      GroupMma<kBIsRow>(sums, factor, b, k, column);
    }
  });
}
template <bool kSet, bool kBIsRow, int kSteps>
LONGREACH_DEVICE void GroupSteps(float (&sums)[8][4], const uint32_t (&a)[kSteps][4], const Half* b) {
  AssumeSquare(b);
  BeginProduct([&sums, &a, b] {
    Clear<kSet>(sums);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kSteps; ++k) GroupMma<kBIsRow>(sums, a[k], b, k, 0);
  });
}

}  // namespace by_warps

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
