// The two matrix products of the network, on activations [feature][position][W]: weights times activation, and the
// gradient of weights. Feature rows are `ld` floats apart. Both take operands as they are given, in words (operands.h), and leave them to the
// matrix unit where there is one (tiles.h).
#pragma once

#include <string.h>

#include "worker/trainer/lanes/tiles.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

inline constexpr int kPanel = kTiles ? 16 : 8;

// A block of positions, as a template argument of a lambda.
template <int n>
struct Count {
  static constexpr int value = n;
};

// Calls f(Count, t) for blocks of 3 positions of [first, last), and for what is left.
template <class F>
LONGREACH_INLINE void ForBlocks(int first, int last, const F& f) {
  int t = first;
  for (; t + 3 <= last; t += 3) f(Count<3>(), t);
  if (last - t == 2) f(Count<2>(), t);
  if (last - t == 1) f(Count<1>(), t);
}

// Floats that a panel of kPanel rows of so many packed weights takes, and so many columns of its.
LONGREACH_INLINE constexpr int64_t PanelSize(int k_count) { return kPanel * PaddedDepth(k_count) / kPerWord; }
// And of all panels.
LONGREACH_INLINE constexpr int64_t PackedFloats(int k_count, int n_count) { return (n_count + kPanel - 1) / kPanel * PanelSize(k_count); }

// Of a panel: where the word of its row n is that begins with its column k.
LONGREACH_INLINE constexpr int64_t WordAt(int k, int n) {
  return kTiles ? k / kDepth * kTileFloats + n * kTileWords + k % kDepth / kPerWord : k / kPerWord * kPanel + n;
}

// Weights for Product(): [N/8][K / kPerWord][8], so that it reads one stream; or [N/16][K/32] tiles of [16][32 operands]. Element (k, n) is
// w[k * k_stride + n * n_stride]; zero from k_there and n_there on. Panels are `panel` floats apart. K is a multiple of kPerWord.
inline void Pack(const float* w, int64_t k_stride, int64_t n_stride, int k_count, int n_count, int k_there, int n_there,
                 int64_t panel, float* out) {
  if constexpr (kTiles) {
    for (int n = 0; n < n_count; n += kPanel, out += panel) {
      PackTiles(w + n * n_stride, k_stride, n_stride, static_cast<int>(Min(k_count, k_there)), static_cast<int>(Min(n_count, n_there)) - n,
                PaddedDepth(k_count), out);
    }
    return;
  }
  const auto at = [&](int k, int n) { return k < k_there && n < n_there ? w[k * k_stride + n * n_stride] : 0.0f; };
  for (int n0 = 0; n0 < n_count; n0 += kPanel, out += panel) {
    float* to = out;
    for (int k = 0; k < k_count; k += kPerWord) {
      for (int j = 0; j < kPanel; ++j) *to++ = kPairs ? PairOf(at(k, n0 + j), at(k + 1, n0 + j)) : Operand(at(k, n0 + j));
    }
  }
}

// The same where nothing is missing.
inline void Pack(const float* w, int64_t k_stride, int64_t n_stride, int k_count, int n_count, int64_t panel, float* out) {
  if constexpr (kTiles) return Pack(w, k_stride, n_stride, k_count, n_count, k_count, n_count, panel, out);
  for (int n0 = 0; n0 < n_count; n0 += kPanel, out += panel) {
    const float* from = w + n0 * n_stride;
    float* to = out;
    for (int k = 0; k < k_count; k += kPerWord, from += kPerWord * k_stride) {
      LONGREACH_UNROLL for (int j = 0; j < kPanel; ++j) {
        const float* at = from + j * n_stride;
        *to++ = kPairs ? PairOf(at[0], at[k_stride]) : Operand(at[0]);
      }
    }
  }
}

// What is asked for while a panel is multiplied, into the second cache: TB positions of a few rows, and then of a few others. That is no pattern which
// a processor would see by itself, and all at once it would be more than one has room to wait for.
template <int TB>
struct Ahead {
  const float *first = nullptr, *second = nullptr;  // Null: nothing.
  int64_t ld = 0;
  int rows = 0;  // Of each.

  LONGREACH_INLINE void Ask(int row) const {
    const float* const from = row < rows ? first : second;
    if (from == nullptr || row >= 2 * rows) return;
    const float* const at = from + (row < rows ? row : row - rows) * ld;
    LONGREACH_UNROLL for (int i = 0; i < TB * kLanes; i += 16) __builtin_prefetch(at + i, 0, 2);
  }
};

// Of kRows rows of a panel. `words`: a multiple of 8 / kPerWord.
template <int TB>
LONGREACH_INLINE void Panel(const float* w, int words, const float* x, int64_t ldx, const Ahead<TB>& ahead, Lanes (&sum)[kRows][TB]) {
  LONGREACH_UNROLL for (int n = 0; n < kRows; ++n) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) sum[n][i] = Zero();
  constexpr int kStretch = 8 / kPerWord;  // Divides what there is to sum up over.
  for (int row = 0; words > 0; ++row, words -= kStretch) {
    LONGREACH_UNROLL_WIDE for (int k = 0; k < kStretch; ++k, w += kPanel, x += ldx) {
      Lanes v[TB];
      LONGREACH_UNROLL for (int i = 0; i < TB; ++i) v[i] = Load(x + i * kLanes);
      LONGREACH_UNROLL for (int n = 0; n < kRows; ++n) {
        const Lanes b = Splat(w[n]);
        LONGREACH_UNROLL for (int i = 0; i < TB; ++i) sum[n][i] = MultiplyAdd(b, v[i], sum[n][i]);
      }
    }
    ahead.Ask(row);
  }
}

// y[n][i] = sum over k of W(k, n) x[k][i], for n < n_count and TB positions. out(n, sum) takes kRows rows from n on, while
// they are in registers; asks(n): what to ask for before that. `k_count` is a multiple of 8, `n_count` of kRows.
template <int TB, class Asks, class Out>
LONGREACH_INLINE void Product(const float* w, int64_t panel, int k_count, int n_count, const Block& x, const Asks& asks, const Out& out) {
  if constexpr (kTiles) {
    alignas(64) float sums[TB * kTileFloats];
    for (int n0 = 0; n0 < n_count; n0 += kPanel, w += panel) {
      TileProduct<TB>(w, PaddedDepth(k_count) / kDepth, x.at, x.ld, sums);
      for (int r = 0; r < kPanel && n0 + r < n_count; r += kRows) {
        Lanes sum[kRows][TB];
        LONGREACH_UNROLL for (int n = 0; n < kRows; ++n) {
          LONGREACH_UNROLL for (int i = 0; i < TB; ++i) sum[n][i] = Load(sums + ((r + n) * TB + i) * kLanes);
        }
        const Ahead<TB> ahead = asks(n0 + r);
        for (int row = 0; row < 2 * ahead.rows; ++row) ahead.Ask(row);
        out(n0 + r, sum);
      }
    }
    return;
  }
  for (int n0 = 0; n0 < n_count; n0 += kPanel, w += panel) {
    LONGREACH_UNROLL for (int r = 0; r < kPanel; r += kRows) {
      Lanes sum[kRows][TB];
      Panel<TB>(w + r, k_count / kPerWord, x.at, x.ld, asks(n0 + r), sum);
      out(n0 + r, sum);
    }
  }
}

// With nothing asked for.
template <int TB, class Out>
LONGREACH_INLINE void Product(const float* w, int64_t panel, int k_count, int n_count, const Block& x, const Out& out) {
  Product<TB>(w, panel, k_count, n_count, x, [](int) { return Ahead<TB>(); }, out);
}

template <int MB, int JB>
LONGREACH_INLINE void OuterBlock(const float* x, int64_t ldx, const float* y, int64_t columns, int words, bool add, float* dw) {
  Lanes sum[MB][JB];
  LONGREACH_UNROLL for (int m = 0; m < MB; ++m) LONGREACH_UNROLL for (int j = 0; j < JB; ++j) sum[m][j] = Zero();
  if (add) {
    LONGREACH_UNROLL for (int m = 0; m < MB; ++m) LONGREACH_UNROLL for (int j = 0; j < JB; ++j) sum[m][j] = Load(dw + m * columns + j * kLanes);
  }
  _Pragma("GCC unroll 2") for (int i = 0; i < words; ++i, y += columns) {
    Lanes v[JB];
    LONGREACH_UNROLL for (int j = 0; j < JB; ++j) v[j] = Load(y + j * kLanes);
    LONGREACH_UNROLL for (int m = 0; m < MB; ++m) {
      const Lanes b = Splat(x[m * ldx + i]);
      LONGREACH_UNROLL for (int j = 0; j < JB; ++j) sum[m][j] = MultiplyAdd(b, v[j], sum[m][j]);
    }
  }
  LONGREACH_UNROLL for (int m = 0; m < MB; ++m) LONGREACH_UNROLL for (int j = 0; j < JB; ++j) Store(dw + m * columns + j * kLanes, sum[m][j]);
}

constexpr int kTokens = 8 * kLanes;  // Of 64 columns this many stay in the first cache.

// Of MB rows and so many tokens, at most kTokens, of which y holds words.
template <int MB, int JB>
LONGREACH_INLINE void OuterRows(const float* x, int64_t ldx, const float* y, int64_t columns, int tokens, bool add, float* dw) {
  if constexpr (kPairs) {
    alignas(64) float words[MB * kTokens / 2];
    LONGREACH_UNROLL for (int m = 0; m < MB; ++m) {
      for (int i = 0; i < tokens; i += 2 * kLanes) {
        const float* from = x + m * ldx + i;
        Store(words + (m * kTokens + i) / 2, PairNeighbours(Load(from), i + kLanes < tokens ? Load(from + kLanes) : Zero()));
      }
    }
    OuterBlock<MB, JB>(words, kTokens / 2, y, columns, tokens / 2, add, dw);
  } else {
    OuterBlock<MB, JB>(x, ldx, y, columns, tokens, add, dw);
  }
}

template <int JB>
inline void OuterColumns(const float* x, int64_t ldx, int rows, const float* y, int64_t columns, int tokens, bool add, float* dw) {
  int m = 0;
  for (; m + 6 <= rows; m += 6) OuterRows<6, JB>(x + m * ldx, ldx, y, columns, tokens, add, dw + m * columns);
  for (; m + 2 <= rows; m += 2) OuterRows<2, JB>(x + m * ldx, ldx, y, columns, tokens, add, dw + m * columns);
}

// dw[m][0 .. columns) is, or with `add` gets added, the sum over tokens of x[m][token] y[token][0 .. columns); x as activations are, or as rows of operands; y by
// TokenOperands(). `rows` is even, `columns` a multiple of 16, `tokens` of the lanes.
template <bool of_operands = false>
inline void Outer(const float* x, int64_t ldx, int rows, const float* y, int columns, int tokens, bool add, float* dw) {
  if constexpr (kTiles) return TileOuter<of_operands>(x, ldx, rows, y, columns, tokens, add, dw);
  constexpr int kWide = kOuterColumns * kLanes;
  for (int i = 0; i < tokens; i += kTokens) {
    const int n = static_cast<int>(Min(tokens - i, kTokens));
    const float* from = y + int64_t{i} / kPerWord * columns;
    int j = 0;
    for (; j + kWide <= columns; j += kWide) OuterColumns<kOuterColumns>(x + i, ldx, rows, from + j, columns, n, add || i > 0, dw + j);
    for (; j < columns; j += kLanes) OuterColumns<1>(x + i, ldx, rows, from + j, columns, n, add || i > 0, dw + j);
  }
}

// [feature][position][W] to [position W][features].
inline void TokenMajor(const float* x, int64_t ldx, int features, int positions, float* out) {
  for (int t = 0; t < positions; ++t) {
    for (int f = 0; f < features; f += kLanes) {
      Transpose(x + f * ldx + t * kLanes, ldx, out + static_cast<int64_t>(t) * kLanes * features + f, features);
    }
  }
}

// Scales and shifts [token][columns], as Norm() does it. The parameters need not lie as registers want them.
inline void ScaleTokens(float* tokens, int64_t count, int columns, const float* scale, const float* offset) {
  for (int c = 0; c < columns; c += kLanes) {
    Lanes g, b;
    memcpy(&g, scale + c, sizeof g);
    memcpy(&b, offset + c, sizeof b);
    for (int64_t i = 0; i < count; ++i) Store(tokens + i * columns + c, Fma(Load(tokens + i * columns + c), g, b));
  }
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
