// Matrices of numbers of 16 bits, as they lie among the threads of a warp (warp.h) or in memory, with the CPU's vectors. For the emulation alone.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "worker/trainer/resident/emulated_block.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

namespace emulation {

// Exact.
inline float ToFloat(Half x) {
  if constexpr (kOperands == Operands::kBfloat16) return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
  const uint32_t sign = static_cast<uint32_t>(x & 0x8000u) << 16, exponent = (x >> 10) & 31u, fraction = x & 1023u;
  if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f));
  return std::bit_cast<float>(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13);
}

inline float HalfOf(uint32_t pair, int i) { return ToFloat(static_cast<Half>(i != 0 ? pair >> 16 : pair)); }

inline Half Round(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return 0x7fff;  // As the GPU rounds what is no number.
  if constexpr (kOperands == Operands::kBfloat16) return static_cast<Half>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  const uint32_t sign = bits >> 16 & 0x8000u;
  if (size >= 0x47800000u) return static_cast<Half>(sign | 0x7c00u);  // From 2^16 on.
  // Below 2^-14 numbers are 2^-24 apart, as floats are next to 1/2: the sum rounds.
  if (size < 0x38800000u) return static_cast<Half>(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000u));
  return static_cast<Half>(sign | (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13);
}

using FourFloats [[gnu::vector_size(16), gnu::may_alias]] = float;
using FourWords [[gnu::vector_size(16), gnu::may_alias]] = uint32_t;
using EightHalves [[gnu::vector_size(16), gnu::may_alias]] = uint16_t;

// Of numbers in the lower half of each word. Exact.
inline FourFloats ToFloats(FourWords x) {
  if constexpr (kOperands == Operands::kBfloat16) return reinterpret_cast<FourFloats>(x << 16);
  const FourWords size = (x & 0x7fffu) << 13, normal = size + 0x38000000u;
  // Those below 2^-14 are as far from 0 as they are from 2^-14 with that exponent.
  const FourWords below = reinterpret_cast<FourWords>(reinterpret_cast<FourFloats>(size + 0x38800000u) - 0x1p-14f);
  const FourWords is_below = reinterpret_cast<FourWords>(size < 0x00800000u), is_infinite = reinterpret_cast<FourWords>(size >= 0x0f800000u);
  const FourWords bits = (is_below & below) | (~is_below & normal) | (is_infinite & 0x7f800000u);
  return reinterpret_cast<FourFloats>(bits | (x & 0x8000u) << 16);
}

inline EightHalves LowerOf(EightHalves x, EightHalves y) { return __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11); }
inline EightHalves UpperOf(EightHalves x, EightHalves y) { return __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15); }

// Eight numbers in order.
inline void ToFloats(float* to, EightHalves x) {
  const FourFloats first = ToFloats(reinterpret_cast<FourWords>(LowerOf(x, EightHalves{})));
  const FourFloats second = ToFloats(reinterpret_cast<FourWords>(UpperOf(x, EightHalves{})));
  std::memcpy(to, &first, sizeof(first));
  std::memcpy(to + 4, &second, sizeof(second));
}

// 8 x 8.
struct Tile {
  EightHalves rows[8];

  // Of which thread 4 g + c has the pair (g, 2c..), pair_of(thread).
  template <class PairOf>
  static Tile OfPairs(const PairOf& pair_of) {
    Tile tile;
    for (int g = 0; g < 8; ++g) {
      tile.rows[g] = reinterpret_cast<EightHalves>(FourWords{pair_of(4 * g), pair_of(4 * g + 1), pair_of(4 * g + 2), pair_of(4 * g + 3)});
    }
    return tile;
  }
  // Of which row_of(i) is the address of row i.
  template <class RowOf>
  static Tile OfRows(const RowOf& row_of) {
    Tile tile;
    for (int i = 0; i < 8; ++i) std::memcpy(&tile.rows[i], row_of(i), sizeof(tile.rows[i]));
    return tile;
  }

  uint32_t PairOf(int thread) const { return reinterpret_cast<FourWords>(rows[thread / 4])[thread % 4]; }

  // Each time rows i and i + 4 are shuffled like two halves of a pack of cards; after three times rows are columns.
  void Transpose() {
    for (int time = 0; time < 3; ++time) {
      EightHalves shuffled[8];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        shuffled[2 * i] = LowerOf(rows[i], rows[i + 4]);
        shuffled[2 * i + 1] = UpperOf(rows[i], rows[i + 4]);
      }
      std::memcpy(rows, shuffled, sizeof(rows));
    }
  }
  // Into rows of kLd.
  template <int kLd>
  void Store(float* to) const {
    for (int i = 0; i < 8; ++i) ToFloats(to + i * kLd, rows[i]);
  }
};

// A [16, kInner] and B [kInner, kColumns] of a warp.
template <int kInner, int kColumns>
struct Factors {
  alignas(16) float a[16][kInner];
  alignas(16) float b[kInner][kColumns];

  // words_of(thread): A as it lies in the threads' words.
  template <class WordsOf>
  void TakeA(const WordsOf& words_of) {
    for (int word = 0; word < kInner / 4; ++word) {
      Tile::OfPairs([&](int thread) { return words_of(thread)[word]; }).template Store<kInner>(&a[8 * (word & 1)][8 * (word >> 1)]);
    }
  }
  // B, of eight columns.
  template <class WordsOf>
  void TakeB(const WordsOf& words_of) {
    static_assert(kColumns == 8);
    for (int word = 0; word < kInner / 8; ++word) {
      Tile tile = Tile::OfPairs([&](int thread) { return words_of(thread)[word]; });
      tile.Transpose();
      tile.template Store<8>(&b[8 * word][0]);
    }
  }

  // sums += A B, or with kSet sums = A B, in the order of the inner dimension. sums_of(thread): [kColumns / 8][4].
  template <bool kSet, class SumsOf>
  void Multiply(const SumsOf& sums_of) const {
    constexpr int kVectors = kColumns < 16 ? 2 : 4;  // Of a row at a time.
    for (int n = 0; n < kColumns / 8; n += kVectors / 2) {
      for (int g = 0; g < 8; ++g) {
        FourFloats upper[kVectors] = {}, lower[kVectors] = {};  // Of rows g and g + 8. Two neighbours have four columns of both.
        const auto sums = [&](int i, int neighbour) { return sums_of(4 * g + i % 2 * 2 + neighbour)[n + i / 2]; };
        for (int i = 0; i < kVectors && !kSet; ++i) {
          FourFloats left, right;
          std::memcpy(&left, sums(i, 0), sizeof(left));
          std::memcpy(&right, sums(i, 1), sizeof(right));
          upper[i] = __builtin_shufflevector(left, right, 0, 1, 4, 5);
          lower[i] = __builtin_shufflevector(left, right, 2, 3, 6, 7);
        }
        for (int k = 0; k < kInner; ++k) {
          const FourFloats* const row_of_b = reinterpret_cast<const FourFloats*>(&b[k][8 * n]);
#pragma GCC unroll 4
          for (int i = 0; i < kVectors; ++i) {
            upper[i] += a[g][k] * row_of_b[i];
            lower[i] += a[g + 8][k] * row_of_b[i];
          }
        }
        for (int i = 0; i < kVectors; ++i) {
          const FourFloats left = __builtin_shufflevector(upper[i], lower[i], 0, 1, 4, 5), right = __builtin_shufflevector(upper[i], lower[i], 2, 3, 6, 7);
          std::memcpy(sums(i, 0), &left, sizeof(left));
          std::memcpy(sums(i, 1), &right, sizeof(right));
        }
      }
    }
  }
};

}  // namespace emulation

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
