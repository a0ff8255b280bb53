// The parts of a layer beside attention, forward and backward, a block of positions at a time: what a block needs stays in
// the first cache. What the way back needs is kept per layer; everything else of a thread is one workspace.
#pragma once

#include "worker/trainer/lanes/attention_pairs.h"

namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE {

// Where a layer's packed weights begin: forward, and backward (with matrices transposed).
struct PackedLayer {
  int64_t qkv, o, mlp1, mlp2;
  int64_t qkv_back, o_back, mlp1_back, mlp2_back;
  int64_t size;

  explicit PackedLayer(const Model& m) {
    const int64_t square = PackedFloats(m.dim, m.dim), to_mlp = PackedFloats(m.dim, m.mlp), from_mlp = PackedFloats(m.mlp, m.dim);
    qkv = 0;
    o = 3 * square;
    mlp1 = o + square;
    mlp2 = mlp1 + to_mlp;
    qkv_back = mlp2 + from_mlp;
    o_back = qkv_back + 3 * square;
    mlp1_back = o_back + square;
    mlp2_back = mlp1_back + from_mlp;
    size = mlp2_back + to_mlp;
  }
};

// Classes as the products want them.
LONGREACH_INLINE int PaddedClasses(const Model& m) { return (m.classes + kPanel - 1) / kPanel * kPanel; }

// What is kept of a layer: queries, keys and values, attention's output, maximum and 1/sum, the normalised inputs and 1/deviation of both norms,
// the MLP's hidden features (OperandRows(), as their gradient). What goes into the MLP and into the next layer is scaled and shifted `norm1` and
// `norm2`, and is made again: the less is kept, the more of it stays in the second cache. Of pre-norm blocks these are what goes into attention and
// into the MLP.
struct Kept {
  float *qkv, *o, *maximum, *inverse, *norm1, *hidden, *norm2, *deviation1, *deviation2;
};

// Floats of a row that has one for each token.
inline constexpr int kTokenRow = 16;

// Positions whose gradients of weights are made together: hidden features and their gradient stay in the second cache. A multiple of three, and
// of two, so that no tile of the matrix unit is half empty.
inline constexpr int kGradientPositions = 12;
inline constexpr int64_t kChunkLd = (kGradientPositions | 1) * kLanes;  // Of rows of so many positions: an odd number of cache lines.

// One thread's workspace.
struct Work {
  Kept layer[kMaxLayers];
  float *first_h, *h;  // What the first layer gets, kept for the way back; what each of the others gets, and the head, in place of one another.
  float* dh;           // The gradients of these, likewise in place.
  float *df, *da, *dhidden;  // Of kGradientPositions.
  float *dout, *dqkv, *tokens, *dbias, *dkeys, *sums, *logits;
  float *z, *u, *du;  // Of one block: [D][TB][W].
  float *operands = nullptr, *words = nullptr;  // Of products of rounded operands; of attention's pairs.
  BackSpace back;                               // Of one head.
  float* distance_keys = nullptr;               // Of one layer, as operands; null where those are not rounded.
  // Of all tokens (first_layer.h): features, queries, keys and values, and the gradients of these.
  float *token_h, *token_qkv, *token_dqkv;
  float *final_norm = nullptr, *final_deviation = nullptr;  // Of pre-norm blocks, as Kept has them: of what the head reads.
  int64_t ld = 0;      // An odd number of cache lines: rows do not collide in the first cache.
  int64_t floats = 0;  // Of all.

  // With base == nullptr only the size is made.
  Work(const Model& m, const Pass& pass, bool training, float* base) {
    ld = static_cast<int64_t>(pass.tape | 1) * kLanes;
    const auto take = [&](int64_t n) {
      float* at = base == nullptr ? nullptr : base + floats;
      floats += (n + 15) / 16 * 16;
      return at;
    };
    const auto rows = [&](int64_t n) { return take(n * ld); };
    const auto chunk = [&](int64_t n) { return take(n * kChunkLd); };
    const int64_t block = 3 * kLanes;
    h = rows(m.dim);
    first_h = training ? rows(m.dim) : h;
    for (int l = 0; l < m.layers; ++l) {
      Kept& kept = layer[l];
      if (l > 0 && !training) {
        kept = layer[0];
        continue;
      }
      kept = {};
      kept.qkv = rows(3 * m.dim);
      kept.o = rows(m.dim);
      kept.maximum = rows(m.heads);
      kept.inverse = rows(m.heads);
      kept.hidden = training ? rows(OperandRows(m.mlp)) : take(OperandRows(m.mlp) * block);
      if (!training) continue;
      kept.norm1 = rows(m.dim);
      kept.norm2 = rows(m.dim);
      kept.deviation1 = rows(1);
      kept.deviation2 = rows(1);
    }
    z = take(m.dim * block);
    u = take(m.dim * block);
    logits = take(PaddedClasses(m) * block);
    token_h = take(int64_t{m.dim} * kTokenRow);
    token_qkv = take(3 * int64_t{m.dim} * kTokenRow);
    if constexpr (kAttendsPairs) words = take(WordsSize(pass.tape, training));
    if constexpr (kRounds) operands = take((3 * int64_t{m.dim} + m.mlp + PaddedClasses(m)) * block);  // Of the widest, each of its parts filled up, and more.
    if (kRounds && pass.distance_keys) distance_keys = take(m.heads * pass.bias_stride * K);
    if (!training) return;
    token_dqkv = take(3 * int64_t{m.dim} * kTokenRow);
    du = take(m.dim * block);
    dh = rows(m.dim);
    df = chunk(m.dim);
    da = chunk(m.dim);
    dhidden = chunk(OperandRows(m.mlp));
    dout = rows(m.dim);
    dqkv = rows(3 * m.dim);
    tokens = rows(m.dim);
    back = {.pairs = rows(2 * kQueryBlock), .queries = rows(K), .dots = rows(1)};
    sums = take((5 * m.dim + m.mlp) * int64_t{kLanes});
    const bool by_offset = pass.bias == Bias::kByOffset;
    dbias = by_offset && pass.bias_trained ? take(m.heads * pass.bias_stride * kLanes) : nullptr;
    dkeys = by_offset && pass.distance_keys ? take(pass.bias_stride * K * kLanes) : nullptr;
    if (!m.pre_norm) return;
    final_norm = rows(m.dim);
    final_deviation = rows(1);
  }

  LONGREACH_INLINE float* Input(int l) const { return l == 0 ? first_h : h; }
};

// Keep-bits of one place: [row][D], the first row is that of position `first`.
struct Dropout {
  const uint16_t* bits = nullptr;  // Null: nothing is dropped.
  int first = 0;
  int dim = 0;
  float scale = 1;

  LONGREACH_INLINE Lanes operator()(int t, int feature, Lanes x) const {
    return bits == nullptr ? x : Where(bits[static_cast<int64_t>(t - first) * dim + feature], x * scale);
  }
};

LONGREACH_INLINE Dropout DropoutAt(const Model& m, const Pass& pass, const Tile& tile, int place, int first) {
  if (tile.keep == nullptr || pass.keep_offset[place] < 0) return {};
  return {.bits = tile.keep + pass.keep_offset[place], .first = first, .dim = m.dim, .scale = pass.keep_scale};
}

// What the next block of positions has of kRows features from n on, in rows of `per_row` features each. Behind the tape it is asked for in vain.
template <int TB, int per_row = 1>
LONGREACH_INLINE Ahead<TB> NextBlock(int64_t ld, int t, int n, const float* first, const float* second = nullptr) {
  const int64_t at = n / per_row * ld + (t + TB) * kLanes;
  return {.first = first + at, .second = second == nullptr ? nullptr : second + at, .ld = ld, .rows = kRows / per_row};
}

// Layer norm of z [D][TB][W]: normalised (kept), and scaled and shifted. Variance in two passes: the difference of two
// large numbers would cancel.
template <int TB>
LONGREACH_INLINE void Norm(const float* z, int dim, const float* scale, const float* offset, float* normalised, int64_t ld, float* deviation,
                           float* y, int64_t ldy) {
  constexpr float kEpsilon = 1e-5f;
  const float part = 1.0f / static_cast<float>(dim);
  Lanes mean[TB], inverse[TB];
  LONGREACH_UNROLL for (int i = 0; i < TB; ++i) mean[i] = inverse[i] = Zero();
  for (int f = 0; f < dim; ++f) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) mean[i] = mean[i] + Load(z + (f * TB + i) * kLanes);
  LONGREACH_UNROLL for (int i = 0; i < TB; ++i) mean[i] = mean[i] * part;
  for (int f = 0; f < dim; ++f) {
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes d = Load(z + (f * TB + i) * kLanes) - mean[i];
      inverse[i] = Fma(d, d, inverse[i]);
    }
  }
  LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
    inverse[i] = 1.0f / Sqrt(inverse[i] * part + kEpsilon);
    if (deviation != nullptr) Store(deviation + i * kLanes, inverse[i]);
  }
  for (int f = 0; f < dim; ++f) {
    const Lanes g = Splat(scale[f]), b = Splat(offset[f]);
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes x = (Load(z + (f * TB + i) * kLanes) - mean[i]) * inverse[i];
      if (normalised != nullptr) Store(normalised + f * ld + i * kLanes, x);
      Store(y + f * ldy + i * kLanes, Fma(x, g, b));
    }
  }
}

// dz = (g - mean(g) - x mean(g x)) / deviation with g = dy scale. Adds to the sums of scale and offset, lane by lane.
template <int TB>
LONGREACH_INLINE void NormBackward(const float* dy, int64_t ldy, const float* normalised, const float* deviation, const float* scale, int dim,
                                   int64_t ld, float* dz, float* dscale, float* doffset) {
  const float part = 1.0f / static_cast<float>(dim);
  Lanes a[TB], b[TB], r[TB];
  LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
    a[i] = b[i] = Zero();
    r[i] = Load(deviation + i * kLanes);
  }
  for (int f = 0; f < dim; ++f) {
    Lanes dg = Load(dscale + f * kLanes), db = Load(doffset + f * kLanes);
    const Lanes gamma = Splat(scale[f]);
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes y = Load(dy + f * ldy + i * kLanes), x = Load(normalised + f * ld + i * kLanes);
      dg = Fma(y, x, dg);
      db = db + y;
      const Lanes g = y * gamma;
      a[i] = a[i] + g;
      b[i] = Fma(g, x, b[i]);
    }
    Store(dscale + f * kLanes, dg);
    Store(doffset + f * kLanes, db);
  }
  LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
    a[i] = a[i] * part;
    b[i] = b[i] * part;
  }
  for (int f = 0; f < dim; ++f) {
    const Lanes gamma = Splat(scale[f]);
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes y = Load(dy + f * ldy + i * kLanes), x = Load(normalised + f * ld + i * kLanes);
      Store(dz + (f * TB + i) * kLanes, r[i] * (y * gamma - a[i] - x * b[i]));
    }
  }
}

// Sums over positions, lane by lane; reduced once per tile and layer. Rows of Work::sums.
struct SumRows {
  int scale2, offset2, mlp2_b, mlp1_b, scale1, offset1, all;
  explicit SumRows(const Model& m)
      : scale2(0), offset2(m.dim), mlp2_b(2 * m.dim), mlp1_b(3 * m.dim), scale1(3 * m.dim + m.mlp), offset1(4 * m.dim + m.mlp),
        all(5 * m.dim + m.mlp) {}
};

// Keeps kRows rows, from n on, of a block's queries, keys and values. Rotated, if the pass says so: rows come a whole pair at a
// time. `content_bias` [D] is added to the queries, if it is there.
template <int TB>
LONGREACH_INLINE void KeepProjected(const Model& m, const Pass& pass, const float* content_bias, int layer, const Work& work, int t, int n,
                                    Lanes (&sum)[kRows][TB]) {
  const float* turned = n < m.dim ? pass.query_rotation : pass.rotation;
  const float* rotation = turned == nullptr ? nullptr : turned + (static_cast<int64_t>(layer) * pass.tape + t) * K;
  if (rotation != nullptr && n < 2 * m.dim) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; r += 2) {
      LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
        const float* angle = rotation + i * K + (n + r) % K / 2;
        const Lanes c = Splat(angle[0]), s = Splat(angle[K / 2]), x = sum[r][i], y = sum[r + 1][i];
        sum[r][i] = x * c - y * s;
        sum[r + 1][i] = y * c + x * s;
      }
    }
  }
  if (content_bias != nullptr && n < m.dim) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) {
      LONGREACH_UNROLL for (int i = 0; i < TB; ++i) sum[r][i] = sum[r][i] + Splat(content_bias[n + r]);
    }
  }
  LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) {
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) Store(work.layer[layer].qkv + (n + r) * work.ld + (t + i) * kLanes, Operand(sum[r][i]));
  }
}

// Queries, keys and values of a block, made of h; keys and values only without `query`.
template <int TB>
LONGREACH_INLINE void ProjectBlock(const Model& m, const Pass& pass, const float* packed, const float* content_bias, int layer, const Work& work,
                                   int t, bool query, const Block& h) {
  const int64_t panel = PanelSize(m.dim);
  const int skip = query ? 0 : m.dim;
  const auto asks = [&](int n) { return NextBlock<TB>(work.ld, t, n + skip, work.layer[layer].qkv); };
  Product<TB>(packed + skip / kPanel * panel, panel, m.dim, 3 * m.dim - skip, h, asks, [&](int n, Lanes(&sum)[kRows][TB]) __attribute__((always_inline)) {
    KeepProjected<TB>(m, pass, content_bias, layer, work, t, n + skip, sum);
  });
}

// The same of the layer's input as it is.
template <int TB>
LONGREACH_INLINE void Project(const Model& m, const Pass& pass, const float* packed, const float* content_bias, int layer, const Work& work,
                              int t, bool query) {
  const Block h = BlockOf<TB, false>(work.Input(layer) + t * kLanes, work.ld, m.dim, work.operands);
  ProjectBlock<TB>(m, pass, packed, content_bias, layer, work, t, query, h);
}

// Turns the gradient of rotated rows back.
inline void Unrotate(const Model& m, const Pass& pass, int layer, int first_query, float* dqkv, int64_t ld) {
  const int64_t of_layer = static_cast<int64_t>(layer) * pass.tape * K;
  for (int n = 0; n < 2 * m.dim; n += 2) {
    const float* rotation = (n < m.dim ? pass.query_rotation : pass.rotation) + of_layer;
    float *even = dqkv + n * ld, *odd = even + ld;
    for (int t = n < m.dim ? first_query : 0; t < pass.tape; ++t) {
      const float* angle = rotation + t * K + n % K / 2;
      const Lanes c = Splat(angle[0]), s = Splat(angle[K / 2]), x = Load(even + t * kLanes), y = Load(odd + t * kLanes);
      Store(even + t * kLanes, x * c + y * s);
      Store(odd + t * kLanes, y * c - x * s);
    }
  }
}

// relu(u W1 + b1) of a block, where Work::u is u; kept in training.
template <int TB>
LONGREACH_INLINE Block Activated(const Model& m, const float* parameters, const float* packed, const LayerOffsets& at, const Kept& kept,
                                 const Work& work, int t, bool training) {
  const int64_t ld = work.ld, here = t * kLanes;
  const auto ask_hidden = [&](int n) { return training ? NextBlock<TB, kPerRow>(ld, t, n, kept.hidden) : Ahead<TB>(); };
  const int64_t ldh = training ? ld : TB * kLanes;
  float* hidden = training ? kept.hidden + here : kept.hidden;
  const float* b1 = parameters + at.mlp1_b;
  const Block u = BlockOf<TB, false>(work.u, TB * kLanes, m.dim, work.operands);
  Product<TB>(packed + PackedLayer(m).mlp1, PanelSize(m.dim), m.dim, m.mlp, u, ask_hidden, [&](int n, Lanes(&sum)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      sum[r][i] = Max(Zero(), sum[r][i] + b1[n + r]);  // In this order a NaN stays one.
    }
    StoreOperands(hidden, ldh, n, sum);
  });
  FillUpOperands<TB>(hidden, ldh, m.mlp);
  return BlockOfOperands<TB>(hidden, ldh, m.mlp, work.operands);
}

// What follows attention: h + drop(o W) -> norm -> u; u + drop(relu(u W1 + b1) W2 + b2) -> norm -> next layer's h. `input`: this one's.
template <int TB>
LONGREACH_INLINE void FeedForward(const Model& m, const float* parameters, const float* packed, const LayerOffsets& at, const Kept& kept,
                                  const float* input, const Work& work, int t, const Dropout& drop1, const Dropout& drop2, bool training) {
  const PackedLayer place(m);
  const int64_t ld = work.ld, here = t * kLanes, panel = PanelSize(m.dim);
  float* z = work.z;
  const auto kept_at = [&](float* rows) { return training ? rows + here : nullptr; };
  const auto ask_norm1 = [&](int n) { return training ? NextBlock<TB>(ld, t, n, kept.norm1) : Ahead<TB>(); };
  const auto ask_norm2 = [&](int n) { return training ? NextBlock<TB>(ld, t, n, kept.norm2, kept.o) : Ahead<TB>(); };
  const Block o = BlockOf<TB, true>(kept.o + here, ld, m.dim, work.operands);
  Product<TB>(packed + place.o, panel, m.dim, m.dim, o, ask_norm1, [&](int n, Lanes(&sum)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      Store(z + ((n + r) * TB + i) * kLanes, Load(input + (n + r) * ld + here + i * kLanes) + drop1(t + i, n + r, sum[r][i]));
    }
  });
  Norm<TB>(z, m.dim, parameters + at.norm1_scale, parameters + at.norm1_offset, kept_at(kept.norm1), ld, kept_at(kept.deviation1),
           work.u, TB * kLanes);
  const float* b2 = parameters + at.mlp2_b;
  const Block activated = Activated<TB>(m, parameters, packed, at, kept, work, t, training);
  Product<TB>(packed + place.mlp2, PanelSize(m.mlp), m.mlp, m.dim, activated, ask_norm2, [&](int n, Lanes(&sum)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      Store(z + ((n + r) * TB + i) * kLanes, Load(work.u + ((n + r) * TB + i) * kLanes) + drop2(t + i, n + r, sum[r][i] + b2[n + r]));
    }
  });
  Norm<TB>(z, m.dim, parameters + at.norm2_scale, parameters + at.norm2_offset, kept_at(kept.norm2), ld, kept_at(kept.deviation2),
           work.h + here, ld);
}

// From the gradient of what the MLP's output was added to, in rows `ldz` floats apart, to that of the hidden features: df and dhidden, and the sums
// of both biases. `first`: the position that these rows begin with.
template <int TB>
LONGREACH_INLINE Block ActivatedBackward(const Model& m, const float* packed, const Kept& kept, const Work& work, int first, int t, const float* dz,
                                         int64_t ldz, const Dropout& drop2) {
  const SumRows row(m);
  const int64_t ld = work.ld, here = t * kLanes, in_chunk = (t - first) * kLanes;
  float *const sums = work.sums, *const df_rows = work.df + in_chunk, *const dhidden_rows = work.dhidden + in_chunk;
  const auto ask_hidden = [&](int n) { return NextBlock<TB, kPerRow>(ld, t, n, kept.hidden); };
  for (int f = 0; f < m.dim; ++f) {
    float* sum = sums + (row.mlp2_b + f) * kLanes;
    Lanes db = Load(sum);
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes v = drop2(t + i, f, Load(dz + f * ldz + i * kLanes));
      Store(df_rows + f * kChunkLd + i * kLanes, Operand(v));
      db = db + v;
    }
    Store(sum, db);
  }
  const Block df = BlockOf<TB, true>(df_rows, kChunkLd, m.dim, work.operands);
  Product<TB>(packed + PackedLayer(m).mlp2_back, PanelSize(m.dim), m.dim, m.mlp, df, ask_hidden, [&](int n, Lanes(&g)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) {
      float* sum = sums + (row.mlp1_b + n + r) * kLanes;
      Lanes db = Load(sum);
      LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
        g[r][i] = WherePositive(LoadOperand(kept.hidden + here + i * kLanes, ld, n + r), g[r][i]);
        db = db + g[r][i];
      }
      Store(sum, db);
    }
    StoreOperands(dhidden_rows, kChunkLd, n, g);
  });
  FillUpOperands<TB>(dhidden_rows, kChunkLd, m.mlp);
  return BlockOfOperands<TB>(dhidden_rows, kChunkLd, m.mlp, work.operands);
}

// From da, the gradient of what came out of the attention's last product, to that of what went in (dout).
template <int TB>
LONGREACH_INLINE void AttendedBackward(const Model& m, const float* packed, const Work& work, int first, int t) {
  const Block da = BlockOf<TB, true>(work.da + (t - first) * kLanes, kChunkLd, m.dim, work.operands);
  Product<TB>(packed + PackedLayer(m).o_back, PanelSize(m.dim), m.dim, m.dim, da, [&](int n, Lanes(&g)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      Store(work.dout + (n + r) * work.ld + (t + i) * kLanes, Operand(g[r][i]));
    }
  });
}

// From the gradient of the layer's output (Work::dh) to those of the attention's output (dout), of the layer's input as far
// as it went past attention (in place), and of what the weights are multiplied with (df, dhidden, da: of positions from `first` on).
template <int TB>
LONGREACH_INLINE void FeedForwardBackward(const Model& m, const float* parameters, const float* packed, const LayerOffsets& at, const Kept& kept,
                                          const Work& work, int first, int t, const Dropout& drop1, const Dropout& drop2) {
  const SumRows row(m);
  const int64_t ld = work.ld, here = t * kLanes;
  float *sums = work.sums, *z = work.z, *du = work.du, *const da_rows = work.da + (t - first) * kLanes;
  const auto ask_norms = [&](int n) { return NextBlock<TB>(ld, t, n, kept.norm2, kept.norm1); };
  NormBackward<TB>(work.dh + here, ld, kept.norm2 + here, kept.deviation2 + here, parameters + at.norm2_scale, m.dim, ld, z,
                   sums + row.scale2 * kLanes, sums + row.offset2 * kLanes);
  const Block dhidden = ActivatedBackward<TB>(m, packed, kept, work, first, t, z, TB * kLanes, drop2);
  Product<TB>(packed + PackedLayer(m).mlp1_back, PanelSize(m.mlp), m.mlp, m.dim, dhidden, ask_norms, [&](int n, Lanes(&g)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      Store(du + ((n + r) * TB + i) * kLanes, g[r][i] + Load(z + ((n + r) * TB + i) * kLanes));
    }
  });
  NormBackward<TB>(du, TB * kLanes, kept.norm1 + here, kept.deviation1 + here, parameters + at.norm1_scale, m.dim, ld, z,
                   sums + row.scale1 * kLanes, sums + row.offset1 * kLanes);
  for (int f = 0; f < m.dim; ++f) {
    LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      const Lanes v = Load(z + (f * TB + i) * kLanes);
      Store(work.dh + f * ld + here + i * kLanes, v);
      Store(da_rows + f * kChunkLd + i * kLanes, Operand(drop1(t + i, f, v)));
    }
  }
  AttendedBackward<TB>(m, packed, work, first, t);
}

// The gradient of what queries, keys and values were made of; where nothing asked, it is only keys and values. As Product() gives it to `out`.
template <int TB, class Out>
LONGREACH_INLINE void ProjectedBackward(const Model& m, const float* packed, const Work& work, int t, bool query, const Out& out) {
  const int skip = query ? 0 : 1;
  const float* rows = work.dqkv + t * kLanes;
  Block dqkv = {rows + skip * m.dim * work.ld, work.ld};
  if constexpr (kPairs) {
    // Each of the three is filled up.
    const int64_t part = int64_t{PaddedDepth(m.dim)} / kPerWord * TB * kLanes;
    for (int i = skip; i < 3; ++i) BlockOf<TB, true>(rows + i * m.dim * work.ld, work.ld, m.dim, work.operands + (i - skip) * part);
    dqkv = {work.operands, TB * kLanes};
  }
  Product<TB>(packed + PackedLayer(m).qkv_back + skip * PanelSize(m.dim), 3 * PanelSize(m.dim), (3 - skip) * PaddedDepth(m.dim), m.dim, dqkv, out);
}

// Adds to dh what came through queries, keys and values; before the first query nothing is there yet.
template <int TB>
LONGREACH_INLINE void ProjectBackward(const Model& m, const float* packed, const Work& work, int t, bool query) {
  ProjectedBackward<TB>(m, packed, work, t, query, [&](int n, Lanes(&g)[kRows][TB]) __attribute__((always_inline)) {
    LONGREACH_UNROLL for (int r = 0; r < kRows; ++r) LONGREACH_UNROLL for (int i = 0; i < TB; ++i) {
      float* d = work.dh + (n + r) * work.ld + (t + i) * kLanes;
      Store(d, query ? g[r][i] + Load(d) : g[r][i]);
    }
  });
}

}  // namespace longreach::trainer::lanes::LONGREACH_LANES_NAMESPACE
