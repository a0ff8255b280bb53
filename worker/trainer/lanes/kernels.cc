// One tile goes through the whole network and back while its activations are in the caches. Compiled once per instruction
// set and kind of operands; what it shares with other object files is plain data only (vector.h says why).
#include "worker/trainer/lanes/kernels.h"

#include <math.h>
#include <string.h>

#include "worker/trainer/lanes/first_layer.h"
#include "worker/trainer/lanes/layer_parts.h"
#include "worker/trainer/lanes/pre_norm.h"

namespace longreach::trainer::lanes {

namespace LONGREACH_LANES_NAMESPACE {

namespace {

// Where the head's packed weights begin, forward and on the way back.
int64_t HeadAt(const Model& m) { return m.layers * PackedLayer(m).size; }
int64_t HeadBackAt(const Model& m) { return HeadAt(m) + PackedFloats(m.dim, PaddedClasses(m)); }

int64_t PackedSize(const Model& m) { return HeadBackAt(m) + PackedFloats(PaddedClasses(m), m.dim); }

void PackWeights(const Model& m, const float* parameters, int layer, bool backward, float* packed) {
  const int dim = m.dim, mlp = m.mlp, padded = PaddedClasses(m);
  const int64_t panel = PanelSize(dim), mlp_panel = PanelSize(mlp);
  if (layer == m.layers) {
    const float* w = parameters + m.out_w;
    Pack(w, m.classes, 1, dim, padded, dim, m.classes, panel, packed + HeadAt(m));
    Pack(w, 1, m.classes, padded, dim, m.classes, dim, PanelSize(padded), packed + HeadBackAt(m));
    return;
  }
  const PackedLayer place(m);
  const LayerOffsets& at = m.layer[layer];
  float* to = packed + layer * place.size;
  const int64_t qkv[3] = {at.q, at.k, at.v};
  for (int i = 0; i < 3; ++i) {
    Pack(parameters + qkv[i], dim, 1, dim, dim, panel, to + place.qkv + int64_t{i} * dim / kPanel * panel);
    if (backward) Pack(parameters + qkv[i], 1, dim, dim, dim, 3 * panel, to + place.qkv_back + i * panel);
  }
  Pack(parameters + at.o, dim, 1, dim, dim, panel, to + place.o);
  Pack(parameters + at.mlp1_w, mlp, 1, dim, mlp, panel, to + place.mlp1);
  Pack(parameters + at.mlp2_w, dim, 1, mlp, dim, mlp_panel, to + place.mlp2);
  if (!backward) return;
  Pack(parameters + at.o, 1, dim, dim, dim, panel, to + place.o_back);
  Pack(parameters + at.mlp1_w, 1, mlp, mlp, dim, mlp_panel, to + place.mlp1_back);
  Pack(parameters + at.mlp2_w, 1, dim, dim, mlp, panel, to + place.mlp2_back);
}

int64_t WorkSize(const Model& m, const Pass& pass, bool training) { return Work(m, pass, training, nullptr).floats; }

// Tokens become features: row of the table times sqrt(D), and what the encoding adds.
void Embed(const Model& m, const Pass& pass, const Member& member, const Tile& tile, const Work& work) {
  const float scale = sqrtf(static_cast<float>(m.dim));
  const Dropout drop = DropoutAt(m, pass, tile, 0, 0);
  alignas(64) float value[kLanes];
  for (int t = 0; t < pass.tape; ++t) {
    const float *row[kLanes], *added[kLanes], *given[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      row[i] = member.parameters + m.embed + int64_t{tile.tokens[t * kLanes + i]} * m.dim;
      // Lanes beyond the batch take the first one's.
      const int64_t sequence = i < tile.live ? tile.first + i : tile.first;
      added[i] = pass.addition_row == nullptr ? nullptr : member.addition + sequence * pass.addition_by_sequence + pass.addition_row[t];
      given[i] = pass.given_row == nullptr ? nullptr : member.parameters + pass.given_row[sequence * pass.tape + t];
    }
    for (int f = 0; f < m.dim; ++f) {
      if (pass.addition_row == nullptr) {
        for (int i = 0; i < kLanes; ++i) value[i] = row[i][f] * scale;
      } else {
        for (int i = 0; i < kLanes; ++i) value[i] = row[i][f] * scale + added[i][f];
      }
      if (pass.given_row != nullptr) {
        for (int i = 0; i < kLanes; ++i) value[i] += given[i][f];
      }
      Store(work.first_h + f * work.ld + t * kLanes, drop(t, f, Load(value)));
    }
  }
}

void Forward(const Model& m, const Pass& pass, const Member& member, const Tile& tile, const Work& work, bool training) {
  Embed(m, pass, member, tile, work);
  if (m.pre_norm) return PreNormForward(m, pass, member, tile, work, training);
  for (int l = 0; l < m.layers; ++l) {
    const Kept& kept = work.layer[l];
    const float* packed = member.packed + l * PackedLayer(m).size;
    const int t0 = FirstQuery(m, pass, l);
    const float* content = member.content_bias == nullptr ? nullptr : member.content_bias + int64_t{l} * m.dim;
    if (l == 0 && DependsOnTokenAlone(m, pass, tile)) {
      ProjectTokens(m, member.parameters, packed, work);
      ForBlocks(0, t0, [&](auto block, int t) { LookUpProjected<block.value>(m, pass, tile, content, work, t, false); });
      ForBlocks(t0, pass.tape, [&](auto block, int t) { LookUpProjected<block.value>(m, pass, tile, content, work, t, true); });
    } else {
      ForBlocks(0, t0, [&](auto block, int t) { Project<block.value>(m, pass, packed, content, l, work, t, false); });
      ForBlocks(t0, pass.tape, [&](auto block, int t) { Project<block.value>(m, pass, packed, content, l, work, t, true); });
    }
    AttendLayer(m, pass, member, l, work);
    const Dropout drop1 = DropoutAt(m, pass, tile, 1 + 2 * l, t0), drop2 = DropoutAt(m, pass, tile, 2 + 2 * l, t0);
    ForBlocks(t0, pass.tape, [&](auto block, int t) {
      FeedForward<block.value>(m, member.parameters, packed, m.layer[l], kept, work.Input(l), work, t, drop1, drop2, training);
    });
  }
}

// Logits of a block of positions: [C][TB][W].
template <int TB>
void Logits(const Model& m, const Member& member, const Work& work, int t, float* logits) {
  const float* bias = member.parameters + m.out_b;
  const Block h = BlockOf<TB, false>(work.h + t * kLanes, work.ld, m.dim, work.operands);
  Product<TB>(member.packed + HeadAt(m), PanelSize(m.dim), m.dim, PaddedClasses(m), h, [&](int n, Lanes(&sum)[kRows][TB]) {
    for (int r = 0; r < kRows; ++r) {
      for (int i = 0; i < TB; ++i) Store(logits + ((n + r) * TB + i) * kLanes, n + r < m.classes ? sum[r][i] + bias[n + r] : Zero());
    }
  });
}

// Loss of a block of positions, and the gradients of the head's parameters and of its input.
template <int TB>
double Head(const Model& m, const Pass& pass, const Member& member, const Tile& tile, double weight, const Work& work, int t, float* gradient) {
  const int64_t ld = work.ld;
  const int padded = PaddedClasses(m);
  float* y = work.logits;
  const float* h = work.h + t * kLanes;
  Logits<TB>(m, member, work, t, y);
  double loss = 0;
  for (int i = 0; i < TB; ++i) {
    const int32_t* target = tile.targets + int64_t{t + i - (pass.tape - pass.outputs)} * kLanes;
    Lanes top = Load(y + i * kLanes), sum = Zero();
    for (int c = 1; c < m.classes; ++c) top = Max(top, Load(y + (c * TB + i) * kLanes));
    alignas(64) float hit[kLanes] = {}, total[kLanes], factor[kLanes];
    for (int c = 0; c < m.classes; ++c) {
      float* at = y + (c * TB + i) * kLanes;
      const Lanes v = Load(at) - top;
      alignas(64) float logit[kLanes];
      Store(logit, v);
      for (int k = 0; k < kLanes; ++k) {
        if (target[k] == c) hit[k] = logit[k];
      }
      const Lanes e = Exp2(v * kLog2e);
      sum = sum + e;
      Store(at, e);
    }
    Store(total, sum);
    for (int k = 0; k < kLanes; ++k) {
      factor[k] = k < tile.live ? static_cast<float>(weight) / total[k] : 0.0f;
      if (k < tile.live) loss += weight * (static_cast<double>(logf(total[k])) - static_cast<double>(hit[k]));
    }
    for (int c = 0; c < m.classes; ++c) {
      float* at = y + (c * TB + i) * kLanes;
      alignas(64) float g[kLanes];
      Store(g, Load(at) * Load(factor));
      for (int k = 0; k < tile.live; ++k) {
        if (target[k] == c) g[k] -= static_cast<float>(weight);
      }
      const Lanes d = Load(g), operand = Operand(d);
      Store(at, operand);
      for (int f = 0; f < m.dim; ++f) gradient[m.out_w + int64_t{f} * m.classes + c] += Sum(operand * Operand(Load(h + f * ld + i * kLanes)));
      gradient[m.out_b + c] += Sum(d);
    }
    for (int c = m.classes; c < padded; ++c) Store(y + (c * TB + i) * kLanes, Zero());
  }
  const Block dy = BlockOf<TB, true>(y, TB * kLanes, padded, work.operands);
  Product<TB>(member.packed + HeadBackAt(m), PanelSize(padded), padded, m.dim, dy, [&](int n, Lanes(&g)[kRows][TB]) {
    for (int r = 0; r < kRows; ++r) for (int i = 0; i < TB; ++i) Store(work.dh + (n + r) * ld + (t + i) * kLanes, g[r][i]);
  });
  return loss;
}

void LayerBackward(const Model& m, const Pass& pass, const Member& member, const Tile& tile, const Work& work, int l, float* gradient,
                   const TableGradients& tables) {
  const int T = pass.tape, t0 = FirstQuery(m, pass, l), dim = m.dim;
  const int64_t ld = work.ld;
  const Kept& kept = work.layer[l];
  const LayerOffsets& at = m.layer[l];
  const float* packed = member.packed + l * PackedLayer(m).size;
  const SumRows row(m);
  memset(work.sums, 0, static_cast<size_t>(row.all) * kLanes * sizeof(float));
  const Dropout drop1 = DropoutAt(m, pass, tile, 1 + 2 * l, t0), drop2 = DropoutAt(m, pass, tile, 2 + 2 * l, t0);
  const int chunk = GradientChunk(T - t0);
  const Scaling norm1 = {.scale = member.parameters + at.norm1_scale, .offset = member.parameters + at.norm1_offset};
  for (int c0 = t0; c0 < T; c0 += chunk) {
    const int count = static_cast<int>(Min(T - c0, chunk));
    const bool add = !tile.fresh || c0 > t0;
    ForBlocks(c0, c0 + count, [&](auto block, int t) {
      FeedForwardBackward<block.value>(m, member.parameters, packed, at, kept, work, c0, t, drop1, drop2);
    });
    const auto kept_rows = [&](const float* rows) { return Rows{rows + c0 * kLanes, ld}; };
    AddWeights<true>(m, work, kept_rows(kept.hidden), m.mlp, {work.df, kChunkLd}, {}, count, add, gradient + at.mlp2_w);
    AddWeights<true>(m, work, {work.dhidden, kChunkLd}, m.mlp, kept_rows(kept.norm1), norm1, count, add, gradient + at.mlp1_w);  // [out, in].
    AddWeights(m, work, kept_rows(kept.o), dim, {work.da, kChunkLd}, {}, count, add, gradient + at.o);
  }
  AddSums(work, row.scale2, dim, gradient + at.norm2_scale);
  AddSums(work, row.offset2, dim, gradient + at.norm2_offset);
  AddSums(work, row.mlp2_b, dim, gradient + at.mlp2_b);
  AddSums(work, row.mlp1_b, m.mlp, gradient + at.mlp1_b);
  AddSums(work, row.scale1, dim, gradient + at.norm1_scale);
  AddSums(work, row.offset1, dim, gradient + at.norm1_offset);

  AttendLayerBack(m, pass, member, l, work, tables);
  if (l == 0 && DependsOnTokenAlone(m, pass, tile)) {
    for (int f = 0; f < dim; ++f) memset(work.dh + f * ld, 0, static_cast<size_t>(t0) * kLanes * sizeof(float));
    ProjectTokensBackward(m, pass, packed, tile, work, t0, gradient);
    return;
  }
  ForBlocks(0, t0, [&](auto block, int t) { ProjectBackward<block.value>(m, packed, work, t, false); });
  ForBlocks(t0, T, [&](auto block, int t) { ProjectBackward<block.value>(m, packed, work, t, true); });
  const float* input = work.first_h;
  Scaling scaling;
  if (l > 0) {
    input = work.layer[l - 1].norm2;
    scaling = {.scale = member.parameters + m.layer[l - 1].norm2_scale, .offset = member.parameters + m.layer[l - 1].norm2_offset};
  }
  AddProjectionWeights(m, pass, tile, work, input, scaling, t0, gradient + at.q, gradient + at.k);
}

// From the gradient of the first layer's input to those of the tables.
void EmbedBackward(const Model& m, const Pass& pass, const Tile& tile, const Work& work, float* gradient) {
  const float scale = sqrtf(static_cast<float>(m.dim));
  const Dropout drop = DropoutAt(m, pass, tile, 0, 0);
  for (int t = 0; t < pass.tape; ++t) {
    float* dh = work.dh + t * kLanes;
    if (drop.bits != nullptr) {
      for (int f = 0; f < m.dim; ++f) Store(dh + f * work.ld, drop(t, f, Load(dh + f * work.ld)));
    }
    if (pass.table_trained) {
      for (int f = 0; f < m.dim; ++f) gradient[m.table + pass.addition_row[t] + f] += Sum(Load(dh + f * work.ld));
    }
    TokenMajor(dh, work.ld, m.dim, 1, work.tokens);
    for (int i = 0; i < tile.live; ++i) {
      float* row = gradient + m.embed + int64_t{tile.tokens[t * kLanes + i]} * m.dim;
      for (int f = 0; f < m.dim; f += kLanes) Store(row + f, Fma(Load(work.tokens + i * m.dim + f), Splat(scale), Load(row + f)));
      if (pass.given_row == nullptr) continue;
      float* given = gradient + pass.given_row[(tile.first + i) * pass.tape + t];
      for (int f = 0; f < m.dim; f += kLanes) Store(given + f, Load(work.tokens + i * m.dim + f) + Load(given + f));
    }
  }
}

// Zeros in all places of a gradient but those of the layers' matrices, which are written before they are read.
void ClearSmall(const Model& m, float* gradient) {
  int64_t done = 0;
  const auto clear_until = [&](int64_t next, int64_t skipped) {
    if (next > done) memset(gradient + done, 0, static_cast<size_t>(next - done) * sizeof(float));
    done = next + skipped;
  };
  const int64_t square = int64_t{m.dim} * m.dim, mlp = int64_t{m.dim} * m.mlp;
  for (int l = 0; l < m.layers; ++l) {
    const LayerOffsets& at = m.layer[l];
    clear_until(at.q, 3 * square);
    clear_until(at.o, square);
    clear_until(at.mlp1_w, mlp);
    clear_until(at.mlp2_w, mlp);
  }
  clear_until(m.stride, 0);
}

double Train(const Model& m, const Pass& pass, const Member& member, const Tile& tile, double weight, float* memory, float* gradient,
             const TableGradients& tables) {
  const ConfiguredTiles tiles;
  const Work work(m, pass, true, memory);
  if (tile.fresh) ClearSmall(m, gradient);
  Forward(m, pass, member, tile, work, true);
  double loss = 0;
  ForBlocks(pass.tape - pass.outputs, pass.tape, [&](auto block, int t) {
    loss += Head<block.value>(m, pass, member, tile, weight, work, t, gradient);
  });
  if (m.pre_norm) {
    PreNormBackward(m, pass, member, tile, work, gradient, tables);
  } else {
    for (int l = m.layers - 1; l >= 0; --l) LayerBackward(m, pass, member, tile, work, l, gradient, tables);
  }
  EmbedBackward(m, pass, tile, work, gradient);
  return loss;
}

void Test(const Model& m, const Pass& pass, const Member& member, const Tile& tile, float* memory, float* logits) {
  const ConfiguredTiles tiles;
  const Work work(m, pass, false, memory);
  Forward(m, pass, member, tile, work, false);
  const int first = pass.tape - pass.outputs;
  ForBlocks(first, pass.tape, [&](auto block, int t) {
    constexpr int kBlock = decltype(block)::value;
    Logits<kBlock>(m, member, work, t, work.logits);
    for (int i = 0; i < kBlock; ++i) {
      for (int c = 0; c < m.classes; ++c) {
        Store(logits + (int64_t{t + i - first} * m.classes + c) * kLanes, Load(work.logits + (c * kBlock + i) * kLanes));
      }
    }
  });
}

void KeepBits(const uint16_t* __restrict draws, int64_t count, uint32_t threshold, int lane, uint16_t* __restrict out) {
  const uint16_t bit = static_cast<uint16_t>(1u << lane), least = static_cast<uint16_t>(threshold);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint16_t>(out[i] | (draws[i] >= least ? bit : 0));
}

void Reduce(const float* parts, int64_t count, int64_t stride, int64_t rows, int64_t columns, bool transposed, float* sum) {
  if (!transposed) {
    const int64_t n = rows * columns;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      Lanes v = Load(parts + i);
      for (int64_t p = 1; p < count; ++p) v = v + Load(parts + p * stride + i);
      Store(sum + i, v);
    }
    for (; i < n; ++i) {
      float v = parts[i];
      for (int64_t p = 1; p < count; ++p) v += parts[p * stride + i];
      sum[i] = v;
    }
    return;
  }
  // Rows and columns are multiples of 8, columns of 16.
  alignas(64) float block[8 * 16];
  for (int64_t r = 0; r < rows; r += 8) {
    for (int64_t c = 0; c < columns; c += 16) {
      for (int64_t i = 0; i < 8; ++i) {
        for (int64_t j = 0; j < 16; j += kLanes) {
          const float* from = parts + (r + i) * columns + c + j;
          Lanes v = Load(from);
          for (int64_t p = 1; p < count; ++p) v = v + Load(from + p * stride);
          Store(block + i * 16 + j, v);
        }
      }
      for (int64_t j = 0; j < 16; ++j) {
        for (int64_t i = 0; i < 8; ++i) sum[(c + j) * rows + r + i] = block[i * 16 + j];
      }
    }
  }
}

constexpr Kernels kKernels = {.name = LONGREACH_LANES_NAME,
                              .lanes = kLanes,
                              .operands = kOperands,
                              .half = LONGREACH_LANES_HALF,
                              .packed_size = PackedSize,
                              .pack = PackWeights,
                              .work_size = WorkSize,
                              .train = Train,
                              .test = Test,
                              .keep_bits = KeepBits,
                              .reduce = Reduce};

}  // namespace

}  // namespace LONGREACH_LANES_NAMESPACE

const Kernels* LONGREACH_LANES_GETTER() { return &LONGREACH_LANES_NAMESPACE::kKernels; }

}  // namespace longreach::trainer::lanes
