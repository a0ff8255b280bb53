// Queries, keys and values of a tile of tokens, as attention.h wants them. Forward and backward make them by the same instructions in the
// same order: the way back sees the very bits.
#pragma once

#include "worker/trainer/resident/attention.h"
#include "worker/trainer/resident/products.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// Of 16 kM rows from row0 on, kHeadsOfWarp of each of the three from head0 on, kN heads at a time. h: the rows as first factor; w: q | k | v
// [D, 3 D] in rows of kLdQkv; rotation [T, 8] in shared memory. The tile begins with a sequence: a row's position is its rest by T.
template <Positional kPositional, int kHeadsOfWarp, int kM, int kN>
LONGREACH_DEVICE void ProjectHeads(Half* tile, const uint32_t (&h)[kM][4][4], const Half* w, const float* rotation, int tape, int row0,
                                   int head0) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_ROLLED
  for (int part = 0; part < 3; ++part) {
    const float scale = part == 0 ? kHeadScale * kLog2e : 1.0f;
    LONGREACH_DEVICE_UNROLL for (int n0 = 0; n0 < kHeadsOfWarp; n0 += kN) {
      const int column = kDim * part + kHeadDim * (head0 + n0);
      float y[kM][kN][4] = {};
      Multiply(y, h, w + column, kLdQkv);
      LONGREACH_DEVICE_UNROLL for (int m = 0; m < kM; ++m) {
        LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
          const int row = row0 + 16 * m + g + 8 * half;
          float cosine = scale, sine = 0.0f;
          if constexpr (kPositional == Positional::kRotary) {
            if (part < 2) {
              const float* const angle = rotation + row % tape * kHeadDim + c;
              cosine = scale * angle[0];
              sine = scale * angle[4];
            }
          }
          LONGREACH_DEVICE_UNROLL for (int n = 0; n < kN; ++n) {
            float a = y[m][n][2 * half], b = y[m][n][2 * half + 1];
            if constexpr (kPositional == Positional::kRotary) {
              Turn(a, b, cosine, sine);
            } else {
              a *= scale;
              b *= scale;
            }
            StorePair(tile + row * kTileLd + column + kHeadDim * n + 2 * c, Pack(a, b));
          }
        }
      }
    }
  }
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
