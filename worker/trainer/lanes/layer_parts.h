// What a layer does over the whole tape, wherever its norms are: attention forward and backward, and the gradients of its weights.
#pragma once

#include <string.h>

#include "worker/trainer/lanes/layers.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

// A layer's keys of distances as operands, made once for all that reads them. The table need not lie as registers want it.
inline const float* DistanceKeyOperands(const Model& m, const Pass& pass, const Member& member, int layer, const Work& work) {
  const int64_t size = m.heads * pass.bias_stride * K;
  const float* from = member.distance_keys + layer * size;
  if constexpr (!kRounds) return from;
  for (int64_t i = 0; i < size; i += kLanes) {
    Lanes keys;
    memcpy(&keys, from + i, sizeof keys);
    Store(work.distance_keys + i, Operand(keys));
  }
  return work.distance_keys;
}

inline Heads HeadsOf(const Model& m, const Pass& pass, const Member& member, int layer, int first_query, const Work& work) {
  return {.ld = work.ld,
          .heads = m.heads,
          .tape = pass.tape,
          .first_query = first_query,
          .bias = member.bias == nullptr ? nullptr : member.bias + int64_t{layer} * m.heads * pass.bias_stride,
          .bias_stride = pass.bias_stride,
          .center = pass.centers == nullptr ? 0 : pass.centers[layer],
          .positions = pass.positions == nullptr ? nullptr : pass.positions + int64_t{layer} * pass.tape,
          .distance_keys = pass.distance_keys ? DistanceKeyOperands(m, pass, member, layer, work) : nullptr};
}

// After the last layer only the outputs are read.
inline int FirstQuery(const Model& m, const Pass& pass, int layer) { return layer == m.layers - 1 ? pass.tape - pass.outputs : 0; }

template <Bias B>
inline void AttendPlain(const Heads& heads, const Kept& kept, const Work& work) {
  if constexpr (kAttendsPairs) {
    AttendPairs<B>(heads, kept.qkv, kept.o, kept.maximum, kept.inverse, work.words);
  } else {
    Attend<B, Bias::kNone>(heads, kept.qkv, kept.o, kept.maximum, kept.inverse);
  }
}

template <Bias B>
inline void AttendBiased(const Heads& heads, const Kept& kept, const Work& work) {
  if (heads.distance_keys == nullptr) return AttendPlain<B>(heads, kept, work);
  Attend<B, B>(heads, kept.qkv, kept.o, kept.maximum, kept.inverse);
}

// From a layer's queries, keys and values to Kept::o.
inline void AttendLayer(const Model& m, const Pass& pass, const Member& member, int layer, const Work& work) {
  const Heads heads = HeadsOf(m, pass, member, layer, FirstQuery(m, pass, layer), work);
  const Kept& kept = work.layer[layer];
  switch (pass.bias) {
    case Bias::kNone: AttendPlain<Bias::kNone>(heads, kept, work); break;
    case Bias::kByOffset: AttendBiased<Bias::kByOffset>(heads, kept, work); break;
    case Bias::kByPosition: AttendBiased<Bias::kByPosition>(heads, kept, work); break;
    case Bias::kByPair: AttendPlain<Bias::kByPair>(heads, kept, work); break;
  }
}

// Rows of activations, so many floats apart.
struct Rows {
  const float* at;
  int64_t ld;
};

// What a norm does to its normalised inputs, feature by feature.
struct Scaling {
  const float *scale = nullptr, *offset = nullptr;  // Null: nothing.
};

// Work::tokens: `count` positions of y, which was normalised if there is a scaling, as Outer() wants them.
inline void MakeTokens(const Model& m, const Work& work, const Rows& y, const Scaling& scaling, int count) {
  TokenMajor(y.at, y.ld, m.dim, count, work.tokens);
  if (scaling.scale != nullptr) ScaleTokens(work.tokens, int64_t{count} * kLanes, m.dim, scaling.scale, scaling.offset);
  TokenOperands(work.tokens, int64_t{count} * kLanes, m.dim);
}

// gradient[rows][D] is, or with `add` gets added, x y over `count` positions. `of_operands`: x is rows of operands.
template <bool of_operands = false>
inline void AddWeights(const Model& m, const Work& work, const Rows& x, int rows, const Rows& y, const Scaling& scaling, int count, bool add,
                float* gradient) {
  MakeTokens(m, work, y, scaling, count);
  Outer<of_operands>(x.at, x.ld, rows, work.tokens, m.dim, count * kLanes, add, gradient);
}

// Of one layer. `tables` are that layer's.
template <Bias B, bool trained, Bias D>
inline void AttendBack(const Model& m, const Pass& pass, const Heads& heads, const Kept& kept, const Work& work, const TableGradients& tables) {
  const int64_t size = m.heads * pass.bias_stride;
  if (trained && B == Bias::kByOffset) memset(work.dbias, 0, static_cast<size_t>(size) * kLanes * sizeof(float));
  const BiasGradient dbias = {.lanes = work.dbias, .table = tables.bias, .key_lanes = work.dkeys, .keys = tables.distance_keys};
  if constexpr (kAttendsPairs && D == Bias::kNone) {
    AttendBackwardPairs<B, trained>(heads, kept.qkv, kept.o, kept.maximum, kept.inverse, work.dout, work.back.pairs, work.dqkv, dbias, work.words);
  } else {
    AttendBackward<B, trained, D>(heads, kept.qkv, kept.o, kept.maximum, kept.inverse, work.dout, work.back, work.dqkv, dbias);
  }
  if (trained && B == Bias::kByOffset) {
    for (int64_t i = 0; i < size; ++i) tables.bias[i] += Sum(Load(work.dbias + i * kLanes));
  }
  if (D == Bias::kNone) return;
  for (int n = 0; n < m.dim; ++n) {
    Lanes sum = Zero();
    for (int t = heads.first_query; t < heads.tape; ++t) sum = sum + Load(work.dqkv + n * work.ld + t * kLanes);
    tables.content_bias[n] += Sum(sum);
  }
}

template <Bias B>
inline void AttendBackBiased(const Model& m, const Pass& pass, const Heads& heads, const Kept& kept, const Work& work, const TableGradients& tables) {
  if (pass.distance_keys) {
    AttendBack<B, true, B>(m, pass, heads, kept, work, tables);
  } else if (pass.bias_trained) {
    AttendBack<B, true, Bias::kNone>(m, pass, heads, kept, work, tables);
  } else {
    AttendBack<B, false, Bias::kNone>(m, pass, heads, kept, work, tables);
  }
}

inline TableGradients OfLayer(const Model& m, const Pass& pass, const TableGradients& all, int layer) {
  const int64_t entries = int64_t{layer} * m.heads * pass.bias_stride;
  return {.bias = all.bias == nullptr ? nullptr : all.bias + entries,
          .distance_keys = all.distance_keys == nullptr ? nullptr : all.distance_keys + entries * K,
          .content_bias = all.content_bias == nullptr ? nullptr : all.content_bias + int64_t{layer} * m.dim};
}

// From Work::dout to Work::dqkv, as the products behind them read it. `tables` are all layers'.
inline void AttendLayerBack(const Model& m, const Pass& pass, const Member& member, int layer, const Work& work, const TableGradients& tables) {
  const int T = pass.tape, t0 = FirstQuery(m, pass, layer), dim = m.dim;
  const int64_t ld = work.ld;
  const Heads heads = HeadsOf(m, pass, member, layer, t0, work);
  const Kept& kept = work.layer[layer];
  const TableGradients here = OfLayer(m, pass, tables, layer);
  switch (pass.bias) {
    case Bias::kNone: AttendBack<Bias::kNone, false, Bias::kNone>(m, pass, heads, kept, work, here); break;
    case Bias::kByOffset: AttendBackBiased<Bias::kByOffset>(m, pass, heads, kept, work, here); break;
    case Bias::kByPosition: AttendBackBiased<Bias::kByPosition>(m, pass, heads, kept, work, here); break;
    case Bias::kByPair: AttendBack<Bias::kByPair, true, Bias::kNone>(m, pass, heads, kept, work, here); break;
  }
  if (pass.rotation != nullptr) Unrotate(m, pass, layer, t0, work.dqkv, ld);
  if constexpr (kRounds && !kPairs) {
    RoundRows(work.dqkv + t0 * kLanes, ld, dim, int64_t{T - t0} * kLanes);
    RoundRows(work.dqkv + dim * ld, ld, 2 * dim, int64_t{T} * kLanes);
  }
}

// Positions whose gradients of weights behind attention are made together, `count` in all.
inline int GradientChunk(int count) {
  const int parts = (count + kGradientPositions - 1) / kGradientPositions;
  return ((count + parts - 1) / parts + 2) / 3 * 3;
}

// The gradient of the weights of queries, keys and values, which were made of `input`; queries from `first_query` on.
inline void AddProjectionWeights(const Model& m, const Pass& pass, const Tile& tile, const Work& work, const float* input, const Scaling& scaling,
                                 int first_query, float* dq, float* dkv) {
  constexpr int kTogether = 24;
  const int T = pass.tape, t0 = first_query, dim = m.dim;
  const int64_t ld = work.ld;
  for (int c0 = 0; c0 < T; c0 += kTogether) {
    const int c1 = static_cast<int>(Min(T, c0 + kTogether)), q0 = c0 > t0 ? c0 : t0;
    MakeTokens(m, work, {input + c0 * kLanes, ld}, scaling, c1 - c0);
    if (q0 < c1) {
      Outer(work.dqkv + q0 * kLanes, ld, dim, work.tokens + int64_t{q0 - c0} * kLanes / kPerWord * dim, dim, (c1 - q0) * kLanes, !tile.fresh || q0 > t0, dq);
    }
    Outer(work.dqkv + dim * ld + c0 * kLanes, ld, 2 * dim, work.tokens, dim, (c1 - c0) * kLanes, !tile.fresh || c0 > 0, dkv);
  }
}

// Adds `n` rows of Work::sums, from `first` on, over their lanes.
inline void AddSums(const Work& work, int first, int n, float* gradient) {
  for (int i = 0; i < n; ++i) gradient[i] += Sum(Load(work.sums + (first + i) * kLanes));
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
