// Softmax attention over a tape, both directions, heads of 8 features. Keys are taken a block at a time with a running
// maximum and sum, so the same code serves a tape of 2 and of 1500.
//
// 1/sqrt(8) and log2(e) are multiplied into the queries, log2(e) into the table of biases: softmax is made of 2^x.
#pragma once

#include "worker/trainer/lanes/kernels.h"
#include "worker/trainer/lanes/products.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

inline constexpr int K = kHeadDim;
inline constexpr float kInverseRootK = 0.353553390593273762f;
inline constexpr int kKeys = 28;        // Forward: keys and values of a block stay in the first cache.
inline constexpr int kQueryBlock = 8;   // Backward.
inline constexpr int kKeyBlock = 14;

// What an attention reads and writes: rows of heads, [H 8][position][W]; maximum and sums [H][position][W]. Queries, keys,
// values and the gradient of the output come, and the output goes, as operands.
struct Heads {
  int64_t ld = 0;
  int heads = 0;
  int tape = 0;
  int first_query = 0;  // Only positions from here on ask.
  const float* bias = nullptr;          // [H][bias_stride].
  int64_t bias_stride = 0;
  int64_t center = 0;
  const int32_t* positions = nullptr;
  const float* distance_keys = nullptr;  // [H][bias_stride][8], operands.
};

// The biases of one query, by key.
template <Bias B>
struct BiasRow {
  const float* at;
  const int32_t* positions;

  LONGREACH_INLINE BiasRow(const Heads& a, int head, int query)
      : at(B == Bias::kNone ? nullptr
                            : a.bias + head * a.bias_stride + a.center - (B == Bias::kByPosition ? a.positions[query] : query)),
        positions(a.positions) {}
  LONGREACH_INLINE Lanes operator[](int key) const {
    if constexpr (B == Bias::kNone) return Zero();
    if constexpr (B == Bias::kByOffset) return Splat(at[key]);
    return Splat(at[positions[key]]);
  }
};

// What distances add to the keys, for one query: a scalar for each feature, the same in all sequences.
template <Bias B>
struct DistanceKeys {
  const float* at;
  const int32_t* positions;

  LONGREACH_INLINE DistanceKeys(const Heads& a, int head, int query)
      : at(a.distance_keys + (head * a.bias_stride + a.center - (B == Bias::kByPosition ? a.positions[query] : query)) * K),
        positions(a.positions) {}
  LONGREACH_INLINE const float* operator[](int key) const { return at + int64_t{B == Bias::kByPosition ? positions[key] : key} * K; }
};

// Of no distance.
template <>
struct DistanceKeys<Bias::kNone> {
  LONGREACH_INLINE DistanceKeys(const Heads&, int, int) {}
  LONGREACH_INLINE const float* operator[](int) const { return nullptr; }
};

// A feature of a key, with what its distance adds to it.
template <Bias B>
LONGREACH_INLINE Lanes KeyAt(const float* key, [[maybe_unused]] const float* distance_key, [[maybe_unused]] int feature) {
  if constexpr (B == Bias::kNone) return Load(key);
  return Load(key) + distance_key[feature];
}

// Outputs and sums of QB queries so far, brought to a new maximum, which is left; zeros before the first block of keys.
template <int QB>
LONGREACH_INLINE void TakeUp(const float* o, int64_t ld, float* maximum, const float* sum, bool first, const Lanes (&top)[QB],
                             Lanes (&ov)[QB][K], Lanes (&total)[QB]) {
  LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
    if (first) {
      total[i] = Zero();
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) ov[i][j] = Zero();
    } else {
      const Lanes shrink = Exp2(Load(maximum + i * kLanes) - top[i]);
      total[i] = Load(sum + i * kLanes) * shrink;
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) ov[i][j] = Load(o + j * ld + i * kLanes) * shrink;
    }
    Store(maximum + i * kLanes, top[i]);
  }
}

// Leaves them for the next block of keys.
template <int QB>
LONGREACH_INLINE void PutDown(float* o, int64_t ld, float* sum, const Lanes (&ov)[QB][K], const Lanes (&total)[QB]) {
  LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
    Store(sum + i * kLanes, total[i]);
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) Store(o + j * ld + i * kLanes, ov[i][j]);
  }
}

// D: how distances have keys; kNone: they have none. Else as B.
template <int QB, Bias B, Bias D>
inline void AttendBlock(const Heads& a, int head, const float* q, const float* k, const float* v, int query, int key0, int keys,
                        float* o, float* maximum, float* sum) {
  const int64_t ld = a.ld;
  const bool first = key0 == 0;
  alignas(64) float logits[kKeys * QB * kLanes];
  Lanes top[QB];
  q += query * kLanes;
  o += query * kLanes;
  maximum += query * kLanes;
  sum += query * kLanes;
  k += key0 * kLanes;
  v += key0 * kLanes;
  {
    Lanes qv[QB][K];
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      qv[i][j] = Load(q + j * ld + i * kLanes) * (kLog2e * kInverseRootK);
    }
    const BiasRow<B> bias0(a, head, query), bias1(a, head, query + QB - 1);
    const DistanceKeys<D> far0(a, head, query), far1(a, head, query + QB - 1);
    // Not -inf: inf - inf would be NaN.
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) top[i] = first ? Splat(-1e30f) : Load(maximum + i * kLanes);
    for (int s = 0; s < keys; ++s) {
      Lanes logit[QB];
      LONGREACH_UNROLL for (int i = 0; i < QB; ++i) logit[i] = (i == 0 ? bias0 : bias1)[key0 + s];
      const float *key0_far = far0[key0 + s], *key1_far = far1[key0 + s];
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
        LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
          logit[i] = Fma(qv[i][j], KeyAt<D>(k + j * ld + s * kLanes, i == 0 ? key0_far : key1_far, j), logit[i]);
        }
      }
      LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
        Store(logits + (s * QB + i) * kLanes, logit[i]);
        top[i] = Max(top[i], logit[i]);
      }
    }
  }
  Lanes ov[QB][K], total[QB];
  TakeUp<QB>(o, ld, maximum, sum, first, top, ov, total);
  for (int s = 0; s < keys; ++s) {
    Lanes p[QB];
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
      p[i] = Exp2(Load(logits + (s * QB + i) * kLanes) - top[i]);
      total[i] = total[i] + p[i];
      if constexpr (kRounds) p[i] = Operand(p[i]);
    }
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      const Lanes vv = Load(v + j * ld + s * kLanes);
      LONGREACH_UNROLL for (int i = 0; i < QB; ++i) ov[i][j] = Fma(p[i], vv, ov[i][j]);
    }
  }
  PutDown<QB>(o, ld, sum, ov, total);
}

// Divides a head's outputs by the sums, and leaves 1/sum in place of these.
inline void FinishOutputs(const Heads& a, float* o, float* sums) {
  for (int t = a.first_query; t < a.tape; ++t) {
    const Lanes inverse = 1.0f / Load(sums + t * kLanes);
    Store(sums + t * kLanes, inverse);
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) Store(o + j * a.ld + t * kLanes, Operand(Load(o + j * a.ld + t * kLanes) * inverse));
  }
}

// o = softmax(q k / sqrt(8) + bias) v. Leaves the maximum of the logits (times log2(e)) and 1/sum for the way back.
template <Bias B, Bias D>
inline void Attend(const Heads& a, const float* qkv, float* o, float* maximum, float* inverse) {
  const int64_t ld = a.ld, dim = a.heads * K;
  const int blocks = (a.tape + kKeys - 1) / kKeys, block = (a.tape + blocks - 1) / blocks;
  for (int h = 0; h < a.heads; ++h) {
    const float *q = qkv + h * K * ld, *k = q + dim * ld, *v = k + dim * ld;
    float *oh = o + h * K * ld, *m = maximum + h * ld, *l = inverse + h * ld;
    for (int key0 = 0; key0 < a.tape; key0 += block) {
      const int keys = static_cast<int>(Min(a.tape - key0, block));
      int t = a.first_query;
      for (; t + kQueriesAtATime <= a.tape; t += kQueriesAtATime) AttendBlock<kQueriesAtATime, B, D>(a, h, q, k, v, t, key0, keys, oh, m, l);
      for (; t < a.tape; ++t) AttendBlock<1, B, D>(a, h, q, k, v, t, key0, keys, oh, m, l);
    }
    FinishOutputs(a, oh, l);
  }
}

// dq of N queries from `query` on, in registers over the keys of a block from key0 on. Rows of ds are `ld` floats apart, as
// those of k.
template <int N, Bias D>
LONGREACH_INLINE void QueryGradient(const Heads& a, int head, int query, const float* ds, const float* k, int key0, int keys, float* dq,
                                    bool first) {
  const int64_t ld = a.ld;
  const DistanceKeys<D> far0(a, head, query), far1(a, head, query + N - 1);
  Lanes g[N][K];
  LONGREACH_UNROLL for (int i = 0; i < N; ++i) LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
    g[i][j] = first ? Zero() : Load(dq + j * ld + i * kLanes);
  }
  for (int s = 0; s < keys; ++s) {
    Lanes d[N];
    LONGREACH_UNROLL for (int i = 0; i < N; ++i) d[i] = Load(ds + i * ld + s * kLanes);
    const float *key0_far = far0[key0 + s], *key1_far = far1[key0 + s];
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      LONGREACH_UNROLL for (int i = 0; i < N; ++i) {
        g[i][j] = Fma(d[i], KeyAt<D>(k + j * ld + s * kLanes, i == 0 ? key0_far : key1_far, j), g[i][j]);
      }
    }
  }
  LONGREACH_UNROLL for (int i = 0; i < N; ++i) LONGREACH_UNROLL for (int j = 0; j < K; ++j) Store(dq + j * ld + i * kLanes, g[i][j]);
}

// Where the gradients of the biases and of the keys of distances go.
struct BiasGradient {
  float* lanes = nullptr;  // kByOffset: [H][bias_stride][W], added to, reduced by the caller.
  float* table = nullptr;  // kByPosition: [H][bias_stride], added to.
  float* key_lanes = nullptr;  // kByOffset: [bias_stride][8][W] to work in.
  float* keys = nullptr;       // [H][bias_stride][8], added to.
};

// One head on its way back.
struct HeadBack {
  const float *q, *k, *v, *o, *maximum, *inverse, *dout;
  float *dq, *dk, *dv;
  float *p, *g;  // [kQueryBlock][T][W] each: probabilities, and their gradients less a constant of the query.
};

inline HeadBack HeadOf(int head, int64_t ld, int64_t dim, const float* qkv, const float* o, const float* maximum, const float* inverse,
                       const float* dout, float* pairs, float* dqkv) {
  const int64_t row = head * K * ld;
  return {.q = qkv + row, .k = qkv + row + dim * ld, .v = qkv + row + 2 * dim * ld, .o = o + row, .maximum = maximum + head * ld,
          .inverse = inverse + head * ld, .dout = dout + row, .dq = dqkv + row, .dk = dqkv + row + dim * ld,
          .dv = dqkv + row + 2 * dim * ld, .p = pairs, .g = pairs + kQueryBlock * ld};
}

// Fills p and g for some queries and all keys, and `rest`, by query: the sum of p g, which is 0 but for rounding. Kernels of rounded
// operands leave it out, because those on GPUs do, which they stand for: what that costs is to be seen.
template <Bias B, Bias D>
LONGREACH_INLINE void GradientsOfProbabilities(const Heads& a, int head, const HeadBack& b, int q0, int queries, int block, float* rest) {
  const int64_t ld = a.ld;
  for (int key0 = 0; key0 < a.tape; key0 += block) {
    const int keys = static_cast<int>(Min(a.tape - key0, block));
    const float *k = b.k + key0 * kLanes, *v = b.v + key0 * kLanes;
    for (int t = q0; t < q0 + queries; ++t) {
      Lanes q[K], d[K], dot = Zero();
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
        q[j] = Load(b.q + j * ld + t * kLanes) * (kLog2e * kInverseRootK);
        d[j] = Load(b.dout + j * ld + t * kLanes);
        dot = Fma(Load(b.o + j * ld + t * kLanes), d[j], dot);
      }
      const Lanes top = Load(b.maximum + t * kLanes), inverse = Load(b.inverse + t * kLanes);
      float *pt = b.p + (t - q0) * ld + key0 * kLanes, *gt = b.g + (t - q0) * ld + key0 * kLanes;
      float* rest_t = rest + (t - q0) * kLanes;
      Lanes sum = key0 == 0 ? Zero() : Load(rest_t);
      const BiasRow<B> bias(a, head, t);
      const DistanceKeys<D> far(a, head, t);
      for (int i = 0; i < keys; ++i) {
        const float* key_far = far[key0 + i];
        Lanes logit = bias[key0 + i] - top, g = Zero() - dot;
        LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
          logit = Fma(q[j], KeyAt<D>(k + j * ld + i * kLanes, key_far, j), logit);
          g = Fma(d[j], Load(v + j * ld + i * kLanes), g);
        }
        const Lanes p = Exp2(logit) * inverse;
        sum = Fma(p, g, sum);
        Store(pt + i * kLanes, p);
        Store(gt + i * kLanes, g);
      }
      Store(rest_t, kRounds ? Zero() : sum);
    }
  }
}

// Adds what some queries make of dk and dv of a block of keys, in registers over the queries; and leaves the gradients of
// the logits, times 1/sqrt(8), where g was.
template <Bias B, bool trained>
LONGREACH_INLINE void KeyGradients(const Heads& a, int head, const HeadBack& b, int q0, int queries, int key0, int keys, bool first,
                                   const float* rest, const BiasGradient& dbias) {
  const int64_t ld = a.ld;
  for (int s = key0; s < key0 + keys; ++s) {
    float *x = b.dk + s * kLanes, *y = b.dv + s * kLanes;
    Lanes gk[K], gv[K];
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      gk[j] = first ? Zero() : Load(x + j * ld);
      gv[j] = first ? Zero() : Load(y + j * ld);
    }
    for (int t = 0; t < queries; ++t) {
      float* const gt = b.g + t * ld + s * kLanes;
      const Lanes p = Load(b.p + t * ld + s * kLanes), whole = p * (Load(gt) - Load(rest + t * kLanes)), ds = Operand(whole * kInverseRootK);
      Store(gt, ds);
      if constexpr (trained && B == Bias::kByOffset) {
        float* const at = dbias.lanes + (head * a.bias_stride + a.center + s - (q0 + t)) * kLanes;
        Store(at, Load(at) + whole);
      }
      if constexpr (trained && B == Bias::kByPosition) {
        dbias.table[head * a.bias_stride + a.center + a.positions[s] - a.positions[q0 + t]] += Sum(whole);
      }
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
        gk[j] = Fma(ds, Load(b.q + j * ld + (q0 + t) * kLanes), gk[j]);
        gv[j] = Fma(Operand(p), Load(b.dout + j * ld + (q0 + t) * kLanes), gv[j]);
      }
    }
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      Store(x + j * ld, gk[j]);
      Store(y + j * ld, gv[j]);
    }
  }
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
        const Lanes ds = gradient(t, s);
        LONGREACH_UNROLL for (int j = 0; j < K; ++j) at[j] += Sum(ds * Load(b.q + j * ld + t * kLanes));
      }
    }
  }
}

// Fills rows of dq from the first query on, and all of dk and dv, from the gradient `dout` of o. Probabilities are made
// again. `pairs`: [2 kQueryBlock][T][W] to work in, that stay in the second cache.
//
// The gradient of a logit is p_s (g_s - sum p g), where g_s = dout v_s. Where one probability is nearly 1 that difference
// would be all rounding. It is the same for g less any constant: with dout o, which is near the g of that key, the numbers
// are small before they are subtracted from each other.
template <Bias B, bool trained, Bias D>
inline void AttendBackward(const Heads& a, const float* qkv, const float* o, const float* maximum, const float* inverse,
                           const float* dout, float* pairs, float* dqkv, const BiasGradient& dbias) {
  const int64_t ld = a.ld, dim = a.heads * K;
  const int T = a.tape;
  const int blocks = (T + kKeyBlock - 1) / kKeyBlock, block = (T + blocks - 1) / blocks;
  alignas(64) float rest[kQueryBlock * kLanes];
  for (int h = 0; h < a.heads; ++h) {
    const HeadBack b = HeadOf(h, ld, dim, qkv, o, maximum, inverse, dout, pairs, dqkv);
    const int64_t far = D == Bias::kByOffset ? a.bias_stride * K : 0;
    for (int64_t i = 0; i < far; ++i) Store(dbias.key_lanes + i * kLanes, Zero());
    for (int q0 = a.first_query; q0 < T; q0 += kQueryBlock) {
      const int queries = static_cast<int>(Min(T - q0, kQueryBlock));
      GradientsOfProbabilities<B, D>(a, h, b, q0, queries, block, rest);
      for (int key0 = 0; key0 < T; key0 += block) {
        const int keys = static_cast<int>(Min(T - key0, block));
        KeyGradients<B, trained>(a, h, b, q0, queries, key0, keys, q0 == a.first_query, rest, dbias);
        const float *ds = b.g + key0 * kLanes, *k = b.k + key0 * kLanes;
        int t = 0;
        for (; t + kQueriesAtATime <= queries; t += kQueriesAtATime) {
          QueryGradient<kQueriesAtATime, D>(a, h, q0 + t, ds + t * ld, k, key0, keys, b.dq + (q0 + t) * kLanes, key0 == 0);
        }
        for (; t < queries; ++t) QueryGradient<1, D>(a, h, q0 + t, ds + t * ld, k, key0, keys, b.dq + (q0 + t) * kLanes, key0 == 0);
        if constexpr (D != Bias::kNone) DistanceKeyGradients<D>(a, h, b, q0, queries, key0, keys, dbias);
      }
    }
    for (int64_t i = 0; i < far; ++i) dbias.keys[h * far + i] += Sum(Load(dbias.key_lanes + i * kLanes));
  }
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
