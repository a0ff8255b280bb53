// Which part of a warpgroup's product a warp has: four warps make 64 rows, 16 each.
#pragma once

#include "worker/trainer/resident/squares.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline constexpr int kGroups = kWarps / 4, kGroupRows = 64;
// Numbers after which a factor in shared memory may begin: 1024 bytes.
inline constexpr int kFactorNumbers = 8 * kRowLd;
static_assert(kSquare % kFactorNumbers == 0);

// Of this thread. Where factors are chosen by it, OfWarp() is to be asked once.
LONGREACH_DEVICE int Group() { return Warp() >> 2; }
// The first of this warp's 16 rows among the 64 of its group.
LONGREACH_DEVICE int RowOfGroup() { return 16 * (Warp() & 3); }

// Where in a transpose of 16 x 16 the eight numbers lie whose address this thread brings to an instruction that loads four matrices.
LONGREACH_DEVICE int TransposedRow() { return (Lane() & 7) + 8 * (Lane() >> 4); }
LONGREACH_DEVICE int TransposedColumn() { return 8 * ((Lane() >> 3) & 1); }

// The row whose address this thread brings for step k of the inner dimension: of the 16 x 16 of this warp of a first factor, or of its transpose.
template <bool kTransposed>
LONGREACH_DEVICE const Half* RowOfA(const Half* a, int k) {
  if constexpr (kTransposed) {
    return a + Swizzled(16 * k + TransposedRow(), RowOfGroup() + TransposedColumn());
  } else {
    return a + Swizzled(RowOfGroup() + (Lane() & 15), 16 * k + 8 * (Lane() >> 4));
  }
}
// The same of a second factor, of its columns 8 n to 8 n + 15. kIsRow: memory holds B, whose columns are taken from `column` on; else its transpose.
template <bool kIsRow>
LONGREACH_DEVICE const Half* RowOfB(const Half* b, int k, int n, int column) {
  if constexpr (kIsRow) {
    return b + Swizzled(16 * k + (Lane() & 15), column + 8 * n + 8 * (Lane() >> 4));
  } else {
    return b + Swizzled(8 * n + TransposedRow(), 16 * k + TransposedColumn());
  }
}

// Step k of a first factor, from rows as they lie, or from its transpose.
template <bool kTransposed = false>
LONGREACH_DEVICE void LoadGroupA(uint32_t (&a)[4], const Half* from, int k) {
  if constexpr (kTransposed) {
    Load4Transposed(a, RowOfA<true>(from, k));
  } else {
    Load4(a, RowOfA<false>(from, k));
  }
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
