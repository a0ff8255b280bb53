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
  const float* norms;  // [R, 4]: of x1's row mean and 1 / deviation, and of x2's,
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

inline constexpr int kBackRows = kGroups * kGroupRows;
inline constexpr int kBackPart = (kBackRows + kOverhang) * kRowLd;  // Numbers of queries, of keys and of values.
static_assert(kBackRows >= kMaxTape && kWarps == kHeads);

// Shared memory: numbers of 16 bits, then floats, then the rows ahead. O makes room for dO.
struct AttentionHalves {
  static constexpr int kQkv = 0, kOut = kAtOut, kTile = kAtUp, kDa = kTile + 3 * kBackPart,
                       kO = kDa + kBackRows * kRowLd, kH = kO + (kBackRows + kOverhang) * kRowLd, kCount = kH + kBackRows * kRowLd;
};
static_assert(AttentionHalves::kTile % kFactorNumbers == 0 && kBackPart % kFactorNumbers == 0 && AttentionHalves::kDa % kFactorNumbers == 0 &&
              AttentionHalves::kO % kFactorNumbers == 0 && AttentionHalves::kH % kFactorNumbers == 0);
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

// A warp's part of the gradients, among its threads: 16 inputs by all of q (the first group) or k (the second), and half of v and of o.
struct AttentionGradients {
  float q_or_k[8][4], v[4][4], o[4][4];

};
inline constexpr int kHalfOfColumns = kDim / kGroups;
static_assert(kGroups == 2);

// A tile: `rows` tokens of whole sequences from `sequence` on; none, or less, after the last one.
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
      const AttentionRow at(a, tile, PartRow(turn, k));
      ahead.Ask(k, a.x1 + at.row * kDim, a.du + at.row * kDim, a.o + at.row * kDim, a.norms + at.row * 4,
                a.keep_attention == nullptr ? nullptr : a.keep_attention + at.token);
    }
  }
  EndGroupOfCopies();
}

// Of a turn's rows of h, those of this thread, if there are such.
using PartsOfInput = RowPart[kPartRows];
LONGREACH_DEVICE void LoadInputs(PartsOfInput& h, const AttentionBackward& a, const AttentionTile& tile, int turn) {
  if (tile.rows <= 0) return;
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) LoadPart(h[k], a.h + AttentionRow(a, tile, PartRow(turn, k)).token * kDim);
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
// it has been asked for, and `h` loaded; that of the next tile is asked for when it ends, with the denominators to next_lse.
LONGREACH_DEVICE void AttentionNorm(const AttentionBackward& a, Half* halves, const float* scale, const ColumnSums<2>& columns, const RowsAhead& ahead,
                                    PartsOfInput& h, const AttentionTile& tile, const AttentionTile& next, float* next_lse) {
  RowPart sums[2];  // Of the norm's scale and offset.
  for (RowPart& sum : sums) Clear(sum);
  const int turns = IsRead(kRowsOfTurn, tile.rows) ? kBackRows / kRowsOfTurn : 1;
  LONGREACH_DEVICE_ROLLED
  for (int turn = 0; turn < turns; ++turn) {
    RowPart y[kPartRows], d[kPartRows];
    uint64_t kept[kPartRows];
    float inverse[kPartRows];
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int place = PartRow(turn, k);
      if (place >= tile.rows) Clear(h[k]);
      StorePart(halves + AttentionHalves::kH, place, h[k]);
    }
    const bool last = turn + 1 == turns;
    if (!last) LoadInputs(h, a, tile, turn + 1);
    ahead.Await();
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      StorePart(halves + AttentionHalves::kO, PartRow(turn, k), ahead.Third(k));
      const Float4 norms = ahead.Norms(k);
      y[k] = ahead.First(k);
      d[k] = ahead.Second(k);
      Normalise(y[k], norms.x[0], norms.x[1]);
      inverse[k] = norms.x[1];
      kept[k] = a.keep_attention == nullptr ? ~uint64_t{0} : ahead.Kept(k);
    }
    ahead.Free();
    if (last) AskForDenominators(next_lse, a, next);
    // Chosen by number: one of two structures would be read from memory.
    AskForAttentionRows(ahead, a, {last ? next.sequence : tile.sequence, last ? next.count : tile.count, last ? next.rows : tile.rows}, last ? 0 : turn + 1);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      if (!AttentionRow(a, tile, PartRow(turn, k)).counts) Clear(d[k]);
    }
    NormBackward(d, y, inverse, scale, sums[0], sums[1]);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int place = PartRow(turn, k);
      const bool exists = place < tile.rows;
      StorePart(halves + AttentionHalves::kDa, place, Kept(d[k], kept[k], a.keep_attention == nullptr ? 1.0f : a.keep_scale));
      if (exists) StorePart(a.dh + (tile.sequence * a.tape + place) * kDim, d[k]);
    }
  }
  columns.Add(sums);
}

// x: the gradient of attention's output, dA Wo^T, of this warp's 16 rows. To d_out the same rounded, by head; to dot [H, rows] its product with O.
LONGREACH_DEVICE void TakeOutputGradient(uint32_t (&d_out)[kHeads][2], float* dot, const float (&x)[8][4], const Half* halves) {
  const int g = Lane() >> 2, c = Lane() & 3, row0 = 16 * Warp();
  float of_thread[kHeads][2];
  LONGREACH_DEVICE_UNROLL for (int head = 0; head < kHeads; ++head) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const uint32_t o = LoadPair(halves + AttentionHalves::kO + Swizzled(row0 + g + 8 * half, kHeadDim * head + 2 * c));
      const uint32_t d = Pack(x[head][2 * half], x[head][2 * half + 1]);
      // Of the rounded one, as the products with the values are: their difference is a gradient.
      of_thread[head][half] = Low(d) * Low(o) + High(d) * High(o);
      d_out[head][half] = d;
    }
  }
  // Sums over four threads, of which each is left with a quarter of them.
  float of_two[kHeads / 2][2];
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < kHeads / 2; ++i) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const float first = of_thread[i][half], second = of_thread[i + kHeads / 2][half];
      of_two[i][half] = (c & 1 ? second : first) + ShuffleXor(c & 1 ? first : second, 1);
    }
  }
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < kHeads / 4; ++i) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const float first = of_two[i][half], second = of_two[i + kHeads / 4][half];
      const float sum = (c & 2 ? second : first) + ShuffleXor(c & 2 ? first : second, 2);
      dot[(kHeads / 2 * (c & 1) + kHeads / 4 * (c >> 1) + i) * kByHeadLd + row0 + g + 8 * half] = sum;
    }
  }
}

// x = dQKV Wqkv^T: 64 rows to a group.
LONGREACH_DEVICE void AttentionInputs(GroupSums& x, const Half* halves, int group) {
  const Half *const tile = halves + AttentionHalves::kTile + group * kSquare, *const w = halves + AttentionHalves::kQkv;
  GroupMultiply<false, false, 4>(x.at, tile, w);
  LONGREACH_DEVICE_UNROLL for (int part = 1; part < 3; ++part) GroupMultiplyAdd<false, false, 4>(x.at, tile + part * kBackPart, w + part * kSquare);
}

// Of a matrix [D, D], this warp's rows from `column` on.
template <int kN>
LONGREACH_DEVICE void StoreColumns(float* to, const float (&sums)[kN][4], int column) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
    float* const row = to + (RowOfGroup() + g + 8 * half) * kDim + column + 2 * c;
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < kN; ++n) {
      row[8 * n] = sums[n][2 * half];
      row[8 * n + 1] = sums[n][2 * half + 1];
    }
  }
}
LONGREACH_DEVICE void StoreAttentionGradients(const AttentionBackward& a, const AttentionGradients& sums) {
  StoreColumns(Group() == 0 ? a.d_q : a.d_k, sums.q_or_k, 0);
  StoreColumns(a.d_v, sums.v, kHalfOfColumns * Group());
  StoreColumns(a.d_o, sums.o, kHalfOfColumns * Group());
}

// A layer of one slice of a member, by one block. shared: AttentionBackwardSharedBytes() bytes, aligned to 1024.
// What it reads must be there for all threads, and so is what it writes: it ends with a SyncBlock().
template <Positional kPositional>
LONGREACH_DEVICE void BackwardAttention(const AttentionBackward& arguments, char* shared) {
  const AttentionBackward a = arguments;  // What is assumed of pointers in memory is forgotten at the next write.
  AssumeShared<AttentionBackwardSharedBytes()>(shared);
  AssumeGlobal(a.matrices, a.norm1_scale, a.h, a.x1, a.norms, a.o, a.lse, a.keep_attention, a.table, a.slopes, a.rotation, a.du, a.dh, a.d_q, a.d_k, a.d_v,
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
  AskForDenominators(lse, a, AttentionTileFrom(0, a));
  AskForAttentionRows(ahead, a, AttentionTileFrom(0, a), 0);
  PartsOfInput inputs;
  LoadInputs(inputs, a, AttentionTileFrom(0, a), 0);
  ClearFloats(columns.at, ColumnSums<2>::kFloats);
  for (int part = 0; part < 3; ++part) ClearHalves(tile + part * kBackPart + kBackRows * kRowLd, kOverhang * kRowLd);
  ClearHalves(o + kBackRows * kRowLd, kOverhang * kRowLd);
  AwaitCopies<1>();
  PublishToProducts();
  SyncBlock();

  const int head = Warp(), g = Lane() >> 2, c = Lane() & 3, group = OfWarp(Group()), group0 = kGroupRows * group, row0 = 16 * Warp();
  const HeadTerms of_head = {
      .table = terms + head * kTable, .slopes = floats + AttentionFloats::kSlopes + head * kTable, .rotation = terms};
  AttentionGradients sums = {};
  SlopeSums slope_sums;
  const int sequences = kBackRows / T;  // Of a tile that is full.
  for (int sequence = 0; sequence < a.batch; sequence += sequences) {
    const AttentionTile tile_of = AttentionTileFrom(sequence, a), next = AttentionTileFrom(sequence + sequences, a);
    const int count = tile_of.count, rows = tile_of.rows;
    AttentionNorm(a, halves, floats + AttentionFloats::kScale, columns, ahead, inputs, tile_of, next, next_lse);
    Prefetch<kBackRows * kDim>(a.h + next.sequence * T * kDim, next.rows * kDim);
    Prefetch<kBackRows * kDim>(a.x1 + next.sequence * a.outputs * kDim, next.count * a.outputs * kDim);
    Prefetch<kBackRows * kDim>(a.du + next.sequence * a.outputs * kDim, next.count * a.outputs * kDim);
    Prefetch<kBackRows * kDim>(a.o + next.sequence * a.outputs * kDim, next.count * a.outputs * kDim);
    PublishToProducts();
    SyncBlock();
    BeginProducts(sums.o);
    LONGREACH_DEVICE_ROLLED
    for (int row = 0; row < rows; row += 16) {  // dWo += O^T dA.
      GroupMultiplyAdd<true, true, 1>(sums.o, o + row * kRowLd, halves + AttentionHalves::kDa + row * kRowLd, kHalfOfColumns * group);
    }
    uint32_t d_out[kHeads][2] = {};
    if (IsRead(group0, rows)) {
      float x[8][4];
      BeginProducts();
      GroupMultiply<false, false, 4>(x, halves + AttentionHalves::kDa + group * kSquare, halves + AttentionHalves::kOut);
      EndProducts();
      uint32_t factor[1][4][4];
      LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) LoadGroupA(factor[0][k], h + group0 * kRowLd, k);
      ProjectHeads<kPositional, kBackPart>(tile, factor, halves + AttentionHalves::kQkv, terms, T, row0, [&] {
        AwaitProducts<1>(sums.o, x);
        TakeOutputGradient(d_out, dot, x, halves);
      });
    } else {
      EndProducts();
      AwaitProducts<0>(sums.o);
    }
    SyncBlock();  // All of O has been read: dO takes its place.
    if (IsRead(group0, rows)) {
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < kHeads; ++n) {
        LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
          StorePair(o + Swizzled(row0 + g + 8 * half, kHeadDim * n + 2 * c), d_out[n][half]);
        }
      }
    }
    SyncBlock();
    ForKeyTiles(T, [&]<int kKeyTiles>() {
      LONGREACH_DEVICE_ROLLED
      for (int i = 0; i < count; ++i) {
        AttendBackward<kKeyTiles, kPositional, kBackPart>(tile, o, i * T, T, T - a.outputs, head, of_head, lse + head * kByHeadLd + i * T,
                                                          dot + head * kByHeadLd + i * T, slope_sums);
      }
    });
    float* const dh = a.dh + sequence * T * kDim;
    GroupSums past;
    past.Load(dh, rows);  // On its way during the products.
    PublishToProducts();
    SyncBlock();
    const Half* const of_group = tile + group * kBackPart;  // dq or dk.
    BeginProducts(sums.q_or_k, sums.v);
    LONGREACH_DEVICE_ROLLED
    for (int row = 0; row < rows; row += 16) {  // dWqkv += h^T dQKV.
      GroupMultiplyAdd<true, true, 1>(sums.q_or_k, h + row * kRowLd, of_group + row * kRowLd);
      GroupMultiplyAdd<true, true, 1>(sums.v, h + row * kRowLd, tile + 2 * kBackPart + row * kRowLd, kHalfOfColumns * group);
    }
    GroupSums x;
    AttentionInputs(x, halves, group);  // Of rows that do not exist too: they are not stored.
    EndProducts();
    LoadInputs(inputs, a, next, 0);
    AwaitProducts<0>(sums.q_or_k, sums.v, x.at);
    x.Add(past);
    x.Store(dh, rows);
    SyncBlock();
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
