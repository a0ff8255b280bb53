// Layers of pre-norm blocks: x + attend(norm1(x)), then x + mlp(norm2(x)), and behind the last one the norm that the head reads. The parts are
// those of layers.h in another order. Residuals are what a norm was not applied to, so the gradient of one is that of its sum, and what
// came through the norm is added.
#pragma once

#include <string.h>

#include "worker/trainer/lanes/layer_parts.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

// A block of rows as Norm() reads it: [D][TB][W].
template <int TB>
LONGREACH_INLINE void CopyBlock(const float* rows, int64_t ld, int dim, float* z) {
  for (int f = 0; f < dim; ++f) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(z + (f * TB + i) * kLanes, Load(rows + f * ld + i * kLanes));
}

// Queries, keys and values of a block, of the layer's normalised input; keys and values only without `query`.
template <int TB>
LONGREACH_INLINE void PreNormProject(const Model& m, const Pass& pass, const float* parameters, const float* packed, const float* content_bias, int layer,
                                     const Work& work, int t, bool query, bool training) {
  const LayerOffsets& at = m.layer[layer];
  const Kept& kept = work.layer[layer];
  const int64_t ld = work.ld, here = t * kLanes;
  CopyBlock<TB>(work.Input(layer) + here, ld, m.dim, work.z);
  Norm<TB>(work.z, m.dim, parameters + at.norm1_scale, parameters + at.norm1_offset, training ? kept.norm1 + here : nullptr, ld,
           training ? kept.deviation1 + here : nullptr, work.u, TB * kLanes);
  ProjectBlock<TB>(m, pass, packed, content_bias, layer, work, t, query, BlockOf<TB, false>(work.u, TB * kLanes, m.dim, work.operands));
}

// What follows attention: x + drop(o W) = z; z + drop(relu(norm(z) W1 + b1) W2 + b2) is the next layer's x. `input`: this one's.
template <int TB>
LONGREACH_INLINE void PreNormFeedForward(const Model& m, const float* parameters, const float* packed, const LayerOffsets& at, const Kept& kept,
                                         const float* input, const Work& work, int t, const Dropout& drop1, const Dropout& drop2, bool training) {
  const PackedLayer place(m);
  const int64_t ld = work.ld, here = t * kLanes;
  float *z = work.z, *const next = work.h + here;
  const auto ask_norm2 = [&](int n) { return training ? NextBlock<TB>(ld, t, n, kept.norm2) : Ahead<TB>(); };
  const auto ask_attended = [&](int n) { return training ? NextBlock<TB>(ld, t, n, kept.o) : Ahead<TB>(); };
  const Block o = BlockOf<TB, true>(kept.o + here, ld, m.dim, work.operands);
  Product<TB>(packed + place.o, PanelSize(m.dim), m.dim, m.dim, o, ask_norm2, [&](int n, Lanes(&sum)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      Store(z + ((n + r) * TB + i) * kLanes, Load(input + (n + r) * ld + here + i * kLanes) + drop1(t + i, n + r, sum[r][i]));
    }
  });
  Norm<TB>(z, m.dim, parameters + at.norm2_scale, parameters + at.norm2_offset, training ? kept.norm2 + here : nullptr, ld,
           training ? kept.deviation2 + here : nullptr, work.u, TB * kLanes);
  const float* b2 = parameters + at.mlp2_b;
  const Block activated = Activated<TB>(m, parameters, packed, at, kept, work, t, training);
  Product<TB>(packed + place.mlp2, PanelSize(m.mlp), m.mlp, m.dim, activated, ask_attended, [&](int n, Lanes(&sum)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      Store(next + (n + r) * ld + i * kLanes, Load(z + ((n + r) * TB + i) * kLanes) + drop2(t + i, n + r, sum[r][i] + b2[n + r]));
    }
  });
}

// Of a block of outputs: what the head reads, in place of the last layer's output.
template <int TB>
LONGREACH_INLINE void FinalNorm(const Model& m, const float* parameters, const Work& work, int t, bool training) {
  const int64_t ld = work.ld, here = t * kLanes;
  CopyBlock<TB>(work.h + here, ld, m.dim, work.z);
  Norm<TB>(work.z, m.dim, parameters + m.final_scale, parameters + m.final_offset, training ? work.final_norm + here : nullptr, ld,
           training ? work.final_deviation + here : nullptr, work.h + here, ld);
}

// And of the gradient of what the head reads (Work::dh) that of the last layer's output, in place.
template <int TB>
LONGREACH_INLINE void FinalNormBackward(const Model& m, const float* parameters, const Work& work, int t) {
  const SumRows row(m);
  const int64_t ld = work.ld, here = t * kLanes;
  float *const dh = work.dh + here, *z = work.z;
  NormBackward<TB>(dh, ld, work.final_norm + here, work.final_deviation + here, parameters + m.final_scale, m.dim, ld, z,
                   work.sums + row.scale2 * kLanes, work.sums + row.offset2 * kLanes);
  for (int f = 0; f < m.dim; ++f) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(dh + f * ld + i * kLanes, Load(z + (f * TB + i) * kLanes));
}

// As FeedForwardBackward(): what it makes, and where, is the same.
template <int TB>
LONGREACH_INLINE void PreNormFeedForwardBackward(const Model& m, const float* parameters, const float* packed, const LayerOffsets& at, const Kept& kept,
                                                 const Work& work, int first, int t, const Dropout& drop1, const Dropout& drop2) {
  const SumRows row(m);
  const int64_t ld = work.ld, here = t * kLanes;
  float *sums = work.sums, *z = work.z, *du = work.du, *const dh = work.dh + here, *const da_rows = work.da + (t - first) * kLanes;
  const auto ask_norm2 = [&](int n) { return NextBlock<TB>(ld, t, n, kept.norm2); };
  const Block dhidden = ActivatedBackward<TB>(m, packed, kept, work, first, t, dh, ld, drop2);
  Product<TB>(packed + PackedLayer(m).mlp1_back, PanelSize(m.mlp), m.mlp, m.dim, dhidden, ask_norm2, [&](int n, Lanes(&g)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(du + ((n + r) * TB + i) * kLanes, g[r][i]);
  });
  NormBackward<TB>(du, TB * kLanes, kept.norm2 + here, kept.deviation2 + here, parameters + at.norm2_scale, m.dim, ld, z, sums + row.scale2 * kLanes,
                   sums + row.offset2 * kLanes);
  for (int f = 0; f < m.dim; ++f) {
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes v = Load(dh + f * ld + i * kLanes) + Load(z + (f * TB + i) * kLanes);
      Store(dh + f * ld + i * kLanes, v);
      Store(da_rows + f * kChunkLd + i * kLanes, Operand(drop1(t + i, f, v)));
    }
  }
  AttendedBackward<TB>(m, packed, work, first, t);
}

// Adds to dh what came through queries, keys and values, and the norm before them; before the first query nothing is there yet.
template <int TB>
LONGREACH_INLINE void PreNormProjectBackward(const Model& m, const float* parameters, const float* packed, const LayerOffsets& at, const Kept& kept,
                                             const Work& work, int t, bool query) {
  const SumRows row(m);
  const int64_t ld = work.ld, here = t * kLanes;
  float *z = work.z, *du = work.du, *const dh = work.dh + here;
  ProjectedBackward<TB>(m, packed, work, t, query, [&](int n, Lanes(&g)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(du + ((n + r) * TB + i) * kLanes, g[r][i]);
  });
  NormBackward<TB>(du, TB * kLanes, kept.norm1 + here, kept.deviation1 + here, parameters + at.norm1_scale, m.dim, ld, z, work.sums + row.scale1 * kLanes,
                   work.sums + row.offset1 * kLanes);
  for (int f = 0; f < m.dim; ++f) {
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes v = Load(z + (f * TB + i) * kLanes);
      Store(dh + f * ld + i * kLanes, query ? Load(dh + f * ld + i * kLanes) + v : v);
    }
  }
}

// From the embedded tokens to what the head reads. The first layer is computed position by position, whatever its input depends on.
inline void PreNormForward(const Model& m, const Pass& pass, const Member& member, const Tile& tile, const Work& work, bool training) {
  for (int l = 0; l < m.layers; ++l) {
    const Kept& kept = work.layer[l];
    const float *parameters = member.parameters, *packed = member.packed + l * PackedLayer(m).size;
    const int t0 = FirstQuery(m, pass, l);
    const float* content = member.content_bias == nullptr ? nullptr : member.content_bias + int64_t{l} * m.dim;
    ForBlocks(0, t0, [&](auto block, int t) { PreNormProject<block.value>(m, pass, parameters, packed, content, l, work, t, false, training); });
    ForBlocks(t0, pass.tape, [&](auto block, int t) { PreNormProject<block.value>(m, pass, parameters, packed, content, l, work, t, true, training); });
    AttendLayer(m, pass, member, l, work);
    const Dropout drop1 = DropoutAt(m, pass, tile, 1 + 2 * l, t0), drop2 = DropoutAt(m, pass, tile, 2 + 2 * l, t0);
    ForBlocks(t0, pass.tape, [&](auto block, int t) {
      PreNormFeedForward<block.value>(m, parameters, packed, m.layer[l], kept, work.Input(l), work, t, drop1, drop2, training);
    });
  }
  ForBlocks(pass.tape - pass.outputs, pass.tape, [&](auto block, int t) { FinalNorm<block.value>(m, member.parameters, work, t, training); });
}

inline void PreNormLayerBackward(const Model& m, const Pass& pass, const Member& member, const Tile& tile, const Work& work, int l, float* gradient,
                                 const TableGradients& tables) {
  const int T = pass.tape, t0 = FirstQuery(m, pass, l), dim = m.dim, chunk = GradientChunk(T - t0);
  const int64_t ld = work.ld;
  const Kept& kept = work.layer[l];
  const LayerOffsets& at = m.layer[l];
  const float *parameters = member.parameters, *packed = member.packed + l * PackedLayer(m).size;
  const SumRows row(m);
  memset(work.sums, 0, static_cast<size_t>(row.all) * kLanes * sizeof(float));
  const Dropout drop1 = DropoutAt(m, pass, tile, 1 + 2 * l, t0), drop2 = DropoutAt(m, pass, tile, 2 + 2 * l, t0);
  const Scaling norm1 = {.scale = parameters + at.norm1_scale, .offset = parameters + at.norm1_offset};
  const Scaling norm2 = {.scale = parameters + at.norm2_scale, .offset = parameters + at.norm2_offset};
  for (int c0 = t0; c0 < T; c0 += chunk) {
    const int count = static_cast<int>(Min(T - c0, chunk));
    const bool add = !tile.fresh || c0 > t0;
    ForBlocks(c0, c0 + count, [&](auto block, int t) {
      PreNormFeedForwardBackward<block.value>(m, parameters, packed, at, kept, work, c0, t, drop1, drop2);
    });
    const auto kept_rows = [&](const float* rows) { return Rows{rows + c0 * kLanes, ld}; };
    AddWeights<true>(m, work, kept_rows(kept.hidden), m.mlp, {work.df, kChunkLd}, {}, count, add, gradient + at.mlp2_w);
    AddWeights<true>(m, work, {work.dhidden, kChunkLd}, m.mlp, kept_rows(kept.norm2), norm2, count, add, gradient + at.mlp1_w);  // [out, in].
    AddWeights(m, work, kept_rows(kept.o), dim, {work.da, kChunkLd}, {}, count, add, gradient + at.o);
  }
  AttendLayerBack(m, pass, member, l, work, tables);
  ForBlocks(0, t0, [&](auto block, int t) { PreNormProjectBackward<block.value>(m, parameters, packed, at, kept, work, t, false); });
  ForBlocks(t0, T, [&](auto block, int t) { PreNormProjectBackward<block.value>(m, parameters, packed, at, kept, work, t, true); });
  AddSums(work, row.scale2, dim, gradient + at.norm2_scale);
  AddSums(work, row.offset2, dim, gradient + at.norm2_offset);
  AddSums(work, row.mlp2_b, dim, gradient + at.mlp2_b);
  AddSums(work, row.mlp1_b, m.mlp, gradient + at.mlp1_b);
  AddSums(work, row.scale1, dim, gradient + at.norm1_scale);
  AddSums(work, row.offset1, dim, gradient + at.norm1_offset);
  AddProjectionWeights(m, pass, tile, work, kept.norm1, norm1, t0, gradient + at.q, gradient + at.k);
}

// From the gradient of what the head reads to that of the embedded tokens, both in Work::dh.
inline void PreNormBackward(const Model& m, const Pass& pass, const Member& member, const Tile& tile, const Work& work, float* gradient,
                            const TableGradients& tables) {
  const SumRows row(m);
  memset(work.sums, 0, static_cast<size_t>(row.all) * kLanes * sizeof(float));
  ForBlocks(pass.tape - pass.outputs, pass.tape, [&](auto block, int t) { FinalNormBackward<block.value>(m, member.parameters, work, t); });
  AddSums(work, row.scale2, m.dim, gradient + m.final_scale);
  AddSums(work, row.offset2, m.dim, gradient + m.final_offset);
  for (int l = m.layers - 1; l >= 0; --l) PreNormLayerBackward(m, pass, member, tile, work, l, gradient, tables);
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
