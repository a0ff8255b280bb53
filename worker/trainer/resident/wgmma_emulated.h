// What wgmma.h has, for the emulation: a warp meets once for its part of a product, and the last thread to come makes it with vectors, in the order of
// additions that wgmma_by_warps.h has: the bits are the same. By warps itself where a block is run so. For warpgroup.h alone.
#pragma once

#include "worker/trainer/resident/wgmma_by_warps.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

namespace emulation {

// Eight numbers in order.
inline void ToFloats(float* to, EightHalves x) {
  const FourFloats first = ToFloats(reinterpret_cast<FourWords>(LowerOf(x, EightHalves{})));
  const FourFloats second = ToFloats(reinterpret_cast<FourWords>(UpperOf(x, EightHalves{})));
  std::memcpy(to, &first, sizeof(first));
  std::memcpy(to + 4, &second, sizeof(second));
}

// The 8 x 8 of a factor from (row, column) on, into rows of kLd. kTransposed: memory holds its transpose.
template <bool kTransposed, int kLd>
void TakeTile(float* to, const Half* from, int row, int column) {
  EightHalves tile[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&tile[i], from + (kTransposed ? Swizzled(column + i, row) : Swizzled(row + i, column)), sizeof(tile[i]));
  if constexpr (kTransposed) Transpose(tile);
  for (int i = 0; i < 8; ++i) ToFloats(to + i * kLd, tile[i]);
}

// A [16, kInner] of a warp, B [kInner, kColumns].
template <int kInner, int kColumns>
struct FloatFactors {
  alignas(16) float a[16][kInner];
  alignas(16) float b[kInner][kColumns];

  template <bool kIsColumn>
  void TakeA(const Half* from, int row0) {
    for (int row = 0; row < 16; row += 8) {
      for (int k = 0; k < kInner; k += 8) TakeTile<kIsColumn, kInner>(&a[row][k], from, row0 + row, k);
    }
  }
  void TakeA(const GroupShare (&shares)[kWarpSize]) {
    for (int g = 0; g < 8; ++g) {
      for (int k = 0; k < kInner / 16; ++k) {
        for (int i = 0; i < 4; ++i) {
          const GroupShare* const of_row = shares + 4 * g;
          const uint32_t pairs[4] = {of_row[0].a[k][i], of_row[1].a[k][i], of_row[2].a[k][i], of_row[3].a[k][i]};
          ToFloats(&a[g + 8 * (i & 1)][16 * k + 8 * (i >> 1)], pairs);
        }
      }
    }
  }
  template <bool kIsRow>
  void TakeB(const Half* from, int column) {
    for (int k = 0; k < kInner; k += 8) {
      for (int n = 0; n < kColumns; n += 8) TakeTile<!kIsRow, kColumns>(&b[k][n], from, k, n + (kIsRow ? column : 0));
    }
  }

  // sums += A B, or with kSet sums = A B: of two rows and 16 columns at a time, which eight threads have.
  template <bool kSet>
  void Multiply(const GroupShare (&shares)[kWarpSize]) const {
    for (int n = 0; n < kColumns / 8; n += 2) {
      for (int g = 0; g < 8; ++g) {
        FourFloats upper[4] = {}, lower[4] = {};  // Of rows g and g + 8.
        const auto sums = [&](int i) { return shares[4 * g + i % 2 * 2].sums[n + i / 2]; };
        const auto neighbours = [&](int i) { return shares[4 * g + i % 2 * 2 + 1].sums[n + i / 2]; };
        for (int i = 0; i < 4 && !kSet; ++i) {
          FourFloats left, right;
          std::memcpy(&left, sums(i), sizeof(left));
          std::memcpy(&right, neighbours(i), sizeof(right));
          upper[i] = __builtin_shufflevector(left, right, 0, 1, 4, 5);
          lower[i] = __builtin_shufflevector(left, right, 2, 3, 6, 7);
        }
        for (int k = 0; k < kInner; ++k) {
          const FourFloats* const row_of_b = reinterpret_cast<const FourFloats*>(&b[k][8 * n]);
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) {
            upper[i] += a[g][k] * row_of_b[i];
            lower[i] += a[g + 8][k] * row_of_b[i];
          }
        }
        for (int i = 0; i < 4; ++i) {
          const FourFloats left = __builtin_shufflevector(upper[i], lower[i], 0, 1, 4, 5), right = __builtin_shufflevector(upper[i], lower[i], 2, 3, 6, 7);
          std::memcpy(sums(i), &left, sizeof(left));
          std::memcpy(neighbours(i), &right, sizeof(right));
        }
      }
    }
  }
};

template <bool kSet, bool kAIsColumn, bool kBIsRow, int kSteps, int kN>
void MultiplyFromMemory(const GroupShare (&shares)[kWarpSize], const GroupPart& part, int row0) {
  FloatFactors<16 * kSteps, 8 * kN> factors;
  factors.template TakeA<kAIsColumn>(part.a, row0);
  factors.template TakeB<kBIsRow>(part.b, part.column);
  factors.template Multiply<kSet>(shares);
}
template <bool kSet, bool kBIsRow, int kSteps>
void MultiplyFromRegisters(const GroupShare (&shares)[kWarpSize], const GroupPart& part, int) {
  FloatFactors<16 * kSteps, 64> factors;
  factors.TakeA(shares);
  factors.template TakeB<kBIsRow>(part.b, part.column);
  factors.template Multiply<kSet>(shares);
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
inline void MultiplyGroupPart(const GroupPart& part, const GroupShare& share) {
  const Unseen unseen;
  Block::Mine().MultiplyGroupPart(part, share);
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
    emulation::MultiplyGroupPart({emulation::MultiplyFromMemory<kSet, kAIsColumn, kBIsRow, kSteps, kN>, a, b, column}, {sums, nullptr});
  });
}
template <bool kSet, bool kBIsRow, int kSteps>
LONGREACH_DEVICE void GroupSteps(float (&sums)[8][4], const uint32_t (&a)[kSteps][4], const Half* b) {
  if (emulation::ByWarps()) return by_warps::GroupSteps<kSet, kBIsRow>(sums, a, b);
  AssumeSquare(b);
  BeginProduct([&sums, &a, b] {
    emulation::ReadRowsOfB<kBIsRow, kSteps, 8>(b, 0);
    emulation::MultiplyGroupPart({emulation::MultiplyFromRegisters<kSet, kBIsRow, kSteps>, nullptr, b, 0}, {sums, a});
  });
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
