// Queries, keys and values of a tile of tokens, as attention.h wants them. Forward and backward make them by the same instructions in the
// same order: the way back sees the very bits.
#pragma once

#include "worker/trainer/resident/attention.h"
#include "worker/trainer/resident/warpgroup.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// Of the 16 rows of this warp from row0 on, and those kGroupRows after them, kM times in all. h: the rows as first factor; w: the squares of q, k and v;
// rotation [T, 8] in shared memory. The tile begins with a sequence: a row's position is its rest by T. meanwhile() is called once the first batch of
// products has begun.
template <Positional kPositional, int kPart, int kM, class Meanwhile>
LONGREACH_DEVICE void ProjectHeads(Half* tile, uint32_t (&h)[kM][4][4], const Half* w, const float* rotation, int tape, int row0,
                                   const Meanwhile& meanwhile) {
  constexpr int kProducts = 3 * kM;  // By part, and in it by m.
  const int g = Lane() >> 2, c = Lane() & 3;
  float y[2][8][4];
  const auto begin = [&](int product) {
    float(&to)[8][4] = y[product % 2];
    BeginProducts();
    GroupMultiply<true, 4>(to, h[product % kM], w + product / kM * kSquare);
    EndProducts();
  };
  begin(0);
  meanwhile();
  LONGREACH_DEVICE_UNROLL for (int product = 0; product < kProducts; ++product) {
    const int part = product / kM, m = product % kM;
    if (product + 1 < kProducts) {
      begin(product + 1);
      AwaitProducts<1>(y[product % 2]);
    } else {
      AwaitProducts<0>(y[product % 2], h);
    }
    const float scale = part == 0 ? kHeadScale * kLog2e : 1.0f;
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row0 + kGroupRows * m + g + 8 * half;
      float cosine = scale, sine = 0.0f;
      if constexpr (kPositional == Positional::kRotary) {
        if (part < 2) {
          const float* const angle = rotation + row % tape * kHeadDim + c;
          cosine = scale * angle[0];
          sine = scale * angle[4];
        }
      }
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < kHeads; ++n) {
        float a = y[product % 2][n][2 * half], b = y[product % 2][n][2 * half + 1];
        if constexpr (kPositional == Positional::kRotary) {
          Turn(a, b, cosine, sine);
        } else {
          a *= scale;
          b *= scale;
        }
        StorePair(tile + part * kPart + Swizzled(row, kHeadDim * n + 2 * c), Pack(a, b));
      }
    }
  }
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
