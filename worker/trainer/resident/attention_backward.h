// The first half of an encoder layer, backward: LayerNorm, dropout, output projection, attention, and the projections of queries, keys and
// values, with the gradients of all weights. Queries, keys and values are made again from h; attention's output and the softmax's
// denominators come from forward. The block walks over tiles of 128 rows of whole sequences; the gradients of the weights stay in registers
// (64 to a thread) from the first tile to the last.
#pragma once

#include "worker/trainer/resident/asked_rows.h"
#include "worker/trainer/resident/projections.h"
#include "worker/trainer/resident/row_norm.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// One slice of a member, one layer. N = batch tape tokens, of which R = batch outputs are asked for, in rows as asked_rows.h says. What is written may not
// overlap what is read.
struct AttentionBackward {
  const Half* matrices;      // [kLayerMatrices], as step_arguments.h says.
  const float* norm1_scale;
  const float* h;  // [N, D], the layer's input, and what forward left:
  const float* x1;   // [R, D],
  const Half* o;     // [R, D],
  const float* lse;  // [N, H].
  const uint64_t* keep_attention;  // [N]; null: nothing is dropped.
  float keep_scale;
  const float* table;     // [H, kTable], times log2(e).
  const float* slopes;    // [H, kTable]; kTrainedBias: the bias's derivative by the parameter that it is not proportional to.
  const float* rotation;  // [T, 8]: four cosines, four sines.
  const float* du;        // [R, D]: gradient of what the norm made.
  float* dh;              // [N, D]: gradient of h.
  float *d_q, *d_k, *d_v, *d_o, *d_norm1_scale, *d_norm1_offset;
  float* slope_sums;  // [H, 2]; kTrainedBias: over all pairs, sum of dS times the bias, and of dS times the slope.
  int batch, tape, outputs;
};

inline constexpr int kBackRows = 16 * kWarps;
static_assert(kBackRows >= kMaxTape && kWarps == kHeads);

// Shared memory: numbers of 16 bits, then floats. O makes room for dO.
struct AttentionHalves {
  static constexpr int kQkv = 0, kOut = kAtOut, kTile = kAtUp, kDa = kTile + (kBackRows + kOverhang) * kTileLd,
                       kO = kDa + kBackRows * kRowLd, kH = kO + (kBackRows + kOverhang) * kRowLd, kCount = kH + kBackRows * kRowLd;
};
// Of a number for each head and row, all of a head lie together: a warp reads those of its own. The gap puts heads into banks of their own.
inline constexpr int kByHeadLd = kBackRows + 4;
struct AttentionFloats {
  static constexpr int kTerms = 0, kSlopes = kTerms + kHeads * kTable, kLse = kSlopes + kHeads * kTable, kDot = kLse + kHeads * kByHeadLd,
                       kScale = kDot + kHeads * kByHeadLd, kColumns = kScale + kDim, kCount = kColumns + ColumnSums<2>::kFloats;
};

constexpr size_t AttentionBackwardSharedBytes() {
  return AttentionHalves::kCount * sizeof(Half) + AttentionFloats::kCount * sizeof(float);
}

// A warp's part of the gradients, among its threads: 32 inputs by a quarter of the columns of q | k | v and of o.
struct AttentionGradients {
  float qkv[2][6][4], o[2][2][4];

  LONGREACH_DEVICE static int Input() { return 32 * (Warp() & 1); }
  LONGREACH_DEVICE static int QkvColumn() { return 48 * (Warp() >> 1); }
  LONGREACH_DEVICE static int OutColumn() { return 16 * (Warp() >> 1); }
};
static_assert(48 * (kWarps / 2) == 3 * kDim && 16 * (kWarps / 2) == kDim);

// A thread's part of a token, as it is read. What is not asked for has no gradient: of such a token, the nearest that is stands in for the rest.
struct AttentionRow {
  RowPart h, x1, du;
  HalfPart o;
  uint64_t kept;

  // The token's place among those of the tile that begins with the sequence `sequence`; 0 <= place < count, which is the number of those that exist.
  LONGREACH_DEVICE AttentionRow(const AttentionBackward& a, int sequence, int place, int count) {
    const AskedRows asked = {a.tape, a.outputs};
    const bool exists = place < count;
    const int there = exists ? place : count - 1, token = sequence * a.tape + there;
    int row = token;
    bool counts = exists;
    if (!asked.All()) {
      const int output = there % a.tape - asked.FirstPosition();
      row = (sequence + there / a.tape) * a.outputs + (output < 0 ? 0 : output);
      counts = exists && output >= 0;
    }
    LoadPart(x1, a.x1 + row * kDim);
    LoadPart(du, a.du + row * kDim);
    LoadPart(h, a.h + token * kDim);
    LoadPart(o, a.o + row * kDim);
    kept = a.keep_attention == nullptr ? ~uint64_t{0} : a.keep_attention[token];
    if (!exists) Clear(h);
    if (!counts) Clear(du);
  }
};

// [rows, H] in global memory, at most a tile's, by head.
LONGREACH_DEVICE void CopyByHead(float* to, const float* from, int rows) {
  constexpr int kCopies = kBackRows * kHeads / kThreads;
  float x[kCopies] = {};
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < kCopies; ++k) {
    if (const int i = Thread() + k * kThreads; i < rows * kHeads) x[k] = from[i];
  }
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < kCopies; ++k) {
    if (const int i = Thread() + k * kThreads; i < rows * kHeads) to[i % kHeads * kByHeadLd + i / kHeads] = x[k];
  }
}

// The norm of a tile: to da what goes back into the output projection, to dh what goes past attention; and rounded copies of h and O.
LONGREACH_DEVICE void AttentionNorm(const AttentionBackward& a, Half* halves, const float* scale, const ColumnSums<2>& columns, int sequence,
                                    int count) {
  RowPart sums[2];  // Of the norm's scale and offset.
  for (RowPart& sum : sums) Clear(sum);
  AttentionRow next(a, sequence, PartRow(0), count);
  LONGREACH_DEVICE_UNROLL for (int turn = 0; turn < kTurns; ++turn) {
    const int row = PartRow(turn);
    RowPart y = next.x1, d = next.du;
    const uint64_t kept = next.kept;
    StorePart(halves + AttentionHalves::kH + row * kRowLd, next.h);
    StorePart(halves + AttentionHalves::kO + row * kRowLd, next.o);
    // The next row is on its way while this one is computed.
    if (turn + 1 < kTurns) next = AttentionRow(a, sequence, PartRow(turn + 1), count);
    NormBackward(d, y, Normalise(y), scale, sums[0], sums[1]);
    StorePart(halves + AttentionHalves::kDa + row * kRowLd, Kept(d, kept, a.keep_attention == nullptr ? 1.0f : a.keep_scale));
    if (row < count) StorePart(a.dh + (sequence * a.tape + row) * kDim, d);
  }
  columns.Add(sums);
}

// To d_out the gradient of attention's output for this warp's 16 rows, dA Wo^T, rounded and by head; to dot [H, rows] its product with O.
LONGREACH_DEVICE void OutputGradient(uint32_t (&d_out)[kHeads][2], float* dot, const Half* halves) {
  const int g = Lane() >> 2, c = Lane() & 3, row0 = 16 * Warp();
  uint32_t da[1][4][4];
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
    LoadA(da[0][k], halves + AttentionHalves::kDa + row0 * kRowLd + 16 * k, kRowLd);
  }
  float x[1][8][4] = {};
  Multiply<1, 8, 4, true>(x, da, halves + AttentionHalves::kOut, kLdOut);
  LONGREACH_DEVICE_UNROLL for (int head = 0; head < kHeads; ++head) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row0 + g + 8 * half;
      const uint32_t o = LoadPair(halves + AttentionHalves::kO + row * kRowLd + kHeadDim * head + 2 * c);
      const uint32_t d = Pack(x[0][head][2 * half], x[0][head][2 * half + 1]);
      // Of the rounded one, as the products with the values are: their difference is a gradient.
      const float sum = SumOfFour(Low(d) * Low(o) + High(d) * High(o));
      if (c == 0) dot[head * kByHeadLd + row] = sum;
      d_out[head][half] = d;
    }
  }
}

// dh += dQKV Wqkv^T: 32 rows to a warp, half of the features.
LONGREACH_DEVICE void AttentionInputs(const Half* halves, float* dh, int rows) {
  RowSums x;
  x.Load(dh, rows);
  for (int k = 0; k < 3 * kDim; k += 16) {
    uint32_t d[2][1][4];
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
      LoadA(d[m][0], halves + AttentionHalves::kTile + (RowSums::Row() + 16 * m) * kTileLd + k, kTileLd);
    }
    Multiply<2, 4, 1, true>(x.at, d, halves + AttentionHalves::kQkv + RowSums::Column() * kLdQkv + k, kLdQkv);
  }
  x.Store(dh, rows);
}

// A warp's inputs of 16 rows, transposed, as the first factor of its part of the gradients.
LONGREACH_DEVICE void LoadInputs(uint32_t (&factor)[2][1][4], const Half* rows) {
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) LoadATransposed(factor[m][0], rows + AttentionGradients::Input() + 16 * m, kRowLd);
}

LONGREACH_DEVICE void StoreAttentionGradients(const AttentionBackward& a, const AttentionGradients& sums) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int input = AttentionGradients::Input() + 16 * m + g + 8 * half;
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 6; ++n) {
        const int column = AttentionGradients::QkvColumn() + 8 * n;
        float* const to = (column < kDim ? a.d_q : column < 2 * kDim ? a.d_k : a.d_v) + input * kDim + column % kDim + 2 * c;
        to[0] = sums.qkv[m][n][2 * half];
        to[1] = sums.qkv[m][n][2 * half + 1];
      }
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
        float* const to = a.d_o + input * kDim + AttentionGradients::OutColumn() + 8 * n + 2 * c;
        to[0] = sums.o[m][n][2 * half];
        to[1] = sums.o[m][n][2 * half + 1];
      }
    }
  }
}

// A layer of one slice of a member, by one block; kKeyTiles as in attention.h, for a.tape. shared: AttentionBackwardSharedBytes() bytes, aligned to 16.
// What it reads must be there for all threads, and so is what it writes: it ends with a SyncBlock().
template <int kKeyTiles, Positional kPositional>
LONGREACH_DEVICE_NOINLINE void BackwardAttention(const AttentionBackward& arguments, char* shared) {
  const AttentionBackward a = arguments;  // What is assumed of pointers in memory is forgotten at the next write.
  AssumeShared<AttentionBackwardSharedBytes()>(shared);
  AssumeGlobal(a.matrices, a.norm1_scale, a.h, a.x1, a.o, a.lse, a.keep_attention, a.table, a.slopes, a.rotation, a.du, a.dh, a.d_q, a.d_k, a.d_v,
               a.d_o, a.d_norm1_scale, a.d_norm1_offset, a.slope_sums);
  Half* const halves = reinterpret_cast<Half*>(shared);
  float* const floats = reinterpret_cast<float*>(halves + AttentionHalves::kCount);
  Half* const tile = halves + AttentionHalves::kTile;
  Half* const o = halves + AttentionHalves::kO;
  Half* const h = halves + AttentionHalves::kH;
  float* const terms = floats + AttentionFloats::kTerms;
  float* const lse = floats + AttentionFloats::kLse;
  float* const dot = floats + AttentionFloats::kDot;
  const ColumnSums<2> columns = {floats + AttentionFloats::kColumns};
  const int T = a.tape;
  CopyHalves(halves, a.matrices, kAtUp);
  if constexpr (HasBias(kPositional)) CopyFloats(terms, a.table, kHeads * kTable);
  if constexpr (kPositional == Positional::kTrainedBias) CopyFloats(floats + AttentionFloats::kSlopes, a.slopes, kHeads * kTable);
  if constexpr (kPositional == Positional::kRotary) CopyFloats(terms, a.rotation, T * kHeadDim);
  CopyFloats(floats + AttentionFloats::kScale, a.norm1_scale, kDim);
  ClearFloats(columns.at, ColumnSums<2>::kFloats);
  ClearHalves(tile + kBackRows * kTileLd, kOverhang * kTileLd);
  ClearHalves(o + kBackRows * kRowLd, kOverhang * kRowLd);
  SyncBlock();

  const int head = Warp(), g = Lane() >> 2, c = Lane() & 3, row0 = 16 * Warp();
  const HeadTerms of_head = {
      .table = terms + head * kTable, .slopes = floats + AttentionFloats::kSlopes + head * kTable, .rotation = terms};
  AttentionGradients sums = {};
  SlopeSums slope_sums;
  const int group = kBackRows / T;
  for (int first = 0; first < a.batch; first += group) {
    const int count = Least(group, a.batch - first), rows = count * T, token = first * T;
    AttentionNorm(a, halves, floats + AttentionFloats::kScale, columns, first, rows);
    const int next = first + count, next_count = Least(group, a.batch - next);
    Prefetch<kBackRows * kDim>(a.h + next * T * kDim, next_count * T * kDim);
    Prefetch<kBackRows * kDim>(a.x1 + next * a.outputs * kDim, next_count * a.outputs * kDim);
    Prefetch<kBackRows * kDim>(a.du + next * a.outputs * kDim, next_count * a.outputs * kDim);
    Prefetch<kBackRows * kDim>(a.o + next * a.outputs * kDim, next_count * a.outputs * kDim);
    CopyByHead(lse, a.lse + token * kHeads, rows);
    SyncBlock();
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kBackRows; k += 16) {  // dWo += O^T dA.
      uint32_t factor[2][1][4];
      LoadInputs(factor, o + k * kRowLd);
      Multiply(sums.o, factor, halves + AttentionHalves::kDa + k * kRowLd + AttentionGradients::OutColumn(), kRowLd);
    }
    uint32_t d_out[kHeads][2];
    OutputGradient(d_out, dot, halves);
    {
      // 32 rows to a warp, half of the heads.
      const int rows0 = RowSums::Row(), head0 = kHeads / 2 * (Warp() & 1);
      uint32_t factor[2][4][4];
      LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
        LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) LoadA(factor[m][k], h + (rows0 + 16 * m) * kRowLd + 16 * k, kRowLd);
      }
      ProjectHeads<kPositional, kHeads / 2, 2, kHeads / 2>(tile, factor, halves + AttentionHalves::kQkv, terms, T, rows0, head0);
    }
    SyncBlock();  // All of O has been read: dO takes its place.
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < kHeads; ++n) {
      LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
        StorePair(o + (row0 + g + 8 * half) * kRowLd + kHeadDim * n + 2 * c, d_out[n][half]);
      }
    }
    SyncBlock();
    for (int i = 0; i < count; ++i) {
      AttendBackward<kKeyTiles, kPositional>(tile + i * T * kTileLd, o + i * T * kRowLd, T, T - a.outputs, head, of_head,
                                             lse + head * kByHeadLd + i * T, dot + head * kByHeadLd + i * T, slope_sums);
    }
    SyncBlock();
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kBackRows; k += 16) {  // dWqkv += h^T dQKV.
      uint32_t factor[2][1][4];
      LoadInputs(factor, h + k * kRowLd);
      Multiply(sums.qkv, factor, tile + k * kTileLd + AttentionGradients::QkvColumn(), kTileLd);
    }
    AttentionInputs(halves, a.dh + token * kDim, rows);
    SyncBlock();
  }
  StoreAttentionGradients(a, sums);
  if constexpr (kPositional == Positional::kTrainedBias) {  // Its head is this warp's alone.
    const float bias = SumOfWarp(slope_sums.bias) * kLn2, slope = SumOfWarp(slope_sums.slope);
    if (Lane() == 0) {
      a.slope_sums[2 * head] = bias;
      a.slope_sums[2 * head + 1] = slope;
    }
  }
  columns.Store({a.d_norm1_scale, a.d_norm1_offset});
  SyncBlock();
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
