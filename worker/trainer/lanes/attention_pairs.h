// Attention (attention.h) where the machine multiplies pairs of bfloat16: the same blocks, with words of two operands along what is
// summed over. Of a head, words are made once for each use: along its features for logits, along keys or queries for the rest.
#pragma once

#include "worker/trainer/lanes/attention_backward.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

// Not where there is a matrix unit: by themselves such processors make half as many products of pairs in a time as of float32, and attention's are
// too small for the unit. It is made in float32 then (attention.h), of the same operands.
inline constexpr bool kAttendsPairs = kPairs && !kTiles;

inline constexpr int kFeatureWords = K / 2;

// Floats of a head's words along its features, and of those of pairs of positions.
LONGREACH_INLINE constexpr int64_t FeatureWordsSize(int tape) { return int64_t{tape} * kFeatureWords * kLanes; }
LONGREACH_INLINE constexpr int64_t PositionWordsSize(int tape) { return (int64_t{tape} + 1) / 2 * K * kLanes; }
// Of all that a head needs: keys along their features and pairs of values; on the way back four along their features and pairs of three.
LONGREACH_INLINE constexpr int64_t WordsSize(int tape, bool training) {
  return (training ? 4 : 1) * FeatureWordsSize(tape) + (training ? 3 : 1) * PositionWordsSize(tape);
}

// Rows of a head, [8][position][W], to words along the features: [position][4][W].
inline void FeatureWords(const float* x, int64_t ld, int first, int last, float* out) {
  for (int t = first; t < last; ++t) {
    LONGREACH_UNROLL for (int j = 0; j < kFeatureWords; ++j) {
      Store(out + (t * kFeatureWords + j) * kLanes, Pair(Load(x + 2 * j * ld + t * kLanes), Load(x + (2 * j + 1) * ld + t * kLanes)));
    }
  }
}

// To words of two positions, [pair][8][W]; with an odd number of positions the last one's second operand is 0.
inline void PositionWords(const float* x, int64_t ld, int first, int last, float* out) {
  for (int t = first; t < last; t += 2, out += K * kLanes) {
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      const float* at = x + j * ld + t * kLanes;
      Store(out + j * kLanes, Pair(Load(at), t + 1 < last ? Load(at + kLanes) : Zero()));
    }
  }
}

// Blocks of about the same number of keys, which is even.
LONGREACH_INLINE int EvenBlock(int tape, int most) {
  const int blocks = (tape + most - 1) / most, block = (tape + blocks - 1) / blocks;
  return block + block % 2;
}

template <int QB, Bias B>
inline void AttendBlockPairs(const Heads& a, int head, const float* q, const float* key_words, const float* value_words, int query, int key0,
                             int keys, float* o, float* maximum, float* sum) {
  const int64_t ld = a.ld;
  const bool first = key0 == 0;
  alignas(64) float logits[kKeys * QB * kLanes];
  Lanes top[QB];
  q += query * kLanes;
  o += query * kLanes;
  maximum += query * kLanes;
  sum += query * kLanes;
  key_words += key0 * kFeatureWords * kLanes;
  value_words += key0 / 2 * K * kLanes;
  {
    Lanes words[QB][kFeatureWords];
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) LONGREACH_UNROLL for (int j = 0; j < kFeatureWords; ++j) {
      words[i][j] = Pair(Load(q + 2 * j * ld + i * kLanes), Load(q + (2 * j + 1) * ld + i * kLanes));
    }
    const BiasRow<B> bias0(a, head, query), bias1(a, head, query + QB - 1);
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) top[i] = first ? Splat(-1e30f) : Load(maximum + i * kLanes);
    for (int s = 0; s < keys; ++s) {
      Lanes dot[QB];
      LONGREACH_UNROLL for (int i = 0; i < QB; ++i) dot[i] = Zero();
      LONGREACH_UNROLL for (int j = 0; j < kFeatureWords; ++j) {
        const Lanes key = Load(key_words + (s * kFeatureWords + j) * kLanes);
        LONGREACH_UNROLL for (int i = 0; i < QB; ++i) dot[i] = Dot(words[i][j], key, dot[i]);
      }
      LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
        const Lanes logit = Fma(dot[i], Splat(kLogitScale), (i == 0 ? bias0 : bias1)[key0 + s]);
        Store(logits + (s * QB + i) * kLanes, logit);
        top[i] = Max(top[i], logit);
      }
    }
  }
  Lanes ov[QB][K], total[QB];
  TakeUp<QB>(o, ld, maximum, sum, first, top, ov, total);
  for (int s = 0; s < keys; s += 2, value_words += K * kLanes) {
    Lanes words[QB];
    LONGREACH_UNROLL for (int i = 0; i < QB; ++i) {
      const Lanes p = Exp2(Load(logits + (s * QB + i) * kLanes) - top[i]);
      const Lanes next = s + 1 < keys ? Exp2(Load(logits + ((s + 1) * QB + i) * kLanes) - top[i]) : Zero();
      total[i] = total[i] + p + next;
      words[i] = Pair(p, next);
    }
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      const Lanes value = Load(value_words + j * kLanes);
      LONGREACH_UNROLL for (int i = 0; i < QB; ++i) ov[i][j] = Dot(words[i], value, ov[i][j]);
    }
  }
  PutDown<QB>(o, ld, sum, ov, total);
}

// Attend() with words; `space`: WordsSize().
template <Bias B>
inline void AttendPairs(const Heads& a, const float* qkv, float* o, float* maximum, float* inverse, float* space) {
  const int64_t ld = a.ld, dim = a.heads * K;
  const int block = EvenBlock(a.tape, kKeys);
  float *const key_words = space, *const value_words = space + FeatureWordsSize(a.tape);
  for (int h = 0; h < a.heads; ++h) {
    const float *q = qkv + h * K * ld, *k = q + dim * ld, *v = k + dim * ld;
    float *oh = o + h * K * ld, *m = maximum + h * ld, *l = inverse + h * ld;
    FeatureWords(k, ld, 0, a.tape, key_words);
    PositionWords(v, ld, 0, a.tape, value_words);
    for (int key0 = 0; key0 < a.tape; key0 += block) {
      const int keys = static_cast<int>(Min(a.tape - key0, block));
      int t = a.first_query;
      for (; t + 2 <= a.tape; t += 2) AttendBlockPairs<2, B>(a, h, q, key_words, value_words, t, key0, keys, oh, m, l);
      for (; t < a.tape; ++t) AttendBlockPairs<1, B>(a, h, q, key_words, value_words, t, key0, keys, oh, m, l);
    }
    FinishOutputs(a, oh, l);
  }
}

// The words of a head on its way back: along the features of queries, keys, values and the gradient of the output; of pairs of queries
// and of their gradients of the output, from the first query on; of pairs of keys.
struct HeadWords {
  float *queries, *keys, *values, *dout;
  float *query_pairs, *dout_pairs, *key_pairs;

  HeadWords(const Heads& a, float* space) {
    const int64_t along = FeatureWordsSize(a.tape), pairs = PositionWordsSize(a.tape);
    queries = space;
    keys = queries + along;
    values = keys + along;
    dout = values + along;
    query_pairs = dout + along;
    dout_pairs = query_pairs + pairs;
    key_pairs = dout_pairs + pairs;
  }
  void Fill(const Heads& a, const HeadBack& b) {
    FeatureWords(b.q, a.ld, a.first_query, a.tape, queries);
    FeatureWords(b.k, a.ld, 0, a.tape, keys);
    FeatureWords(b.v, a.ld, 0, a.tape, values);
    FeatureWords(b.dout, a.ld, a.first_query, a.tape, dout);
    PositionWords(b.q, a.ld, a.first_query, a.tape, query_pairs);
    PositionWords(b.dout, a.ld, a.first_query, a.tape, dout_pairs);
    PositionWords(b.k, a.ld, 0, a.tape, key_pairs);
  }
};

// Fills p and g for some queries and all keys; and zeros for one more query, if their number is odd.
template <Bias B>
LONGREACH_INLINE void GradientsOfProbabilitiesPairs(const Heads& a, int head, const HeadBack& b, const HeadWords& w, int q0, int queries) {
  const int64_t ld = a.ld;
  for (int t = q0; t < q0 + queries; ++t) {
    Lanes q[kFeatureWords], d[kFeatureWords], dot = Zero();
    LONGREACH_UNROLL for (int j = 0; j < kFeatureWords; ++j) {
      q[j] = Load(w.queries + (t * kFeatureWords + j) * kLanes);
      d[j] = Load(w.dout + (t * kFeatureWords + j) * kLanes);
    }
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) dot = Fma(Load(b.o + j * ld + t * kLanes), Load(b.dout + j * ld + t * kLanes), dot);
    const Lanes top = Load(b.maximum + t * kLanes), inverse = Load(b.inverse + t * kLanes);
    float *pt = b.p + (t - q0) * ld, *gt = b.g + (t - q0) * ld;
    const BiasRow<B> bias(a, head, t);
    for (int s = 0; s < a.tape; ++s) {
      Lanes logit = Zero(), g = Zero() - dot;
      LONGREACH_UNROLL for (int j = 0; j < kFeatureWords; ++j) {
        logit = Dot(q[j], Load(w.keys + (s * kFeatureWords + j) * kLanes), logit);
        g = Dot(d[j], Load(w.values + (s * kFeatureWords + j) * kLanes), g);
      }
      Store(pt + s * kLanes, Exp2(Fma(logit, Splat(kLogitScale), bias[s] - top)) * inverse);
      Store(gt + s * kLanes, g);
    }
  }
  if (queries % 2 == 0) return;
  for (int s = 0; s < a.tape; ++s) {
    Store(b.p + queries * ld + s * kLanes, Zero());
    Store(b.g + queries * ld + s * kLanes, Zero());
  }
}

// KeyGradients() with words. The gradients of the logits that it leaves are not rounded.
template <Bias B, bool trained>
LONGREACH_INLINE void KeyGradientsPairs(const Heads& a, int head, const HeadBack& b, const HeadWords& w, int q0, int queries,
                                        const BiasGradient& dbias) {
  const int64_t ld = a.ld;
  const bool first = q0 == a.first_query;
  const int64_t words = (q0 - a.first_query) / 2 * K * kLanes;
  for (int s = 0; s < a.tape; ++s) {
    float *x = b.dk + s * kLanes, *y = b.dv + s * kLanes;
    Lanes gk[K], gv[K];
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      gk[j] = first ? Zero() : Load(x + j * ld);
      gv[j] = first ? Zero() : Load(y + j * ld);
    }
    const float *query = w.query_pairs + words, *dout = w.dout_pairs + words;
    for (int t = 0; t < queries; t += 2, query += K * kLanes, dout += K * kLanes) {
      Lanes p[2], ds[2];
      LONGREACH_UNROLL for (int i = 0; i < 2; ++i) {
        float* const gt = b.g + (t + i) * ld + s * kLanes;
        p[i] = Load(b.p + (t + i) * ld + s * kLanes);
        const Lanes whole = p[i] * Load(gt);
        ds[i] = whole * kInverseRootK;
        Store(gt, ds[i]);
        if (!trained || t + i >= queries) continue;
        const int at = q0 + t + i;
        if constexpr (B == Bias::kByOffset) {
          float* const sum = dbias.lanes + (head * a.bias_stride + a.center + s - at) * kLanes;
          Store(sum, Load(sum) + whole);
        }
        if constexpr (B == Bias::kByPosition) {
          dbias.table[head * a.bias_stride + a.center + a.positions[s] - a.positions[at]] += Sum(whole);
        }
        if constexpr (B == Bias::kByPair) dbias.table[head * a.bias_stride + int64_t{at} * a.tape + s] += Sum(whole);
      }
      const Lanes ds_words = Pair(ds[0], ds[1]), p_words = Pair(p[0], p[1]);
      LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
        gk[j] = Dot(ds_words, Load(query + j * kLanes), gk[j]);
        gv[j] = Dot(p_words, Load(dout + j * kLanes), gv[j]);
      }
    }
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      Store(x + j * ld, gk[j]);
      Store(y + j * ld, gv[j]);
    }
  }
}

// dq of N queries, whose gradients of the logits begin at ds, in registers over all keys.
template <int N>
LONGREACH_INLINE void QueryGradientPairs(const Heads& a, const HeadWords& w, const float* ds, float* dq) {
  const int64_t ld = a.ld;
  Lanes g[N][K];
  LONGREACH_UNROLL for (int i = 0; i < N; ++i) LONGREACH_UNROLL for (int j = 0; j < K; ++j) g[i][j] = Zero();
  const float* key = w.key_pairs;
  for (int s = 0; s < a.tape; s += 2, key += K * kLanes) {
    Lanes words[N];
    LONGREACH_UNROLL for (int i = 0; i < N; ++i) {
      const float* at = ds + i * ld + s * kLanes;
      words[i] = Pair(Load(at), s + 1 < a.tape ? Load(at + kLanes) : Zero());
    }
    LONGREACH_UNROLL for (int j = 0; j < K; ++j) {
      const Lanes k = Load(key + j * kLanes);
      LONGREACH_UNROLL for (int i = 0; i < N; ++i) g[i][j] = Dot(words[i], k, g[i][j]);
    }
  }
  LONGREACH_UNROLL for (int i = 0; i < N; ++i) LONGREACH_UNROLL for (int j = 0; j < K; ++j) Store(dq + j * ld + i * kLanes, g[i][j]);
}

// AttendBackward() with words; `space`: WordsSize().
template <Bias B, bool trained>
inline void AttendBackwardPairs(const Heads& a, const float* qkv, const float* o, const float* maximum, const float* inverse, const float* dout,
                                float* pairs, float* dqkv, const BiasGradient& dbias, float* space) {
  const int64_t ld = a.ld, dim = a.heads * K;
  HeadWords words(a, space);
  for (int h = 0; h < a.heads; ++h) {
    const HeadBack b = HeadOf(h, ld, dim, qkv, o, maximum, inverse, dout, pairs, dqkv);
    words.Fill(a, b);
    for (int q0 = a.first_query; q0 < a.tape; q0 += kQueryBlock) {
      const int queries = static_cast<int>(Min(a.tape - q0, kQueryBlock));
      GradientsOfProbabilitiesPairs<B>(a, h, b, words, q0, queries);
      KeyGradientsPairs<B, trained>(a, h, b, words, q0, queries, dbias);
      int t = 0;
      for (; t + 2 <= queries; t += 2) QueryGradientPairs<2>(a, words, b.g + t * ld, b.dq + (q0 + t) * kLanes);
      for (; t < queries; ++t) QueryGradientPairs<1>(a, words, b.g + t * ld, b.dq + (q0 + t) * kLanes);
    }
  }
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
