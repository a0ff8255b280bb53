// Products on the processor's matrix unit (AMX): a tile is 16 rows of 64 bytes, and one instruction adds to 16 x 16 float32 sums the products
// of 16 x 32 operands with 32 x 16 others, which are words of two (operands.h) along what is summed over. What the kernels have lies right for
// it: activations are rows of 16 words, one for each lane, and so are tokens, one for each of 16 columns.
//
// A sum is made 32 products at a time, in order, whatever else is computed beside it.
#pragma once

#include "worker/trainer/lanes/operands.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

inline constexpr int kTileRows = 16;
inline constexpr int kTileWords = 16;  // Of a row.
inline constexpr int kTileFloats = kTileRows * kTileWords;

#if defined(__AMX_BF16__)

// The compiler does not know that tiles are loaded from memory: what is stored before this is there then.
LONGREACH_INLINE void Written(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// While it lives this thread's tiles can be used: all eight of 16 rows of 64 bytes. Afterwards they are as they were before the first use, so
// nobody saves and restores them for a thread that does something else.
class ConfiguredTiles {
 public:
  ConfiguredTiles() {
    struct Configuration {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static_assert(sizeof(Configuration) == 64);
    alignas(64) const Configuration configuration;
    Written(&configuration);
    _tile_loadconfig(&configuration);
  }
  ~ConfiguredTiles() { _tile_release(); }
  ConfiguredTiles(const ConfiguredTiles&) = delete;
  ConfiguredTiles& operator=(const ConfiguredTiles&) = delete;
};

// Weights (k, n) = w[k * k_stride + n * n_stride] of 16 n's as tiles of [n][k], one for every 32 k's up to `depth`; zero from k_there and
// n_there on.
inline void PackTiles(const float* w, int64_t k_stride, int64_t n_stride, int k_there, int n_there, int depth, float* out) {
  for (int k0 = 0; k0 < depth; k0 += kDepth, w += kDepth * k_stride, out += kTileFloats) {
    const bool whole = k0 + kDepth <= k_there && kTileRows <= n_there;
    if (whole && k_stride == 1) {
      for (int n = 0; n < kTileRows; ++n) {
        const float* from = w + n * n_stride;
        Store(out + n * kTileWords, PairNeighbours(_mm512_loadu_ps(from), _mm512_loadu_ps(from + kLanes)));
      }
    } else if (whole && n_stride == 1) {
      alignas(64) float words[kTileFloats];
      for (int k = 0; k < kDepth; k += kPerWord) {
        Store(words + k / kPerWord * kLanes, Pair(_mm512_loadu_ps(w + k * k_stride), _mm512_loadu_ps(w + (k + 1) * k_stride)));
      }
      Transpose(words, kLanes, out, kTileWords);
    } else {
      const auto at = [&](int k, int n) { return k0 + k < k_there && n < n_there ? w[k * k_stride + n * n_stride] : 0.0f; };
      for (int n = 0; n < kTileRows; ++n) {
        for (int k = 0; k < kDepth; k += kPerWord) out[n * kTileWords + k / kPerWord] = PairOf(at(k, n), at(k + 1, n));
      }
    }
  }
}

// Sums [16][TB][W] of 16 rows of packed weights times x, `depth` tiles of each: a tile for each position, and one that x goes through.
template <int TB>
LONGREACH_INLINE void TileProduct(const float* w, int depth, const float* x, int64_t ldx, float* sums) {
  constexpr int64_t kRowBytes = kTileWords * 4, kSumBytes = TB * kLanes * 4;
  const int64_t row_bytes = ldx * 4;
  Written(x);
  _tile_zero(0);
  if constexpr (TB > 1) _tile_zero(1);
  if constexpr (TB > 2) _tile_zero(2);
  for (int k = 0; k < depth; ++k, w += kTileFloats, x += kTileRows * ldx) {
    _tile_loadd(3, w, kRowBytes);
    _tile_loadd(4, x, row_bytes);
    _tile_dpbf16ps(0, 3, 4);
    if constexpr (TB > 1) {
      _tile_loadd(5, x + kLanes, row_bytes);
      _tile_dpbf16ps(1, 3, 5);
    }
    if constexpr (TB > 2) {
      _tile_loadd(6, x + 2 * kLanes, row_bytes);
      _tile_dpbf16ps(2, 3, 6);
    }
  }
  _tile_stored(0, sums, kSumBytes);
  if constexpr (TB > 1) _tile_stored(1, sums + kLanes, kSumBytes);
  if constexpr (TB > 2) _tile_stored(2, sums + 2 * kLanes, kSumBytes);
}

// To dw of 16 rows and JB (1 or 4) times 16 columns: `depth` tiles of x, one after the other, times those of y [16 depth][columns].
template <int JB>
LONGREACH_INLINE void TileOuterBlock(const float* x, const float* y, int64_t columns, int depth, bool add, float* dw, int64_t lddw) {
  const int64_t row_bytes = columns * 4, sum_bytes = lddw * 4;
  if (add) {
    _tile_loadd(0, dw, sum_bytes);
    if constexpr (JB > 1) {
      _tile_loadd(1, dw + 16, sum_bytes);
      _tile_loadd(2, dw + 32, sum_bytes);
      _tile_loadd(3, dw + 48, sum_bytes);
    }
  } else {
    _tile_zero(0);
    if constexpr (JB > 1) {
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
  }
  for (int i = 0; i < depth; ++i, x += kTileFloats, y += kTileRows * columns) {
    _tile_loadd(4, x, kTileWords * 4);
    _tile_loadd(5, y, row_bytes);
    _tile_dpbf16ps(0, 4, 5);
    if constexpr (JB > 1) {
      _tile_loadd(6, y + 16, row_bytes);
      _tile_dpbf16ps(1, 4, 6);
      _tile_loadd(7, y + 32, row_bytes);
      _tile_dpbf16ps(2, 4, 7);
      _tile_loadd(5, y + 48, row_bytes);
      _tile_dpbf16ps(3, 4, 5);
    }
  }
  _tile_stored(0, dw, sum_bytes);
  if constexpr (JB > 1) {
    _tile_stored(1, dw + 16, sum_bytes);
    _tile_stored(2, dw + 32, sum_bytes);
    _tile_stored(3, dw + 48, sum_bytes);
  }
}

// Tiles of 16 rows of x and `count` tokens, one for every 32, of operands in pairs of tokens. What is missing is zero.
template <bool of_operands>
LONGREACH_INLINE void TokenTiles(const float* x, int64_t ldx, int rows, int count, float* out) {
  for (int i = 0; i < count; i += kDepth, x += kDepth, out += kTileFloats) {
    const bool both = i + kLanes < count;
    for (int r = 0; r < rows; r += kPerRow) {
      const float* from = x + r / (of_operands ? kPerRow : 1) * ldx;
      const Lanes first = Load(from), second = both ? Load(from + kLanes) : Zero();
      if constexpr (of_operands) {
        Store(out + r * kTileWords, OperandsOfWords<0>(first, second));
        Store(out + (r + 1) * kTileWords, OperandsOfWords<1>(first, second));
      } else {
        Store(out + r * kTileWords, PairNeighbours(first, second));
        Store(out + (r + 1) * kTileWords, PairNeighbours(Load(from + ldx), both ? Load(from + ldx + kLanes) : Zero()));
      }
    }
    for (int r = rows; r < kTileRows; ++r) Store(out + r * kTileWords, Zero());
  }
}

constexpr int kTileTokens = 256;  // Words of so many tokens and 64 columns stay in the first cache.

// Outer() of all rows.
template <bool of_operands>
inline void TileOuter(const float* x, int64_t ldx, int rows, const float* y, int columns, int tokens, bool add_to_all, float* dw) {
  alignas(64) float words[kTileTokens / kDepth * kTileFloats];
  alignas(64) float sums[kTileFloats];
  for (int first = 0; first < tokens; first += kTileTokens, y += int64_t{kTileTokens} / kPerWord * columns) {
    const int count = static_cast<int>(Min(tokens - first, kTileTokens)), depth = PaddedDepth(count) / kDepth;
    const bool add = add_to_all || first > 0;
    for (int m = 0; m < rows; m += kTileRows) {
      const int here = static_cast<int>(Min(rows - m, kTileRows));
      TokenTiles<of_operands>(x + m / (of_operands ? kPerRow : 1) * ldx + first, ldx, here, count, words);
      float* to = dw + int64_t{m} * columns;
      if (here == kTileRows) {
        Written(words);
        int j = 0;
        for (; j + 64 <= columns; j += 64) TileOuterBlock<4>(words, y + j, columns, depth, add, to + j, columns);
        for (; j < columns; j += 16) TileOuterBlock<1>(words, y + j, columns, depth, add, to + j, columns);
        continue;
      }
      for (int j = 0; j < columns; j += 16) {
        for (int r = 0; r < kTileRows; ++r) Store(sums + r * 16, add && r < here ? Load(to + r * columns + j) : Zero());
        Written(sums);
        TileOuterBlock<1>(words, y + j, columns, depth, true, sums, 16);
        for (int r = 0; r < here; ++r) Store(to + r * columns + j, Load(sums + r * 16));
      }
    }
  }
}

#else  // Never called.

struct ConfiguredTiles {
  ConfiguredTiles() {}  // So that it is no unused variable.
};
inline void PackTiles(const float*, int64_t, int64_t, int, int, int, float*) {}
template <int TB>
inline void TileProduct(const float*, int, const float*, int64_t, float*) {}
template <bool>
inline void TileOuter(const float*, int64_t, int, const float*, int, int, bool, float*) {}

#endif

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
