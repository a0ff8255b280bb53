// Products of matrices by one warp: one factor in its registers, the other in shared memory, sums in registers. Rows in shared memory
// are `ld` numbers apart, an odd multiple of 8: eight rows that are read together lie in different banks.
#pragma once

#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// Where in a transpose of 16 x 16 the eight numbers lie whose address this thread brings to an instruction that loads four matrices.
LONGREACH_DEVICE int TransposedRow() { return (Lane() & 7) + 8 * (Lane() >> 4); }
LONGREACH_DEVICE int TransposedColumn() { return 8 * ((Lane() >> 3) & 1); }

// A, 16 x 16, from memory that holds it, or its transpose, as rows.
LONGREACH_DEVICE void LoadA(uint32_t (&a)[4], const Half* from, int ld) {
  Load4(a, from + (Lane() & 15) * ld + 8 * (Lane() >> 4));
}
LONGREACH_DEVICE void LoadATransposed(uint32_t (&a)[4], const Half* from, int ld) {
  Load4Transposed(a, from + TransposedRow() * ld + TransposedColumn());
}

// Two B beside each other, 16 x 16 (the first is words 0 and 1), from memory that holds them, or their transpose, as rows.
LONGREACH_DEVICE void LoadB(uint32_t (&b)[4], const Half* from, int ld) {
  Load4Transposed(b, from + (Lane() & 15) * ld + 8 * (Lane() >> 4));
}
LONGREACH_DEVICE void LoadBTransposed(uint32_t (&b)[4], const Half* from, int ld) { Load4(b, from + TransposedRow() * ld + TransposedColumn()); }

// sums [16 kM, 8 kN] += A [16 kM, 16 kK] B. In memory lies B [16 kK, 8 kN], or with kTransposed its transpose. kN is even.
template <int kM, int kN, int kK, bool kTransposed = false>
LONGREACH_DEVICE void Multiply(float (&sums)[kM][kN][4], const uint32_t (&a)[kM][kK][4], const Half* b, int ld) {
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < kK; ++k) {
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < kN; n += 2) {
      uint32_t pair[4];
      if constexpr (kTransposed) {
        LoadBTransposed(pair, b + 8 * n * ld + 16 * k, ld);
      } else {
        LoadB(pair, b + 16 * k * ld + 8 * n, ld);
      }
      LONGREACH_DEVICE_UNROLL for (int m = 0; m < kM; ++m) {
        Mma16(sums[m][n], a[m][k][0], a[m][k][1], a[m][k][2], a[m][k][3], pair[0], pair[1]);
        Mma16(sums[m][n + 1], a[m][k][0], a[m][k][1], a[m][k][2], a[m][k][3], pair[2], pair[3]);
      }
    }
  }
}

// Sums of 64 features to a row, of a tile of 128 rows: a warp has 32 rows by half of the features, among its threads.
struct RowSums {
  float at[2][4][4];

  LONGREACH_DEVICE static int Row() { return 32 * (Warp() >> 1); }
  LONGREACH_DEVICE static int Column() { return 32 * (Warp() & 1); }

  // A 32 x 16, and B 16 x 32 in two parts beside each other, of LoadFeatures().
  struct Factors {
    uint32_t a[2][4], b[2][4];
  };
  // += A B, with an inner dimension of kInner. load(k): the factors from k on. The next ones are on their way while these are multiplied; after the
  // last ones come the first ones, for nobody.
  template <int kInner, class Load>
  LONGREACH_DEVICE void Multiply(const Load& load) {
    Factors now = load(0);
    LONGREACH_DEVICE_UNROLL_BY_2
    for (int k = 16; k <= kInner; k += 16) {
      const Factors next = load(k % kInner);
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
        LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
          Mma16(at[m][2 * n], now.a[m][0], now.a[m][1], now.a[m][2], now.a[m][3], now.b[n][0], now.b[n][1]);
          Mma16(at[m][2 * n + 1], now.a[m][0], now.a[m][1], now.a[m][2], now.a[m][3], now.b[n][2], now.b[n][3]);
        }
      }
      now = next;
    }
  }

  // Which of 16 features is row `place` of B's transpose, two B beside each other: such that a thread has four neighbours, two of each B, and
  // that eight rows which are read together lie in different banks.
  LONGREACH_DEVICE static int FeatureOf(int place) {
    const int second = place >> 3, pair = (place >> 1) & 3;
    return 4 * pair + 2 * (second ^ (pair >> 1)) + (place & 1);
  }
  // LoadBTransposed() with the features in this order.
  LONGREACH_DEVICE static void LoadFeatures(uint32_t (&b)[4], const Half* from, int ld) {
    Load4(b, from + FeatureOf(TransposedRow()) * ld + TransposedColumn());
  }

  // From [rows, D]; of rows that do not exist, zeros.
  LONGREACH_DEVICE void Load(const float* from, int rows) {
    const int g = Lane() >> 2, c = Lane() & 3;
    const bool swapped = c >= 2;  // As FeatureOf() has it: the second B has the lower two of this thread's features.
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
      LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
        const int row = Row() + 16 * m + g + 8 * half;
        LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; n += 2) {
          const Float4 four = row < rows ? LoadFour(from + row * kDim + Column() + 8 * n + 4 * c) : Float4{};
          LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) {
            at[m][n][2 * half + i] = swapped ? four.x[2 + i] : four.x[i];
            at[m][n + 1][2 * half + i] = swapped ? four.x[i] : four.x[2 + i];
          }
        }
      }
    }
  }
  LONGREACH_DEVICE void Store(float* to, int rows) const {
    const int g = Lane() >> 2, c = Lane() & 3;
    const bool swapped = c >= 2;
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
      LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
        const int row = Row() + 16 * m + g + 8 * half;
        if (row >= rows) continue;
        LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; n += 2) {
          Float4 four;
          LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) {
            const float first = at[m][n][2 * half + i], second = at[m][n + 1][2 * half + i];
            four.x[i] = swapped ? second : first;
            four.x[2 + i] = swapped ? first : second;
          }
          StoreFour(to + row * kDim + Column() + 8 * n + 4 * c, four);
        }
      }
    }
  }
};
static_assert(kWarps == 8 && kDim == 2 * 32);

// Sums, rounded, as the first factor of the next product.
template <int kM, int kN>
LONGREACH_DEVICE void ToFactor(uint32_t (&a)[kM][kN / 2][4], const float (&sums)[kM][kN][4]) {
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kN / 2; ++k) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
        const float(&from)[4] = sums[m][2 * k + (i >> 1)];
        a[m][k][i] = Pack(from[2 * (i & 1)], from[2 * (i & 1) + 1]);
      }
    }
  }
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
