// What wgmma.h has, for the emulation: a warp meets once for its part of a product, and the last thread to come makes it with vectors, in the order of
// additions that wgmma_by_warps.h has: the bits are the same. By warps itself where a block is run so. For warpgroup.h alone.
#pragma once

#include "worker/trainer/resident/wgmma_by_warps.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

namespace emulation {

// Which part of a warpgroup's product a warp makes together: all of its threads say the same.
struct GroupPart {
  const Half *a, *b;  // A is null where it lies in registers.
  int column;

  bool operator==(const GroupPart&) const = default;
};
// What a thread brings to it.
struct GroupShare {
  GroupPart part;
  float (*sums)[4];
  const uint32_t* a;  // Its registers; null where A lies in memory.
};

// The 8 x 8 of a factor from (row, column) on. kTransposed: memory holds its transpose.
template <bool kTransposed>
Tile TileOf(const Block& block, const Half* from, int row, int column) {
  Tile tile = Tile::OfRows([&](int i) {
    const Half* const at = from + (kTransposed ? Swizzled(column + i, row) : Swizzled(row + i, column));
    block.ReadByProduct(at, sizeof(Tile::rows[i]));
    return at;
  });
  if constexpr (kTransposed) tile.Transpose();
  return tile;
}

template <bool kSet, bool kAIsColumn, bool kBIsRow, int kInner, int kColumns>
[[gnu::noinline]] void MultiplyGroupPart(const Block& block, const Brought<GroupShare>& of, const GroupPart& part, int row0) {
  Factors<kInner, kColumns> factors;
  if (part.a == nullptr) {
    factors.TakeA([&](int thread) { return of[thread].a; });
  } else {
    for (int row = 0; row < 16; row += 8) {
      for (int k = 0; k < kInner; k += 8) TileOf<kAIsColumn>(block, part.a, row0 + row, k).template Store<kInner>(&factors.a[row][k]);
    }
  }
  for (int k = 0; k < kInner; k += 8) {
    for (int n = 0; n < kColumns; n += 8) TileOf<!kBIsRow>(block, part.b, k, n + (kBIsRow ? part.column : 0)).template Store<kColumns>(&factors.b[k][n]);
  }
  factors.template Multiply<kSet>([&](int thread) { return of[thread].sums; });
}

template <bool kSet, bool kAIsColumn, bool kBIsRow, int kInner, int kColumns>
void MeetForGroupPart(GroupShare mine) {
  const Unseen unseen;
  Block& block = Block::Mine();
  block.Meet(Meeting::kGroupProduct, mine, [&](const Brought<GroupShare>& of) {
    for (int thread = 0; thread < kWarpSize; ++thread) {
      if (of[thread].part != mine.part) block.Fail("the threads of a warp have different products");
    }
    MultiplyGroupPart<kSet, kAIsColumn, kBIsRow, kInner, kColumns>(block, of, mine.part, block.current() / kWarpSize % 4 * 16);
  });
}

// Those that this thread would bring to the instructions of a warp.
template <bool kAIsColumn, int kSteps>
void ReadRowsOfA(const Half* a) {
  for (int k = 0; kFibersAreSeen && k < kSteps; ++k) ReadRow(RowOfA<kAIsColumn>(a, k));
}
template <bool kBIsRow, int kSteps, int kN>
void ReadRowsOfB(const Half* b, int column) {
  for (int k = 0; kFibersAreSeen && k < kSteps; ++k) {
    for (int n = 0; n < kN; n += 2) ReadRow(RowOfB<kBIsRow>(b, k, n, column));
  }
}
inline bool ByWarps() {
  const Unseen unseen;
  return Block::Mine().ByWarps();
}

}  // namespace emulation

template <bool kSet, bool kAIsColumn, bool kBIsRow, int kSteps, int kN>
LONGREACH_DEVICE void GroupSteps(float (&sums)[kN][4], const Half* a, const Half* b, int column) {
  if (emulation::ByWarps()) return by_warps::GroupSteps<kSet, kAIsColumn, kBIsRow, kSteps>(sums, a, b, column);
  AssumeSquare(a);
  AssumeSquare(b);
  BeginProduct([&sums, a, b, column] {
    emulation::ReadRowsOfA<kAIsColumn, kSteps>(a);
    emulation::ReadRowsOfB<kBIsRow, kSteps, kN>(b, column);
    emulation::MeetForGroupPart<kSet, kAIsColumn, kBIsRow, 16 * kSteps, 8 * kN>({{a, b, column}, sums, nullptr});
  });
}
template <bool kSet, bool kBIsRow, int kSteps>
LONGREACH_DEVICE void GroupSteps(float (&sums)[8][4], const uint32_t (&a)[kSteps][4], const Half* b) {
  if (emulation::ByWarps()) return by_warps::GroupSteps<kSet, kBIsRow>(sums, a, b);
  AssumeSquare(b);
  BeginProduct([&sums, &a, b] {
    emulation::ReadRowsOfB<kBIsRow, kSteps, 8>(b, 0);
    emulation::MeetForGroupPart<kSet, false, kBIsRow, 16 * kSteps, 64>({{nullptr, b, 0}, sums, a[0]});
  });
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
