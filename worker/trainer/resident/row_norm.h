// LayerNorm of rows of 64 features on the way back: eight neighbouring threads share a row, and a warp takes eight rows at a time.
#pragma once

#include "worker/trainer/resident/squares.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline constexpr float kNormEpsilon = 1e-5f;

// The rows of a tile are taken in turns, 64 by each turn of the block: eight by a warp, two by each eight threads, so that there is work while one row
// waits for a shuffle. Threads that store together have rows that are four apart: halves of rows as squares.h has them then lie in different banks of
// shared memory.
inline constexpr int kRowsOfTurn = 8 * kWarps;
inline constexpr int kPartRows = 2;  // Of a thread, in a turn.
LONGREACH_DEVICE int PartRow(int turn, int k) { return kRowsOfTurn * turn + 8 * Warp() + 4 * ((Lane() >> 3) & 1) + 2 * (Lane() >> 4) + k; }
// The first feature of this thread's part.
LONGREACH_DEVICE int PartFeature() { return 4 * (Lane() & 7); }
inline constexpr int kPartApart = kDim / 2;

// One thread's part of a row: features PartFeature() + 32 n + i. So eight threads read 128 bytes beside each other.
struct RowPart {
  float at[2][4];
};

LONGREACH_DEVICE void Clear(RowPart& part) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) part.at[n][0] = part.at[n][1] = part.at[n][2] = part.at[n][3] = 0.0f;
}

LONGREACH_DEVICE void TakeFour(float (&part)[4], const float* from) {
  const Float4 four = LoadFour(from);
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) part[i] = four.x[i];
}
LONGREACH_DEVICE void GiveFour(float* to, const float (&part)[4]) { StoreFour(to, {{part[0], part[1], part[2], part[3]}}); }
LONGREACH_DEVICE Words2 LoadWords(const Half* from) { return *reinterpret_cast<const Words2*>(from); }
LONGREACH_DEVICE void StoreWords(Half* to, const Words2& words) { *reinterpret_cast<Words2*>(to) = words; }

// Of a row of 64 numbers.
LONGREACH_DEVICE void LoadPart(RowPart& part, const float* row) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) TakeFour(part.at[n], row + PartFeature() + kPartApart * n);
}
// The same of numbers of 16 bits, as they lie.
struct HalfPart {
  Words2 at[2];
};
LONGREACH_DEVICE RowPart Widened(const HalfPart& part) {
  RowPart wide;
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < 2; ++k) {
      wide.at[n][2 * k] = Low(part.at[n].at[k]);
      wide.at[n][2 * k + 1] = High(part.at[n].at[k]);
    }
  }
  return wide;
}
LONGREACH_DEVICE void StorePart(Half* rows, int row, const HalfPart& part) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) StoreWords(rows + Swizzled(row, PartFeature() + kPartApart * n), part.at[n]);
}
LONGREACH_DEVICE void StorePart(float* row, const RowPart& part) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) GiveFour(row + PartFeature() + kPartApart * n, part.at[n]);
}
LONGREACH_DEVICE void StorePart(Half* rows, int row, const RowPart& part) {
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
    StoreWords(rows + Swizzled(row, PartFeature() + kPartApart * n), {{Pack(part.at[n][0], part.at[n][1]), Pack(part.at[n][2], part.at[n][3])}});
  }
}

// (x - mean) / deviation.
LONGREACH_DEVICE void Normalise(RowPart& x, float mean, float inverse) {
  const float from = -mean * inverse;
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) x.at[n][i] = x.at[n][i] * inverse + from;
  }
}

// Takes the gradient of the norm's output in d, leaves that of its input, and adds to the gradients of scale and offset:
// dx = (g - mean(g) - y mean(g y)) / deviation with g = d scale, y the normalised row.
LONGREACH_DEVICE void NormBackward(RowPart (&d)[kPartRows], const RowPart (&normalised)[kPartRows], const float (&inverse)[kPartRows],
                                   const float* scale, RowPart& d_scale, RowPart& d_offset) {
  float sums[2 * kPartRows] = {};  // Of g, of g y.
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
    const Float4 by = LoadFour(scale + PartFeature() + kPartApart * n);
    LONGREACH_DEVICE_UNROLL for (int r = 0; r < kPartRows; ++r) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
        const float y = normalised[r].at[n][i];
        float& g = d[r].at[n][i];
        d_scale.at[n][i] += g * y;
        d_offset.at[n][i] += g;
        g *= by.x[i];
        sums[2 * r] += g;
        sums[2 * r + 1] += g * y;
      }
    }
  }
  SumsOfEight(sums);
  LONGREACH_DEVICE_UNROLL for (int r = 0; r < kPartRows; ++r) {
    const float from = -inverse[r] * sums[2 * r] * (1.0f / kDim), along = -inverse[r] * sums[2 * r + 1] * (1.0f / kDim);
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) d[r].at[n][i] = d[r].at[n][i] * inverse[r] + (normalised[r].at[n][i] * along + from);
    }
  }
}

// The gradient behind a dropout: bits of the features that were kept.
LONGREACH_DEVICE RowPart Kept(const RowPart& d, uint64_t bits, float keep_scale) {
  RowPart kept;
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
    LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
      kept.at[n][i] = (bits >> (PartFeature() + kPartApart * n + i)) & 1u ? d.at[n][i] * keep_scale : 0.0f;
    }
  }
  return kept;
}

// Sums over all rows of kSums gradients of 64 numbers: every sixteen threads have sums of their own in shared memory, which nobody
// else touches until all rows are done. They are added in the order of the groups.
template <int kSums>
struct ColumnSums {
  static constexpr int kGroups = kThreads / 16, kGroup = kSums * kDim, kFloats = kGroups * kGroup;

  float* at;  // [kGroups, kSums, 64].

  // Two threads have parts of the same features: each adds half of them.
  LONGREACH_DEVICE void Add(const RowPart (&parts)[kSums]) const {
    const bool second = (Lane() & 8) != 0;
    float* const mine = at + Thread() / 16 * kGroup + PartFeature() + (second ? kPartApart : 0);
    LONGREACH_DEVICE_UNROLL for (int sum = 0; sum < kSums; ++sum) {
      float total[4], before[4];
      TakeFour(before, mine + kDim * sum);
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
        const float low = parts[sum].at[0][i], high = parts[sum].at[1][i];
        total[i] = before[i] + ((second ? high : low) + ShuffleXor(second ? low : high, 8));
      }
      GiveFour(mine + kDim * sum, total);
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
