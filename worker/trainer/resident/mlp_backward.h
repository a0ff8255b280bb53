// The second half of an encoder layer, backward: LayerNorm, dropout, the MLP with the gradients of its weights, and the sum that goes on
// to the first LayerNorm. The block walks over tiles of 128 tokens; each warp owns 32 hidden features, so the gradients of both matrices
// stay in registers (128 to a thread) from the first tile to the last, and no two threads add to the same number.
#pragma once

#include "worker/trainer/resident/asked_rows.h"
#include "worker/trainer/resident/rows_ahead.h"
#include "worker/trainer/resident/warpgroup.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// One slice of a member, one layer. N = batch tape tokens, of which R = batch outputs are asked for, in rows as asked_rows.h says. What is written may not
// overlap what is read.
struct MlpBackward {
  const Half* matrices;  // [kLayerMatrices], as step_arguments.h says.
  const float *mlp1_b, *norm1_scale, *norm1_offset, *norm2_scale;
  const float* x1;           // [R, D], as forward left them.
  const Half* x2;            // [R, D].
  const float* norms;        // [R, 4]: of both, mean and 1 / deviation.
  const uint64_t* keep_mlp;  // [N]; null: nothing is dropped.
  float keep_scale;
  const float* dh;  // [R, D]: gradient of what the layer made.
  float* du;        // [R, D]: gradient of what the first norm made.
  float *d_mlp1_w, *d_mlp1_b, *d_mlp2_w, *d_mlp2_b, *d_norm2_scale, *d_norm2_offset;
  int batch, tape, outputs;
};

inline constexpr int kMlpRows = kGroups * kGroupRows;
inline constexpr int kSquaresOfGroup = kHidden / kGroupRows / kGroups;  // Of hidden features.

// Shared memory: the two matrices, then these numbers of 16 bits, then floats, then the rows ahead. dz has 256 rows of 64 tokens, and then those of the
// tile's other 64.
struct MlpHalves {
  static constexpr int kUp = 0, kDown = kAtDown - kAtUp, kU = kLayerMatrices - kAtUp, kDf = kU + kMlpRows * kRowLd,
                       kDz = kDf + kMlpRows * kRowLd, kDzOfGroup = kHidden * kRowLd, kCount = kDz + kGroups * kDzOfGroup;
};
static_assert(MlpHalves::kU % kFactorNumbers == 0 && MlpHalves::kDf % kFactorNumbers == 0 && MlpHalves::kDz % kFactorNumbers == 0);
struct MlpFloats {
  static constexpr int kMlp1B = 0, kScale1 = kHidden, kOffset1 = kScale1 + kDim, kScale2 = kOffset1 + kDim, kColumns = kScale2 + kDim,
                       kCount = kColumns + ColumnSums<3>::kFloats;
};

constexpr size_t MlpBackwardSharedBytes() { return MlpHalves::kCount * sizeof(Half) + MlpFloats::kCount * sizeof(float) + RowsAhead::kBytes; }

// A warp's gradients, among its threads: of 16 hidden features (rows) of each of its group's squares, and all 64 of the others. That of the first matrix is
// transposed.
struct MlpGradients {
  float w1[kSquaresOfGroup][8][4], w2[kSquaresOfGroup][8][4], b1[kSquaresOfGroup][2];

  // The first of these hidden features.
  LONGREACH_DEVICE static int Unit(int square) { return kGroupRows * (kSquaresOfGroup * Group() + square) + RowOfGroup(); }
};

// A tile: rows of those that are asked for.
struct MlpTile {
  int first, rows;

  // The row of a thread's turn; for one that does not exist, the last.
  LONGREACH_DEVICE int Row(int turn, int k) const { return first + Least(PartRow(turn, k), rows - 1); }
};
LONGREACH_DEVICE MlpTile MlpTileFrom(int first, int all) { return {first, Least(kMlpRows, all - first)}; }

// Asks for what a turn of a tile reads, if there are such rows.
LONGREACH_DEVICE void AskForMlpRows(const RowsAhead& ahead, const MlpBackward& a, const MlpTile& tile, int turn) {
  if (tile.rows > 0) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int row = tile.Row(turn, k);
      ahead.Ask(k, a.x1 + row * kDim, a.dh + row * kDim, a.x2 + row * kDim, a.norms + row * 4,
                a.keep_mlp == nullptr ? nullptr : a.keep_mlp + AskedRows{a.tape, a.outputs}.TokenOf(row));
    }
  }
  EndGroupOfCopies();
}

// The norms of a tile: to u what went into the MLP, to df what comes back out of it, to du what goes past it. The first turn of it has been asked for;
// that of the next tile is, when it ends.
LONGREACH_DEVICE void MlpNorms(const MlpBackward& a, Half* halves, const float* floats, const ColumnSums<3>& columns, const RowsAhead& ahead,
                               const MlpTile& tile, const MlpTile& next) {
  RowPart sums[3];  // Of the last bias, and of the second norm's scale and offset. Shared memory sees them once for each tile.
  for (RowPart& sum : sums) Clear(sum);
  LONGREACH_DEVICE_ROLLED
  for (int turn = 0; turn * kRowsOfTurn < tile.rows; ++turn) {
    ahead.Await();
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int row = PartRow(turn, k);
      const Float4 norms = ahead.Norms(k);
      RowPart u = ahead.First(k);
      Normalise(u, norms.x[0], norms.x[1]);
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
        const Float4 scale = LoadFour(floats + MlpFloats::kScale1 + PartFeature() + kPartApart * n);
        const Float4 offset = LoadFour(floats + MlpFloats::kOffset1 + PartFeature() + kPartApart * n);
        LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) u.at[n][i] = row < tile.rows ? u.at[n][i] * scale.x[i] + offset.x[i] : 0.0f;
      }
      StorePart(halves + MlpHalves::kU, row, u);
    }
    RowPart d[kPartRows], y[kPartRows];  // y: x2 as the norm leaves it.
    float inverse[kPartRows];
    uint64_t kept[kPartRows];
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const Float4 norms = ahead.Norms(k);
      d[k] = ahead.Second(k);
      y[k] = Widened(ahead.Third(k));
      Normalise(y[k], norms.x[2], norms.x[3]);
      inverse[k] = norms.x[3];
      kept[k] = a.keep_mlp == nullptr ? ~uint64_t{0} : ahead.Kept(k);
    }
    ahead.Free();
    const bool last = (turn + 1) * kRowsOfTurn >= tile.rows;
    // Chosen by number: one of two structures would be read from memory.
    AskForMlpRows(ahead, a, {last ? next.first : tile.first, last ? next.rows : tile.rows}, last ? 0 : turn + 1);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      if (PartRow(turn, k) >= tile.rows) Clear(d[k]);  // Of a row that does not exist, the tile's last one was read, and counts for nothing.
    }
    NormBackward(d, y, inverse, floats + MlpFloats::kScale2, sums[1], sums[2]);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int row = PartRow(turn, k);
      const bool exists = row < tile.rows;
      const RowPart df = Kept(d[k], kept[k], a.keep_mlp == nullptr ? 1.0f : a.keep_scale);
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
        LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) sums[0].at[n][i] += df.at[n][i];
      }
      StorePart(halves + MlpHalves::kDf, row, df);
      if (exists) StorePart(a.du + (tile.first + row) * kDim, d[k]);
    }
  }
  columns.Add(sums);
}

// Of 64 tokens of a tile, the first or the second: the hidden features z and their gradients dz, both with features as rows, so that they are first factors
// as they lie; from them the gradients of the matrices, and dz into shared memory for MlpInputs(). group: this warp's.
LONGREACH_DEVICE void MlpWeights(MlpGradients& sums, Half* halves, const float* mlp1_b, int tokens, int group) {
  const int g = Lane() >> 2, c = Lane() & 3;
  const Half* const u = halves + MlpHalves::kU + tokens * kSquare;
  const Half* const df = halves + MlpHalves::kDf + tokens * kSquare;
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kSquaresOfGroup; ++m) {
    const int square = (kSquaresOfGroup * group + m) * kSquare, unit = MlpGradients::Unit(m) + g;
    uint32_t hidden[4][4];
    {
      float z[8][4];
      const float low = mlp1_b[unit], high = mlp1_b[unit + 8];
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        z[n][0] = z[n][1] = low;
        z[n][2] = z[n][3] = high;
      }
      BeginProducts(z);
      GroupMultiplyAdd<true, false, 4>(z, halves + MlpHalves::kUp + square, u);
      EndProducts();
      AwaitProducts<0>(z);
      ToGroupFactor(hidden, z);
      KeepPositive(hidden);
    }
    float dz[8][4];
    BeginProducts(hidden, sums.w2[m]);
    GroupMultiply<false, false, 4>(dz, halves + MlpHalves::kDown + square, df);
    GroupMultiplyAdd<true, 4>(sums.w2[m], hidden, df);
    EndProducts();
    AwaitProducts<0>(dz, hidden, sums.w2[m]);
    uint32_t factor[4][4];
    ToGroupFactor(factor, dz);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
        factor[k][i] = WherePositive(factor[k][i], hidden[k][i]);
        sums.b1[m][i & 1] += Low(factor[k][i]) + High(factor[k][i]);
      }
    }
    BeginProducts(factor, sums.w1[m]);
    GroupMultiplyAdd<true, 4>(sums.w1[m], factor, u);
    EndProducts();
    Half* const to = halves + MlpHalves::kDz + tokens * MlpHalves::kDzOfGroup;
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) StorePair(to + Swizzled(unit + 8 * (i & 1), 16 * k + 8 * (i >> 1) + 2 * c), factor[k][i]);
    }
    AwaitProducts<0>(factor, sums.w1[m]);
  }
}

// x = dz W1^T, 64 tokens to a group.
LONGREACH_DEVICE void MlpInputs(GroupSums& x, const Half* halves, int group) {
  const Half *const dz = halves + MlpHalves::kDz + group * MlpHalves::kDzOfGroup, *const up = halves + MlpHalves::kUp;
  BeginProducts();
  GroupMultiply<true, false, 4>(x.at, dz, up);
  LONGREACH_DEVICE_UNROLL for (int m = 1; m < kHidden / kGroupRows; ++m) GroupMultiplyAdd<true, false, 4>(x.at, dz + m * kSquare, up + m * kSquare);
  EndProducts();
  AwaitProducts<0>(x.at);
}

LONGREACH_DEVICE void StoreMlpGradients(const MlpBackward& a, const MlpGradients& sums) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kSquaresOfGroup; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int unit = MlpGradients::Unit(m) + g + 8 * half;
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) {
          const int feature = 8 * n + 2 * c + i;
          a.d_mlp1_w[feature * kHidden + unit] = sums.w1[m][n][2 * half + i];
          a.d_mlp2_w[unit * kDim + feature] = sums.w2[m][n][2 * half + i];
        }
      }
      const float b = SumOfFour(sums.b1[m][half]);
      if (c == 0) a.d_mlp1_b[unit] = b;
    }
  }
}

// A layer of one slice of a member, by one block. shared: MlpBackwardSharedBytes() bytes, aligned to 1024. What it reads must be there for all threads, and
// so is what it writes: it ends with a SyncBlock().
LONGREACH_DEVICE void BackwardMlp(const MlpBackward& arguments, char* shared) {
  const MlpBackward a = arguments;  // What is assumed of pointers in memory is forgotten at the next write.
  AssumeShared<MlpBackwardSharedBytes()>(shared);
  AssumeGlobal(a.matrices, a.mlp1_b, a.norm1_scale, a.norm1_offset, a.norm2_scale, a.x1, a.x2, a.norms, a.keep_mlp, a.dh, a.du, a.d_mlp1_w, a.d_mlp1_b,
               a.d_mlp2_w, a.d_mlp2_b, a.d_norm2_scale, a.d_norm2_offset);
  Half* const halves = reinterpret_cast<Half*>(shared);
  float* const floats = reinterpret_cast<float*>(halves + MlpHalves::kCount);
  const ColumnSums<3> columns = {floats + MlpFloats::kColumns};
  BeginCopy(halves, a.matrices + kAtUp, kLayerMatrices - kAtUp);
  BeginCopy(floats + MlpFloats::kMlp1B, a.mlp1_b, kHidden);
  BeginCopy(floats + MlpFloats::kScale1, a.norm1_scale, kDim);
  BeginCopy(floats + MlpFloats::kOffset1, a.norm1_offset, kDim);
  BeginCopy(floats + MlpFloats::kScale2, a.norm2_scale, kDim);
  EndGroupOfCopies();
  const RowsAhead ahead(shared + MlpHalves::kCount * sizeof(Half) + MlpFloats::kCount * sizeof(float));
  const int all = a.batch * a.outputs, group = OfWarp(Group());
  AskForMlpRows(ahead, a, MlpTileFrom(0, all), 0);
  ClearFloats(columns.at, ColumnSums<3>::kFloats);
  AwaitCopies<1>();
  PublishToProducts();
  SyncBlock();
  MlpGradients sums = {};
  for (int first = 0; first < all; first += kMlpRows) {
    const MlpTile tile = MlpTileFrom(first, all), next = MlpTileFrom(first + kMlpRows, all);
    MlpNorms(a, halves, floats, columns, ahead, tile, next);
    Prefetch<kMlpRows * kDim>(a.x1 + next.first * kDim, next.rows * kDim);
    Prefetch<kMlpRows * kDim>(a.x2 + next.first * kDim, next.rows * kDim);
    Prefetch<kMlpRows * kDim>(a.dh + next.first * kDim, next.rows * kDim);
    PublishToProducts();
    SyncBlock();
    LONGREACH_DEVICE_ROLLED
    for (int tokens = 0; tokens * kGroupRows < tile.rows; ++tokens) MlpWeights(sums, halves, floats + MlpFloats::kMlp1B, tokens, group);
    float* const du = a.du + tile.first * kDim;
    GroupSums past;
    past.Load(du, tile.rows);  // On its way during the products.
    PublishToProducts();
    SyncBlock();
    if (kGroupRows * group < tile.rows) {
      GroupSums x;
      MlpInputs(x, halves, group);
      x.Add(past);
      x.Store(du, tile.rows);
    }
  }
  StoreMlpGradients(a, sums);
  columns.Store({a.d_mlp2_b, a.d_norm2_scale, a.d_norm2_offset});
  SyncBlock();
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
