// The way back of attention (attention.h): a block of queries at a time, and its pairs with all keys, kKeys at a time. Probabilities are made
// again.
#pragma once

#include "worker/trainer/lanes/attention.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

inline constexpr int kQueryBlock = 16;

// Where the gradients of the biases and of the keys of distances go.
struct BiasGradient {
  float* lanes = nullptr;  // kByOffset: [H][bias_stride][W], added to, reduced by the caller.
  float* table = nullptr;  // kByPosition and kByPair: [H][bias_stride], added to.
  float* key_lanes = nullptr;  // kByOffset: [bias_stride][8][W] to work in.
  float* keys = nullptr;       // [H][bias_stride][8], added to.
};

// One head on its way back.
struct HeadBack {
  const float *q, *k, *v, *o, *maximum, *inverse, *dout;
  float *dq, *dk, *dv;
  float *p, *g;  // [kQueryBlock][T][W] each: probabilities; and their gradients less a constant of the query, then those of logits.
};

inline HeadBack HeadOf(int head, int64_t ld, int64_t dim, const float* qkv, const float* o, const float* maximum, const float* inverse,
                       const float* dout, float* pairs, float* dqkv) {
  const int64_t row = head * K * ld;
  return {.q = qkv + row, .k = qkv + row + dim * ld, .v = qkv + row + 2 * dim * ld, .o = o + row, .maximum = maximum + head * ld,
          .inverse = inverse + head * ld, .dout = dout + row, .dq = dqkv + row, .dk = dqkv + row + dim * ld,
          .dv = dqkv + row + 2 * dim * ld, .p = pairs, .g = pairs + kQueryBlock * ld};
}

// A logit is q k / sqrt(8): its gradient is summed up without the factor, which sums are multiplied with. Where operands are rounded it is part
// of what is rounded.
inline constexpr float kInSums = kRounds ? 1.0f : kInverseRootK;

// What a head works in: [2 kQueryBlock][T][W]; its queries as logits read them, [8][T][W]; and dout o, [T][W].
struct BackSpace {
  float *pairs, *queries, *dots;

  void Fill(const Heads& a, const HeadBack& b) const {
    for (int t = a.first_query; t < a.tape; ++t) {
      Lanes dot = Zero();
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
        const int64_t at = j * a.ld + t * kLanes;
        Store(queries + at, Load(b.q + at) * kLogitScale);
        dot = Fma(Load(b.o + at), Load(b.dout + at), dot);
      }
      Store(dots + t * kLanes, dot);
    }
  }
};

// Fills p of QB queries, from `query` on, and a block of keys. Rows of p are `ld` floats apart, as those of k.
template <int QB, Bias B, Bias D>
LONGREACH_INLINE void Probabilities(const Heads& a, int head, const HeadBack& b, const float* queries, int query, int key0, int keys,
                                    float* p) {
  const int64_t ld = a.ld;
  const float* const k = b.k + key0 * kLanes;
  Lanes q[QB][K], top[QB], inverse[QB];
  LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) q[i][j] = Load(queries + j * ld + (query + i) * kLanes);
    top[i] = Load(b.maximum + (query + i) * kLanes);
    inverse[i] = Load(b.inverse + (query + i) * kLanes);
  }
  const BiasRow<B> bias0(a, head, query), bias1(a, head, query + QB - 1);
  const DistanceKeys<D> far0(a, head, query), far1(a, head, query + QB - 1);
  for (int s = 0; s < keys; ++s) {
    Lanes logit[QB];
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) logit[i] = (i == 0 ? bias0 : bias1)[key0 + s] - top[i];
    AddDots<QB, D>(q, k + s * kLanes, ld, far0[key0 + s], far1[key0 + s], logit);
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) Store(p + i * ld + s * kLanes, Exp2(logit[i]) * inverse[i]);
  }
}

// Fills g of as many pairs with dout v - dot, and adds p g to `rest`, by query.
template <int QB>
LONGREACH_INLINE void GradientsOfProbabilities(const Heads& a, const HeadBack& b, const float* dots, int query, int key0, int keys, const float* v,
                                               const float* p, float* g, float* rest) {
  const int64_t ld = a.ld;
  Lanes d[QB][K], dot[QB], sum[QB];
  LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) d[i][j] = Load(b.dout + j * ld + (query + i) * kLanes);
    dot[i] = Load(dots + (query + i) * kLanes);
    sum[i] = key0 == 0 ? Zero() : Load(rest + i * kLanes);
  }
  for (int s = 0; s < keys; ++s) {
    Lanes x[QB];
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) x[i] = Zero() - dot[i];
    AddDots<QB, Bias::kNone>(d, v + s * kLanes, ld, nullptr, nullptr, x);
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
      const int64_t at = i * ld + s * kLanes;
      sum[i] = Fma(Load(p + at), x[i], sum[i]);
      Store(g + at, x[i]);
    }
  }
  LONGREACH_UNROLL for (int i = 0; i < QB; ++i) Store(rest + i * kLanes, sum[i]);
}

// Both, of QB queries of a block, the first of which is the `row`th, and a block of keys.
template <int QB, Bias B, Bias D>
LONGREACH_INLINE void Pairs(const Heads& a, int head, const HeadBack& b, const BackSpace& space, int q0, int row, int key0, int keys, float* rest) {
  const int64_t at = row * a.ld + key0 * kLanes;
  Probabilities<QB, B, D>(a, head, b, space.queries, q0 + row, key0, keys, b.p + at);
  GradientsOfProbabilities<QB>(a, b, space.dots, q0 + row, key0, keys, b.v + key0 * kLanes, b.p + at, b.g + at, rest + row * kLanes);
}

// Adds what a block of queries makes of dk and dv of KB keys, from s on, in registers over the queries; and of the gradients of biases. Leaves
// the gradients of logits, as operands, where g was.
template <int KB, Bias B, bool trained>
LONGREACH_INLINE void KeyGradients(const Heads& a, int head, const HeadBack& b, const BackSpace& space, int q0, int queries, int s,
                                   const float* rest, const BiasGradient& dbias) {
  const int64_t ld = a.ld;
  const bool first = q0 == a.first_query;
  // Names of its own: for all the compiler knows, what is stored below changes pointers that lie in memory.
  const float *const q = space.queries + q0 * kLanes, *const dout = b.dout + q0 * kLanes, *const p = b.p + s * kLanes;
  float *const g = b.g + s * kLanes, *const dk = b.dk + s * kLanes, *const dv = b.dv + s * kLanes;
  const int64_t entry = head * a.bias_stride + a.center;
  float* const lanes = trained && B == Bias::kByOffset ? dbias.lanes + (entry + s - q0) * kLanes : nullptr;
  float* const table = trained && B == Bias::kByPosition ? dbias.table + entry : nullptr;
  float* const pairs = trained && B == Bias::kByPair ? dbias.table + head * a.bias_stride + int64_t{q0} * a.tape + s : nullptr;
  const int64_t tape = a.tape;
  const int32_t* const positions = a.positions;
  Lanes sum[KB][K];
  LONGREACH_UNROLL for (int n = 0; n < KB; ++n) {
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) sum[n][j] = first ? Zero() : Load(dk + j * ld + n * kLanes);
  }
  for (int t = 0; t < queries; ++t) {
    const Lanes too_much = Load(rest + t * kLanes);
    Lanes ds[KB];
    LONGREACH_UNROLL for (int n = 0; n < KB; ++n) {
      const int64_t at = t * ld + n * kLanes;
      ds[n] = Load(p + at) * (Load(g + at) - too_much);
      if constexpr (trained && B == Bias::kByOffset) {
        float* const to = lanes + (n - t) * kLanes;
        Store(to, Load(to) + ds[n]);
      }
      if constexpr (trained && B == Bias::kByPosition) table[positions[s + n] - positions[q0 + t]] += Sum(ds[n]);
      if constexpr (trained && B == Bias::kByPair) pairs[t * tape + n] += Sum(ds[n]);
      if constexpr (kRounds) ds[n] = Operand(ds[n] * kInverseRootK);
      Store(g + at, ds[n]);
    }
    AddMultiples<KB, Bias::kNone>(ds, q + t * kLanes, ld, nullptr, nullptr, sum);
  }
  const float scale = q0 + queries == a.tape ? kInSums / kLogitScale : 1.0f;  // Queries have kLogitScale in them.
  LONGREACH_UNROLL for (int n = 0; n < KB; ++n) {
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      Store(dk + j * ld + n * kLanes, sum[n][j] * scale);
      sum[n][j] = first ? Zero() : Load(dv + j * ld + n * kLanes);
    }
  }
  for (int t = 0; t < queries; ++t) {
    Lanes weight[KB];
    LONGREACH_UNROLL for (int n = 0; n < KB; ++n) weight[n] = Operand(Load(p + t * ld + n * kLanes));
    AddMultiples<KB, Bias::kNone>(weight, dout + t * kLanes, ld, nullptr, nullptr, sum);
  }
  LONGREACH_UNROLL for (int n = 0; n < KB; ++n) LONGREACH_UNROLL for (int j = 0; j < K; ++j) Store(dv + j * ld + n * kLanes, sum[n][j]);
}

// Adds to dq of QB queries, from `query` on, in registers over the keys of a block. Rows of ds are `ld` floats apart, as those of k.
template <int QB, Bias D>
LONGREACH_INLINE void QueryGradient(const Heads& a, int head, int query, const float* ds, const float* k, int key0, int keys, float* dq) {
  const int64_t ld = a.ld;
  const DistanceKeys<D> far0(a, head, query), far1(a, head, query + QB - 1);
  Lanes sum[QB][K];
  LONGREACH_UNROLL for (int i = 0; i < QB; ++i) LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
    sum[i][j] = key0 == 0 ? Zero() : Load(dq + j * ld + i * kLanes);
  }
  for (int s = 0; s < keys; ++s) {
    Lanes g[QB];
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) g[i] = Load(ds + i * ld + s * kLanes);
    AddMultiples<QB, D>(g, k + s * kLanes, ld, far0[key0 + s], far1[key0 + s], sum);
  }
  const float scale = key0 + keys == a.tape ? kInSums : 1.0f;
  LONGREACH_UNROLL for (int i = 0; i < QB; ++i) LONGREACH_UNROLL for (int j = 0; j < K; ++j) Store(dq + j * ld + i * kLanes, sum[i][j] * scale);
}

// Adds what a block of pairs makes of the gradients of the keys of their distances: q times the gradient of the logit.
template <Bias D>
LONGREACH_INLINE void DistanceKeyGradients(const Heads& a, int head, const HeadBack& b, int q0, int queries, int key0, int keys,
                                           const BiasGradient& dbias) {
  const int64_t ld = a.ld;
  const auto gradient = [&](int t, int s) __attribute__((always_inline)) { return Load(b.g + (t - q0) * ld + s * kLanes); };
  if constexpr (D == Bias::kByOffset) {
    // Pairs of one offset one after the other: their sum stays in registers.
    for (int offset = key0 - (q0 + queries - 1); offset < key0 + keys - q0; ++offset) {
      float* const at = dbias.key_lanes + (a.center + offset) * K * kLanes;
      Lanes sum[K];
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) sum[j] = Load(at + j * kLanes);
      const int last = static_cast<int>(Min(q0 + queries, key0 + keys - offset));
      for (int t = q0 > key0 - offset ? q0 : key0 - offset; t < last; ++t) {
        const Lanes ds = gradient(t, t + offset);
        LONGREACH_UNROLL for (int j = 0; j < K; ++j) sum[j] = Fma(ds, Load(b.q + j * ld + t * kLanes), sum[j]);
      }
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) Store(at + j * kLanes, sum[j]);
    }
  } else {
    for (int t = q0; t < q0 + queries; ++t) {
      for (int s = key0; s < key0 + keys; ++s) {
        float* const at = dbias.keys + (head * a.bias_stride + a.center + a.positions[s] - a.positions[t]) * K;
        const Lanes ds = gradient(t, s) * kInSums;
        LONGREACH_UNROLL for (int j = 0; j < K; ++j) at[j] += Sum(ds * Load(b.q + j * ld + t * kLanes));
      }
    }
  }
}

// Fills rows of dq from the first query on, and all of dk and dv, from the gradient `dout` of o.
//
// The gradient of a logit is p_s (g_s - sum p g), where g_s = dout v_s. Where one probability is nearly 1 that difference would be all
// rounding. It is the same for g less any constant: with dout o, which is near the g of that key, the numbers are small before they are
// subtracted from each other. What is left of the sum is 0 but for rounding; without it gradients of steep biases and of their queries are
// lost, as each key's share of it is the same error. Kernels of rounded operands leave it out, because those on GPUs do, which they stand for.
template <Bias B, bool trained, Bias D>
inline void AttendBackward(const Heads& a, const float* qkv, const float* o, const float* maximum, const float* inverse,
                           const float* dout, const BackSpace& space, float* dqkv, const BiasGradient& dbias) {
  const int64_t ld = a.ld, dim = a.heads * K;
  const int T = a.tape;
  const int blocks = (T + kKeys - 1) / kKeys, block = (T + blocks - 1) / blocks;
  alignas(64) float rest[kQueryBlock * kLanes];
  for (int h = 0; h < a.heads; ++h) {
    const HeadBack b = HeadOf(h, ld, dim, qkv, o, maximum, inverse, dout, space.pairs, dqkv);
    space.Fill(a, b);
    const int64_t far = D == Bias::kByOffset ? a.bias_stride * K : 0;
    for (int64_t i = 0; i < far; ++i) Store(dbias.key_lanes + i * kLanes, Zero());
    for (int q0 = a.first_query; q0 < T; q0 += kQueryBlock) {
      const int queries = static_cast<int>(Min(T - q0, kQueryBlock));
      for (int key0 = 0; key0 < T; key0 += block) {
        const int keys = static_cast<int>(Min(T - key0, block));
        int t = 0;
        for (; t + kQueriesAtATime <= queries; t += kQueriesAtATime) Pairs<kQueriesAtATime, B, D>(a, h, b, space, q0, t, key0, keys, rest);
        for (; t < queries; ++t) Pairs<1, B, D>(a, h, b, space, q0, t, key0, keys, rest);
      }
      if constexpr (kRounds) {
        LONGREACH_UNROLL for (int t = 0; t < kQueryBlock; ++t) Store(rest + t * kLanes, Zero());
      }
      for (int key0 = 0; key0 < T; key0 += block) {
        const int keys = static_cast<int>(Min(T - key0, block));
        const int end = key0 + keys;
        int s = key0, t = 0;
        for (; s + kKeysAtATime <= end; s += kKeysAtATime) KeyGradients<kKeysAtATime, B, trained>(a, h, b, space, q0, queries, s, rest, dbias);
        for (; s < end; ++s) KeyGradients<1, B, trained>(a, h, b, space, q0, queries, s, rest, dbias);
        const float *const ds = b.g + key0 * kLanes, *const k = b.k + key0 * kLanes;
        float* const dq = b.dq + q0 * kLanes;
        for (; t + kQueriesAtATime <= queries; t += kQueriesAtATime) {
          QueryGradient<kQueriesAtATime, D>(a, h, q0 + t, ds + t * ld, k, key0, keys, dq + t * kLanes);
        }
        for (; t < queries; ++t) QueryGradient<1, D>(a, h, q0 + t, ds + t * ld, k, key0, keys, dq + t * kLanes);
        if constexpr (D != Bias::kNone) DistanceKeyGradients<D>(a, h, b, q0, queries, key0, keys, dbias);
      }
    }
    for (int64_t i = 0; i < far; ++i) dbias.keys[h * far + i] += Sum(Load(dbias.key_lanes + i * kLanes)) * kInSums;
  }
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
