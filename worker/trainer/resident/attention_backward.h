// The first half of an encoder layer, backward: LayerNorm, dropout, output projection, attention, and the projections of queries, keys and
// values, with the gradients of all weights. Queries, keys and values are made again from h; attention's output and the softmax's
// denominators come from forward. The block walks over tiles of 128 rows of whole sequences; the gradients of the weights stay in registers
// (64 to a thread) from the first tile to the last.
#pragma once

#include "worker/trainer/resident/asked_rows.h"
#include "worker/trainer/resident/projections.h"
#include "worker/trainer/resident/rows_ahead.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// One slice of a member, one layer. N = batch tape tokens, of which R = batch outputs are asked for, in rows as asked_rows.h says. What is written may not
// overlap what is read.
struct AttentionBackward {
  const Half* matrices;      // [kLayerMatrices], as step_arguments.h says.
  const float* norm1_scale;
  const float* h;  // [N, D], the layer's input, and what forward left:
  const float* x1;   // [R, D],
  const Half* o;     // [R, D],
  const float* lse;  // [H, N].
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

// Shared memory: numbers of 16 bits, then floats, then the rows ahead. O makes room for dO.
struct AttentionHalves {
  static constexpr int kQkv = 0, kOut = kAtOut, kTile = kAtUp, kDa = kTile + (kBackRows + kOverhang) * kTileLd,
                       kO = kDa + kBackRows * kRowLd, kH = kO + (kBackRows + kOverhang) * kRowLd, kCount = kH + kBackRows * kRowLd;
};
// Of a number for each head and row, all of a head lie together: a warp reads those of its own. The gap puts heads into banks of their own.
inline constexpr int kByHeadLd = kBackRows + 4;
inline constexpr int kByHead = kHeads * kByHeadLd;
struct AttentionFloats {
  // Of kLse there are two: the next tile's is on its way.
  static constexpr int kTerms = 0, kSlopes = kTerms + kHeads * kTable, kLse = kSlopes + kHeads * kTable, kDot = kLse + 2 * kByHead,
                       kScale = kDot + kByHead, kColumns = kScale + kDim, kCount = kColumns + ColumnSums<2>::kFloats;
};

constexpr size_t AttentionBackwardSharedBytes() {
  return AttentionHalves::kCount * sizeof(Half) + AttentionFloats::kCount * sizeof(float) + RowsAhead::kBytes;
}

// A warp's part of the gradients, among its threads: 32 inputs by a quarter of the columns of q | k | v and of o.
struct AttentionGradients {
  float qkv[2][6][4], o[2][2][4];

  LONGREACH_DEVICE static int Input() { return 32 * (Warp() & 1); }
  LONGREACH_DEVICE static int QkvColumn() { return 48 * (Warp() >> 1); }
  LONGREACH_DEVICE static int OutColumn() { return 16 * (Warp() >> 1); }
};
static_assert(48 * (kWarps / 2) == 3 * kDim && 16 * (kWarps / 2) == kDim);

// A tile: `rows` tokens of whole sequences from `sequence` on.
struct AttentionTile {
  int sequence, count, rows;
};
LONGREACH_DEVICE AttentionTile AttentionTileFrom(int sequence, const AttentionBackward& a) {
  const int count = Least(kBackRows / a.tape, a.batch - sequence);
  return {sequence, count, count * a.tape};
}

// The token of a place in a tile, and its row among those that are asked for. What is not asked for has no gradient: of such a token, the nearest that
// is stands in for the rest. For a token that does not exist, the tile's last stands in.
struct AttentionRow {
  int token, row;
  bool counts;  // Whether it exists and is asked for.

  LONGREACH_DEVICE AttentionRow(const AttentionBackward& a, const AttentionTile& tile, int place) {
    const AskedRows asked = {a.tape, a.outputs};
    const bool exists = place < tile.rows;
    const int there = exists ? place : tile.rows - 1;
    token = row = tile.sequence * a.tape + there;
    counts = exists;
    if (!asked.All()) {
      const int output = there % a.tape - asked.FirstPosition();
      row = (tile.sequence + there / a.tape) * a.outputs + (output < 0 ? 0 : output);
      counts = exists && output >= 0;
    }
  }
};

// Asks for what a turn of a tile reads, if there are such rows.
LONGREACH_DEVICE void AskForAttentionRows(const RowsAhead& ahead, const AttentionBackward& a, const AttentionTile& tile, int turn) {
  if (tile.rows > 0) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int row = AttentionRow(a, tile, PartRow(turn, k)).row;
      ahead.Ask(k, a.x1 + row * kDim, a.du + row * kDim, a.o + row * kDim);
    }
  }
  EndGroupOfCopies();
}

// Asks for a tile's denominators, a head by each warp. They are of the group of its first turn.
LONGREACH_DEVICE void AskForDenominators(float* lse, const AttentionBackward& a, const AttentionTile& tile) {
  const int head = Warp();
  const float* const from = a.lse + (head * a.batch + tile.sequence) * a.tape;
  for (int row = Lane(); row < tile.rows; row += 32) BeginCopy4(lse + head * kByHeadLd + row, from + row);
}

// Of a tile of so many rows, the products take whole sixteens, and attention may read up to 15 rows more.
LONGREACH_DEVICE bool IsRead(int row, int rows) { return row < rows + 16; }

// The norm of a tile: to da what goes back into the output projection, to dh what goes past attention; and rounded copies of h and O. The first turn of
// it has been asked for; that of the next tile is, when it ends, with the denominators to next_lse.
LONGREACH_DEVICE void AttentionNorm(const AttentionBackward& a, Half* halves, const float* scale, const ColumnSums<2>& columns,
                                    const RowsAhead& ahead, const AttentionTile& tile, const AttentionTile& next, float* next_lse) {
  RowPart sums[2];  // Of the norm's scale and offset.
  for (RowPart& sum : sums) Clear(sum);
  const int turns = IsRead(kRowsOfTurn, tile.rows) ? kBackRows / kRowsOfTurn : 1;
  LONGREACH_DEVICE_ROLLED
  for (int turn = 0; turn < turns; ++turn) {
    RowPart h[kPartRows], y[kPartRows], d[kPartRows];
    uint64_t kept[kPartRows];
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int token = AttentionRow(a, tile, PartRow(turn, k)).token;
      kept[k] = a.keep_attention == nullptr ? ~uint64_t{0} : a.keep_attention[token];
      LoadPart(h[k], a.h + token * kDim);
    }
    {
      HalfPart o[kPartRows];
      ahead.Take(y, d, o);
      LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) StorePart(halves + AttentionHalves::kO + PartRow(turn, k) * kRowLd, o[k]);
    }
    const bool last = turn + 1 == turns;
    if (last) AskForDenominators(next_lse, a, next);
    AskForAttentionRows(ahead, a, last ? next : tile, last ? 0 : turn + 1);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      if (!AttentionRow(a, tile, PartRow(turn, k)).counts) Clear(d[k]);
    }
    float inverse[kPartRows];
    Normalise(y, inverse);
    NormBackward(d, y, inverse, scale, sums[0], sums[1]);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int place = PartRow(turn, k);
      const bool exists = place < tile.rows;
      StorePart(halves + AttentionHalves::kDa + place * kRowLd, Kept(d[k], kept[k], a.keep_attention == nullptr ? 1.0f : a.keep_scale));
      if (!exists) Clear(h[k]);
      StorePart(halves + AttentionHalves::kH + place * kRowLd, h[k]);
      if (exists) StorePart(a.dh + (tile.sequence * a.tape + place) * kDim, d[k]);
    }
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

// x += dQKV Wqkv^T: 32 rows to a warp, half of the features.
LONGREACH_DEVICE void AttentionInputs(RowSums& x, const Half* halves) {
  x.Multiply<3 * kDim>([&](int k) {
    RowSums::Factors factors;
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
      LoadA(factors.a[m], halves + AttentionHalves::kTile + (RowSums::Row() + 16 * m) * kTileLd + k, kTileLd);
      RowSums::LoadFeatures(factors.b[m], halves + AttentionHalves::kQkv + (RowSums::Column() + 16 * m) * kLdQkv + k, kLdQkv);
    }
    return factors;
  });
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

// A layer of one slice of a member, by one block. shared: AttentionBackwardSharedBytes() bytes, aligned to 16.
// What it reads must be there for all threads, and so is what it writes: it ends with a SyncBlock().
template <Positional kPositional>
LONGREACH_DEVICE void BackwardAttention(const AttentionBackward& arguments, char* shared) {
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
  float *lse = floats + AttentionFloats::kLse, *next_lse = lse + kByHead;
  float* const dot = floats + AttentionFloats::kDot;
  const ColumnSums<2> columns = {floats + AttentionFloats::kColumns};
  const int T = a.tape;
  BeginCopy(halves, a.matrices, kAtUp);
  if constexpr (HasBias(kPositional)) BeginCopy(terms, a.table, kHeads * kTable);
  if constexpr (kPositional == Positional::kTrainedBias) BeginCopy(floats + AttentionFloats::kSlopes, a.slopes, kHeads * kTable);
  if constexpr (kPositional == Positional::kRotary) BeginCopy(terms, a.rotation, T * kHeadDim);
  BeginCopy(floats + AttentionFloats::kScale, a.norm1_scale, kDim);
  EndGroupOfCopies();
  const RowsAhead ahead(shared + AttentionHalves::kCount * sizeof(Half) + AttentionFloats::kCount * sizeof(float));
  AttentionTile tile_of = AttentionTileFrom(0, a);
  AskForDenominators(lse, a, tile_of);
  AskForAttentionRows(ahead, a, tile_of, 0);
  ClearFloats(columns.at, ColumnSums<2>::kFloats);
  ClearHalves(tile + kBackRows * kTileLd, kOverhang * kTileLd);
  ClearHalves(o + kBackRows * kRowLd, kOverhang * kRowLd);
  AwaitCopies<1>();
  SyncBlock();

  const int head = Warp(), g = Lane() >> 2, c = Lane() & 3, row0 = 16 * Warp();
  const HeadTerms of_head = {
      .table = terms + head * kTable, .slopes = floats + AttentionFloats::kSlopes + head * kTable, .rotation = terms};
  AttentionGradients sums = {};
  SlopeSums slope_sums;
  while (tile_of.rows > 0) {
    const int count = tile_of.count, rows = tile_of.rows;
    const AttentionTile next = AttentionTileFrom(tile_of.sequence + count, a);
    AttentionNorm(a, halves, floats + AttentionFloats::kScale, columns, ahead, tile_of, next, next_lse);
    Prefetch<kBackRows * kDim>(a.h + next.sequence * T * kDim, next.rows * kDim);
    Prefetch<kBackRows * kDim>(a.x1 + next.sequence * a.outputs * kDim, next.count * a.outputs * kDim);
    Prefetch<kBackRows * kDim>(a.du + next.sequence * a.outputs * kDim, next.count * a.outputs * kDim);
    Prefetch<kBackRows * kDim>(a.o + next.sequence * a.outputs * kDim, next.count * a.outputs * kDim);
    SyncBlock();
    LONGREACH_DEVICE_UNROLL_BY_4
    for (int k = 0; k < rows; k += 16) {  // dWo += O^T dA.
      uint32_t factor[2][1][4];
      LoadInputs(factor, o + k * kRowLd);
      Multiply(sums.o, factor, halves + AttentionHalves::kDa + k * kRowLd + AttentionGradients::OutColumn(), kRowLd);
    }
    uint32_t d_out[kHeads][2] = {};
    if (IsRead(row0, rows)) OutputGradient(d_out, dot, halves);
    if (const int rows0 = RowSums::Row(); IsRead(rows0, rows)) {  // 32 rows to a warp, half of the heads.
      const int head0 = kHeads / 2 * (Warp() & 1);
      uint32_t factor[2][4][4];
      LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
        LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) LoadA(factor[m][k], h + (rows0 + 16 * m) * kRowLd + 16 * k, kRowLd);
      }
      ProjectHeads<kPositional, kHeads / 2, 2, kHeads / 2>(tile, factor, halves + AttentionHalves::kQkv, terms, T, rows0, head0);
    }
    SyncBlock();  // All of O has been read: dO takes its place.
    if (IsRead(row0, rows)) {
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < kHeads; ++n) {
        LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
          StorePair(o + (row0 + g + 8 * half) * kRowLd + kHeadDim * n + 2 * c, d_out[n][half]);
        }
      }
    }
    SyncBlock();
    ForKeyTiles(T, [&]<int kKeyTiles>() {
      LONGREACH_DEVICE_ROLLED
      for (int i = 0; i < count; ++i) {
        AttendBackward<kKeyTiles, kPositional>(tile + i * T * kTileLd, o + i * T * kRowLd, T, T - a.outputs, head, of_head,
                                               lse + head * kByHeadLd + i * T, dot + head * kByHeadLd + i * T, slope_sums);
      }
    });
    float* const dh = a.dh + tile_of.sequence * T * kDim;
    RowSums x;
    x.Load(dh, rows);  // On its way while the warps wait for each other.
    SyncBlock();
    LONGREACH_DEVICE_UNROLL_BY_2
    for (int k = 0; k < rows; k += 16) {  // dWqkv += h^T dQKV.
      uint32_t factor[2][1][4];
      LoadInputs(factor, h + k * kRowLd);
      Multiply(sums.qkv, factor, tile + k * kTileLd + AttentionGradients::QkvColumn(), kTileLd);
    }
    if (RowSums::Row() < rows) {
      AttentionInputs(x, halves);
      x.Store(dh, rows);
    }
    SyncBlock();
    tile_of = next;
    float* const free_lse = lse;
    lse = next_lse;
    next_lse = free_lse;
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
