// LayerNorm of rows of 64 features on the way back: eight neighbouring threads share a row, and a warp takes four rows at a time.
#pragma once

#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline constexpr float kNormEpsilon = 1e-5f;

// A warp takes its 16 rows of a tile in turns of four, one for each eight threads. They are two apart: rows of kRowLd numbers of 16 bits
// that were neighbours would be stored to the same banks of shared memory.
inline constexpr int kTurns = 4;
LONGREACH_DEVICE int PartRow(int turn) { return 16 * Warp() + 2 * (Lane() >> 3) + (turn & 1) + 8 * (turn >> 1); }
// The first feature of this thread's part.
LONGREACH_DEVICE int PartFeature() { return 2 * (Lane() & 7); }

// One thread's part of a row: features PartFeature() + 16 n + i. So eight threads read 64 bytes beside each other.
struct RowPart {
  float at[4][2];
};

LONGREACH_DEVICE void Clear(RowPart& part) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) part.at[n][0] = part.at[n][1] = 0.0f;
}

// Of a row of 64 numbers.
LONGREACH_DEVICE void LoadPart(RowPart& part, const float* row) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
    const Float2 x = LoadFloat2(row + PartFeature() + 16 * n);
    part.at[n][0] = x.x;
    part.at[n][1] = x.y;
  }
}
// The same of numbers of 16 bits, two to a word, as they lie.
struct HalfPart {
  uint32_t at[4];
};
LONGREACH_DEVICE void LoadPart(HalfPart& part, const Half* row) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) part.at[n] = LoadPair(row + PartFeature() + 16 * n);
}
LONGREACH_DEVICE RowPart Widened(const HalfPart& part) {
  RowPart wide;
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
    wide.at[n][0] = Low(part.at[n]);
    wide.at[n][1] = High(part.at[n]);
  }
  return wide;
}
LONGREACH_DEVICE void StorePart(Half* row, const HalfPart& part) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) StorePair(row + PartFeature() + 16 * n, part.at[n]);
}
LONGREACH_DEVICE void StorePart(float* row, const RowPart& part) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) StoreFloat2(row + PartFeature() + 16 * n, part.at[n][0], part.at[n][1]);
}
LONGREACH_DEVICE void StorePart(Half* row, const RowPart& part) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) StorePair(row + PartFeature() + 16 * n, Pack(part.at[n][0], part.at[n][1]));
}

// (x - mean) / deviation. Returns 1 / deviation. The variance is made of the differences: that of two large sums would cancel.
LONGREACH_DEVICE float Normalise(RowPart& x) {
  float mean = 0, square = 0;
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) mean += x.at[n][0] + x.at[n][1];
  mean = SumOfEight(mean) * (1.0f / kDim);
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) {
      x.at[n][i] -= mean;
      square += x.at[n][i] * x.at[n][i];
    }
  }
  const float inverse = InverseSqrt(SumOfEight(square) * (1.0f / kDim) + kNormEpsilon);
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) x.at[n][i] *= inverse;
  }
  return inverse;
}

// Takes the gradient of the norm's output in d, leaves that of its input, and adds to the gradients of scale and offset:
// dx = (g - mean(g) - y mean(g y)) / deviation with g = d scale, y the normalised row.
LONGREACH_DEVICE void NormBackward(RowPart& d, const RowPart& normalised, float inverse, const float* scale, RowPart& d_scale,
                                   RowPart& d_offset) {
  float mean = 0, along = 0;
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) {
      const float y = normalised.at[n][i];
      float& g = d.at[n][i];
      d_scale.at[n][i] += g * y;
      d_offset.at[n][i] += g;
      g *= scale[PartFeature() + 16 * n + i];
      mean += g;
      along += g * y;
    }
  }
  mean = SumOfEight(mean) * (1.0f / kDim);
  along = SumOfEight(along) * (1.0f / kDim);
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) d.at[n][i] = inverse * (d.at[n][i] - mean - normalised.at[n][i] * along);
  }
}

// The gradient behind a dropout: bits of the features that were kept.
LONGREACH_DEVICE RowPart Kept(const RowPart& d, uint64_t bits, float keep_scale) {
  RowPart kept;
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) {
      kept.at[n][i] = (bits >> (PartFeature() + 16 * n + i)) & 1u ? d.at[n][i] * keep_scale : 0.0f;
    }
  }
  return kept;
}

// Sums over all rows of kSums gradients of 64 numbers: every group of eight threads has sums of its own in shared memory, which nobody
// else touches until all rows are done. They are added in the order of the groups.
template <int kSums>
struct ColumnSums {
  // Two groups next to each other then have all banks between them.
  static constexpr int kGap = 16;
  static constexpr int kGroups = kThreads / 8, kGroup = kSums * kDim + kGap, kFloats = kGroups * kGroup;

  float* at;  // [kGroups, kGroup], of which [kSums, 64] are used.

  LONGREACH_DEVICE void Add(const RowPart (&parts)[kSums]) const {
    float* const mine = at + Thread() / 8 * kGroup + PartFeature();
    LONGREACH_DEVICE_UNROLL for (int sum = 0; sum < kSums; ++sum) {
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
        float* const to = mine + kDim * sum + 16 * n;
        const Float2 before = LoadFloat2(to);
        StoreFloat2(to, before.x + parts[sum].at[n][0], before.y + parts[sum].at[n][1]);
      }
    }
  }
  // By the whole block, after all others have waited. to: where each of the sums goes.
  LONGREACH_DEVICE void Store(float* const (&to)[kSums]) const {
    LONGREACH_DEVICE_UNROLL for (int sum = 0; sum < kSums; ++sum) {
      if (Thread() / kDim != sum) continue;
      float total = 0;
      for (int group = 0; group < kGroups; ++group) total += at[group * kGroup + sum * kDim + Thread() % kDim];
      to[sum][Thread() % kDim] = total;
    }
  }
};

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
