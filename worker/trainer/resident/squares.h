// How matrices of 16-bit numbers lie that products read from memory: in rows of 64.
#pragma once

#include "worker/trainer/resident/warp.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

inline constexpr int kRowLd = 64;  // From one row to the next.

// Where a number lies: the eight pieces of 16 bytes of a row change places by the row, so those of eight rows that are read together lie in different
// banks of the shared memory. PTX calls it a swizzle of 128 bytes. Rows begin at a multiple of 128 bytes.
LONGREACH_DEVICE constexpr int Swizzled(int row, int column) { return row * kRowLd + (column ^ 8 * (row & 7)); }

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
