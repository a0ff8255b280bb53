// Softmax attention over a tape, heads of 8 features. Keys are taken a block at a time with a running maximum and sum, so the same
// code serves a tape of 2 and of 1500. The way back is attention_backward.h.
//
// 1/sqrt(8) and log2(e) are multiplied into the queries, log2(e) into the table of biases: softmax is made of 2^x.
#pragma once

#include "worker/trainer/lanes/kernels.h"
#include "worker/trainer/lanes/products.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

inline constexpr int K = kHeadDim;
inline constexpr float kInverseRootK = 0.353553390593273762f;
inline constexpr float kLogitScale = kLog2e * kInverseRootK;
inline constexpr int kKeys = 28;  // Keys and values of a block stay in the first cache, or nearly.

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
      : at(B == Bias::kNone   ? nullptr
           : B == Bias::kByPair ? a.bias + head * a.bias_stride + int64_t{query} * a.tape
                                : a.bias + head * a.bias_stride + a.center - (B == Bias::kByPosition ? a.positions[query] : query)),
        positions(a.positions) {}
  LONGREACH_INLINE Lanes operator[](int key) const {
    if constexpr (B == Bias::kNone) return Zero();
    if constexpr (B == Bias::kByOffset || B == Bias::kByPair) return Splat(at[key]);
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
template <Bias D>
LONGREACH_INLINE Lanes WithDistance(Lanes key, [[maybe_unused]] const float* distance_key, [[maybe_unused]] int feature) {
  if constexpr (D == Bias::kNone) return key;
  return key + distance_key[feature];
}

// sum[i] += a[i] b over the features of one key or value, rows of b being `ld` floats apart; with what the distances of the first query and of the
// others add to it.
template <int QB, Bias D>
LONGREACH_INLINE void AddDots(const Lanes (&a)[QB][K], const float* b, int64_t ld, const float* first_far, const float* others_far, Lanes (&sum)[QB]) {
  LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
    const Lanes feature = LoadOnce(b + j * ld);
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) sum[i] = Fma(a[i][j], WithDistance<D>(feature, i == 0 ? first_far : others_far, j), sum[i]);
  }
}

// sum[i] += a[i] b, feature by feature of the same.
template <int QB, Bias D>
LONGREACH_INLINE void AddMultiples(const Lanes (&a)[QB], const float* b, int64_t ld, const float* first_far, const float* others_far,
                                   Lanes (&sum)[QB][K]) {
  LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
    const Lanes feature = LoadOnce(b + j * ld);
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) sum[i][j] = Fma(a[i], WithDistance<D>(feature, i == 0 ? first_far : others_far, j), sum[i][j]);
  }
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
      qv[i][j] = Load(q + j * ld + i * kLanes) * kLogitScale;
    }
    const BiasRow<B> bias0(a, head, query), bias1(a, head, query + QB - 1);
    const DistanceKeys<D> far0(a, head, query), far1(a, head, query + QB - 1);
    // Not -inf: inf - inf would be NaN.
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) top[i] = first ? Splat(-1e30f) : Load(maximum + i * kLanes);
    for (int s = 0; s < keys; ++s) {
      Lanes logit[QB];
      LONGREACH_UNROLL for (int i = 0; i < QB; ++i) logit[i] = (i == 0 ? bias0 : bias1)[key0 + s];
      AddDots<QB, D>(qv, k + s * kLanes, ld, far0[key0 + s], far1[key0 + s], logit);
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
    AddMultiples<QB, Bias::kNone>(p, v + s * kLanes, ld, nullptr, nullptr, ov);
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

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
