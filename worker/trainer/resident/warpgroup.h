// Products of matrices by four warps together: a warpgroup has 64 rows of the result, 16 to a warp, among its threads as those of m16n8k16. One factor or
// both lie in shared memory as squares.h says, from a multiple of 1024 bytes on.
//
// Between BeginProducts() and EndProducts() stands a batch of products, which goes on until AwaitProducts(): meanwhile nobody touches their sums, or factors in
// registers. What threads have written to shared memory they publish (PublishToProducts()) before they wait for those who multiply it.
#pragma once

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#include "worker/trainer/resident/wgmma.h"
#elif defined(__CUDACC__)
#include "worker/trainer/resident/wgmma_by_warps.h"
#else
#include "worker/trainer/resident/wgmma_emulated.h"
#endif

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

#if defined(__CUDACC__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
using by_warps::GroupSteps;
#endif

// sums [64, 8 kN] = A [64, 16 kSteps] B, by the threads of a group, between BeginProducts() and EndProducts(). In memory lie A or, kAIsColumn, its
// transpose; B's transpose or, kBIsRow, B.
template <bool kAIsColumn, bool kBIsRow, int kSteps, int kN>
LONGREACH_DEVICE void GroupMultiply(float (&sums)[kN][4], const Half* a, const Half* b) {
  GroupSteps<true, kAIsColumn, kBIsRow, kSteps>(sums, a, b, 0);
}
// sums += A B; of B as rows, the columns from `column` on.
template <bool kAIsColumn, bool kBIsRow, int kSteps, int kN>
LONGREACH_DEVICE void GroupMultiplyAdd(float (&sums)[kN][4], const Half* a, const Half* b, int column = 0) {
  GroupSteps<false, kAIsColumn, kBIsRow, kSteps>(sums, a, b, column);
}
// The same two with A in registers.
template <bool kBIsRow, int kSteps>
LONGREACH_DEVICE void GroupMultiply(float (&sums)[8][4], const uint32_t (&a)[kSteps][4], const Half* b) {
  GroupSteps<true, kBIsRow>(sums, a, b);
}
template <bool kBIsRow, int kSteps>
LONGREACH_DEVICE void GroupMultiplyAdd(float (&sums)[8][4], const uint32_t (&a)[kSteps][4], const Half* b) {
  GroupSteps<false, kBIsRow>(sums, a, b);
}

// Sums of 64 rows by 64 columns.
struct GroupSums {
  float at[8][4];

  // From [rows, D], a tile of kGroups times 64 rows; of rows that do not exist, zeros.
  LONGREACH_DEVICE void Load(const float* from, int rows) {
    const int g = Lane() >> 2, c = Lane() & 3;
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = kGroupRows * Group() + RowOfGroup() + g + 8 * half;
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        const Float2 x = row < rows ? LoadFloat2(from + row * kDim + 8 * n + 2 * c) : Float2{0.0f, 0.0f};
        at[n][2 * half] = x.x;
        at[n][2 * half + 1] = x.y;
      }
    }
  }
  LONGREACH_DEVICE void Add(const GroupSums& others) {
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) at[n][i] += others.at[n][i];
    }
  }
  LONGREACH_DEVICE void Store(float* to, int rows) const {
    const int g = Lane() >> 2, c = Lane() & 3;
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = kGroupRows * Group() + RowOfGroup() + g + 8 * half;
      if (row >= rows) continue;
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) StoreFloat2(to + row * kDim + 8 * n + 2 * c, at[n][2 * half], at[n][2 * half + 1]);
    }
  }
};
static_assert(kDim == 64);

// Of a factor, what is above 0.
LONGREACH_DEVICE void KeepPositive(uint32_t (&a)[4][4]) {
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) a[k][i] = PositiveOf(a[k][i]);
  }
}

// Sums of 64 rows, rounded, as the first factor of the next product.
LONGREACH_DEVICE void ToGroupFactor(uint32_t (&a)[4][4], const float (&sums)[8][4]) {
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
      const float(&from)[4] = sums[2 * k + (i >> 1)];
      a[k][i] = Pack(from[2 * (i & 1)], from[2 * (i & 1) + 1]);
    }
  }
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
