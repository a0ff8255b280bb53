// The first layer where its input depends on the token alone: nothing was added to the embedding's rows, nor dropped of them. Its
// queries, keys and values are then those of a few tokens. They are made once for a tile and looked up, the same bits as position by
// position; and on the way back their gradients are summed up by token before they are multiplied with anything.
#pragma once

#include <math.h>
#include <string.h>

#include "worker/trainer/lanes/layers.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

LONGREACH_INLINE bool DependsOnTokenAlone(const Model& m, const Pass& pass, const Tile& tile) {
  return m.tokens <= kTokenRow && pass.addition_row == nullptr && pass.given_row == nullptr && DropoutAt(m, pass, tile, 0, 0).bits == nullptr;
}

// Work::token_qkv [3 D][token], neither rotated nor rounded yet.
inline void ProjectTokens(const Model& m, const float* parameters, const float* packed, const Work& work) {
  const float scale = sqrtf(static_cast<float>(m.dim));
  const float* rows = parameters + m.embed;
  memset(work.token_h, 0, static_cast<size_t>(m.dim) * kTokenRow * sizeof(float));
  for (int v = 0; v < m.tokens; ++v) {
    for (int f = 0; f < m.dim; ++f) work.token_h[f * kTokenRow + v] = rows[v * m.dim + f] * scale;
  }
  ForBlocks(0, kTokenRow / kLanes, [&](auto block, int t) {
    constexpr int TB = decltype(block)::value;
    const Block h = BlockOf<TB, false>(work.token_h + t * kLanes, kTokenRow, m.dim, work.operands);
    Product<TB>(packed, PanelSize(m.dim), m.dim, 3 * m.dim, h, [&](int n, Lanes(&sum)[kRows][TB]) __attribute__((always_inline)) {
      LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) {
        LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(work.token_qkv + (n + r) * kTokenRow + (t + i) * kLanes, sum[r][i]);
      }
    });
  });
}

// Project() of the first layer by what ProjectTokens() made.
template <int TB>
LONGREACH_INLINE void LookUpProjected(const Model& m, const Pass& pass, const Tile& tile, const float* content_bias, const Work& work, int t,
                                      bool query) {
  IntLanes token[TB];
  memcpy(token, tile.tokens + int64_t{t} * kLanes, sizeof token);
  for (int n = query ? 0 : m.dim; n < 3 * m.dim; n += kRows) {
    Lanes sum[kRows][TB];
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) {
      LONGREACH_UNROLL for (int i = 0; i < TB; ++i) sum[r][i] = Lookup(work.token_qkv + (n + r) * kTokenRow, token[i]);
    }
    KeepProjected<TB>(m, pass, content_bias, 0, work, t, n, sum);
  }
}

// Work::token_dqkv [3 D][token]: sums of Work::dqkv over the positions that have the token; queries from `first_query` on.
inline void SumByToken(const Model& m, const Pass& pass, const Tile& tile, const Work& work, int first_query) {
  const int count = pass.tape * kLanes, before = first_query * kLanes;
  memset(work.tokens, 0, static_cast<size_t>(count) * kTokenRow * sizeof(float));
  for (int i = 0; i < count; ++i) work.tokens[i * kTokenRow + tile.tokens[i]] = 1;
  TokenOperands(work.tokens, count, kTokenRow);
  Outer(work.dqkv + before, work.ld, m.dim, work.tokens + before / kPerWord * kTokenRow, kTokenRow, count - before, false, work.token_dqkv);
  Outer(work.dqkv + m.dim * work.ld, work.ld, 2 * m.dim, work.tokens, kTokenRow, count, false, work.token_dqkv + m.dim * kTokenRow);
}

// y[n][i] as Product() makes it of one block of float32, also where products read pairs: these are sums of products already. k runs
// over `parts` times `part`.
template <int TB, class Out>
LONGREACH_INLINE void ProductOfSums(const float* w, int parts, int part, int n_count, const float* x, int64_t ld, const Out& out) {
  const int k_count = parts * part;
  if constexpr (!kPairs) {
    Product<TB>(w, PanelSize(k_count), k_count, n_count, Block{x, ld}, out);
    return;
  }
  for (int n = 0; n < n_count; n += kRows) {
    const float* panel = w + n / kPanel * parts * PanelSize(part);
    Lanes sum[kRows][TB] = {};
    for (int k = 0; k < k_count; k += 2) {
      const float* words = panel + k / part * PanelSize(part);
      LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) {
        const Words word = reinterpret_cast<Words>(Splat(words[WordAt(k % part, n % kPanel + r)]));
        const Lanes first = reinterpret_cast<Lanes>(word << 16), second = reinterpret_cast<Lanes>(word & 0xFFFF0000u);
        LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
          sum[r][i] = Fma(first, Load(x + k * ld + i * kLanes), sum[r][i]);
          sum[r][i] = Fma(second, Load(x + (k + 1) * ld + i * kLanes), sum[r][i]);
        }
      }
    }
    out(n, sum);
  }
}

// Adds to the gradients of the weights, [out, in], and of the embedding what came through queries, keys and values.
inline void ProjectTokensBackward(const Model& m, const Pass& pass, const float* packed, const Tile& tile, const Work& work, int first_query,
                                  float* gradient) {
  SumByToken(m, pass, tile, work, first_query);
  // [token][D]; queries, keys and values are not needed any more.
  float* const rows = work.token_qkv;
  for (int v = 0; v < m.tokens; ++v) {
    for (int f = 0; f < m.dim; ++f) rows[v * m.dim + f] = Operand(work.token_h[f * kTokenRow + v]);
  }
  float* const weights = gradient + m.layer[0].q;
  for (int n = 0; n < 3 * m.dim; ++n) {
    for (int f = 0; f < m.dim; f += kLanes) {
      float* const to = weights + int64_t{n} * m.dim + f;
      Lanes sum = tile.fresh ? Zero() : Load(to);
      for (int v = 0; v < m.tokens; ++v) sum = Fma(Splat(work.token_dqkv[n * kTokenRow + v]), Load(rows + v * m.dim + f), sum);
      Store(to, sum);
    }
  }
  const float scale = sqrtf(static_cast<float>(m.dim));
  float* const embedding = gradient + m.embed;
  ForBlocks(0, kTokenRow / kLanes, [&](auto block, int t) {
    constexpr int TB = decltype(block)::value;
    ProductOfSums<TB>(packed + PackedLayer(m).qkv_back, 3, m.dim, m.dim, work.token_dqkv + t * kLanes, kTokenRow,
                      [&](int n, Lanes(&sum)[kRows][TB]) __attribute__((always_inline)) {
      alignas(64) float lanes[TB * kLanes];
      for (int r = 0; r < kRows; ++r) {
        LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(lanes + i * kLanes, sum[r][i]);
        const int first = t * kLanes, last = static_cast<int>(Min(m.tokens, first + TB * kLanes));
        for (int v = first; v < last; ++v) embedding[v * m.dim + n + r] += lanes[v - first] * scale;
      }
    });
  });
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
