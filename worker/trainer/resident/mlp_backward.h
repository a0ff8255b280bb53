// The second half of an encoder layer, backward: LayerNorm, dropout, the MLP with the gradients of its weights, and the sum that goes on
// to the first LayerNorm. The block walks over tiles of 128 tokens; each warp owns 32 hidden features, so the gradients of both matrices
// stay in registers (128 to a thread) from the first tile to the last, and no two threads add to the same number.
#pragma once

#include "worker/trainer/resident/asked_rows.h"
#include "worker/trainer/resident/products.h"
#include "worker/trainer/resident/rows_ahead.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// One slice of a member, one layer. N = batch tape tokens, of which R = batch outputs are asked for, in rows as asked_rows.h says. What is written may not
// overlap what is read.
struct MlpBackward {
  const Half* matrices;  // [kLayerMatrices], as step_arguments.h says.
  const float *mlp1_b, *norm1_scale, *norm1_offset, *norm2_scale;
  const float* x1;           // [R, D], as forward left them.
  const Half* x2;            // [R, D].
  const uint64_t* keep_mlp;  // [N]; null: nothing is dropped.
  float keep_scale;
  const float* dh;  // [R, D]: gradient of what the layer made.
  float* du;        // [R, D]: gradient of what the first norm made.
  float *d_mlp1_w, *d_mlp1_b, *d_mlp2_w, *d_mlp2_b, *d_norm2_scale, *d_norm2_offset;
  int batch, tape, outputs;
};

inline constexpr int kMlpRows = 16 * kWarps;
inline constexpr int kHiddenLd = 136;    // Rows of 128 tokens.
inline constexpr int kHiddenOfWarp = 32;
static_assert(kHiddenOfWarp * kWarps == kHidden);

// Shared memory: the two matrices, then these numbers of 16 bits, then floats, then the rows ahead.
struct MlpHalves {
  static constexpr int kUp = 0, kDown = kAtDown - kAtUp, kU = kLayerMatrices - kAtUp, kDf = kU + kMlpRows * kRowLd,
                       kDz = kDf + kMlpRows * kRowLd, kCount = kDz + kHidden * kHiddenLd;
};
struct MlpFloats {
  static constexpr int kMlp1B = 0, kScale1 = kHidden, kOffset1 = kScale1 + kDim, kScale2 = kOffset1 + kDim, kColumns = kScale2 + kDim,
                       kCount = kColumns + ColumnSums<3>::kFloats;
};

constexpr size_t MlpBackwardSharedBytes() { return MlpHalves::kCount * sizeof(Half) + MlpFloats::kCount * sizeof(float) + RowsAhead::kBytes; }

// A warp's gradients, among its threads: of its 32 hidden features (rows) and all 64 of the others. That of the first matrix is transposed.
struct MlpGradients {
  float w1[2][8][4], w2[2][8][4], b1[2][2];
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
      ahead.Ask(k, a.x1 + row * kDim, a.dh + row * kDim, a.x2 + row * kDim);
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
    uint64_t kept[kPartRows];
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      kept[k] = a.keep_mlp == nullptr ? ~uint64_t{0} : a.keep_mlp[AskedRows{a.tape, a.outputs}.TokenOf(tile.Row(turn, k))];
    }
    RowPart d[kPartRows], of_norms[2 * kPartRows];  // The sums before both norms: x1 of each row, then x2.
    {
      RowPart x1[kPartRows];
      HalfPart x2[kPartRows];
      ahead.Take(x1, d, x2);
      LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
        of_norms[k] = x1[k];
        of_norms[kPartRows + k] = Widened(x2[k]);
      }
    }
    const bool last = (turn + 1) * kRowsOfTurn >= tile.rows;
    AskForMlpRows(ahead, a, last ? next : tile, last ? 0 : turn + 1);
    float deviations[2 * kPartRows];
    Normalise(of_norms, deviations);
    RowPart y[kPartRows];
    float inverse[kPartRows];
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      y[k] = of_norms[kPartRows + k];
      inverse[k] = deviations[kPartRows + k];
      if (PartRow(turn, k) >= tile.rows) Clear(d[k]);  // Of a row that does not exist, the tile's last one was read, and counts for nothing.
    }
    NormBackward(d, y, inverse, floats + MlpFloats::kScale2, sums[1], sums[2]);
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < kPartRows; ++k) {
      const int row = PartRow(turn, k);
      const bool exists = row < tile.rows;
      const RowPart df = Kept(d[k], kept[k], a.keep_mlp == nullptr ? 1.0f : a.keep_scale);
      RowPart& u = of_norms[k];
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 2; ++n) {
        const Float4 scale = LoadFour(floats + MlpFloats::kScale1 + PartFeature() + kPartApart * n);
        const Float4 offset = LoadFour(floats + MlpFloats::kOffset1 + PartFeature() + kPartApart * n);
        LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
          sums[0].at[n][i] += df.at[n][i];
          u.at[n][i] = exists ? u.at[n][i] * scale.x[i] + offset.x[i] : 0.0f;
        }
      }
      StorePart(halves + MlpHalves::kDf + row * kRowLd, df);
      StorePart(halves + MlpHalves::kU + row * kRowLd, u);
      if (exists) StorePart(a.du + (tile.first + row) * kDim, d[k]);
    }
  }
  columns.Add(sums);
}

// Of 32 tokens from t0 on: the hidden features z and their gradients dz, both with features as rows, so that they are first factors as
// they lie; from them the gradients of the matrices, and dz into shared memory for MlpInputs().
LONGREACH_DEVICE void MlpWeights(MlpGradients& sums, Half* halves, const float* mlp1_b, int t0) {
  const int g = Lane() >> 2, c = Lane() & 3, j0 = kHiddenOfWarp * Warp();
  const Half* const u = halves + MlpHalves::kU + t0 * kRowLd;
  const Half* const df = halves + MlpHalves::kDf + t0 * kRowLd;
  float z[2][4][4], dz[2][4][4] = {};
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
    const float low = mlp1_b[j0 + 16 * m + g], high = mlp1_b[j0 + 16 * m + g + 8];
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
      z[m][n][0] = z[m][n][1] = low;
      z[m][n][2] = z[m][n][3] = high;
    }
  }
  LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
    uint32_t w1[2][1][4], w2[2][1][4];
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
      LoadATransposed(w1[m][0], halves + MlpHalves::kUp + 16 * k * kLdUp + j0 + 16 * m, kLdUp);
      LoadA(w2[m][0], halves + MlpHalves::kDown + (j0 + 16 * m) * kLdDown + 16 * k, kLdDown);
    }
    Multiply<2, 4, 1, true>(z, w1, u + 16 * k, kRowLd);
    Multiply<2, 4, 1, true>(dz, w2, df + 16 * k, kRowLd);
  }
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
        if (!(z[m][n][i] > 0.0f)) z[m][n][i] = dz[m][n][i] = 0.0f;
        sums.b1[m][i >> 1] += dz[m][n][i];
      }
    }
  }
  uint32_t z_factor[2][2][4], dz_factor[2][2][4];
  ToFactor(z_factor, z);
  ToFactor(dz_factor, dz);
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < 2; ++k) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
        const int unit = j0 + 16 * m + g + 8 * (i & 1), token = t0 + 16 * k + 8 * (i >> 1) + 2 * c;
        StorePair(halves + MlpHalves::kDz + unit * kHiddenLd + token, dz_factor[m][k][i]);
      }
    }
  }
  Multiply(sums.w2, z_factor, df, kRowLd);
  Multiply(sums.w1, dz_factor, u, kRowLd);
}

// x += dz W1^T: 32 tokens to a warp, half of the features. So a warp reads half of W1, and two of them the same tokens.
LONGREACH_DEVICE void MlpInputs(RowSums& x, const Half* halves) {
  x.Multiply<kHidden>([&](int k) {
    RowSums::Factors factors;
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
      LoadATransposed(factors.a[m], halves + MlpHalves::kDz + k * kHiddenLd + RowSums::Row() + 16 * m, kHiddenLd);
      RowSums::LoadFeatures(factors.b[m], halves + MlpHalves::kUp + (RowSums::Column() + 16 * m) * kLdUp + k, kLdUp);
    }
    return factors;
  });
}

LONGREACH_DEVICE void StoreMlpGradients(const MlpBackward& a, const MlpGradients& sums) {
  const int g = Lane() >> 2, c = Lane() & 3, j0 = kHiddenOfWarp * Warp();
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < 2; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int unit = j0 + 16 * m + g + 8 * half;
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

// A layer of one slice of a member, by one block. shared: MlpBackwardSharedBytes() bytes, aligned to 16. What it reads must be there for all threads, and
// so is what it writes: it ends with a SyncBlock().
LONGREACH_DEVICE void BackwardMlp(const MlpBackward& arguments, char* shared) {
  const MlpBackward a = arguments;  // What is assumed of pointers in memory is forgotten at the next write.
  AssumeShared<MlpBackwardSharedBytes()>(shared);
  AssumeGlobal(a.matrices, a.mlp1_b, a.norm1_scale, a.norm1_offset, a.norm2_scale, a.x1, a.x2, a.keep_mlp, a.dh, a.du, a.d_mlp1_w, a.d_mlp1_b,
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
  const int all = a.batch * a.outputs;
  MlpTile tile = MlpTileFrom(0, all);
  AskForMlpRows(ahead, a, tile, 0);
  ClearFloats(columns.at, ColumnSums<3>::kFloats);
  AwaitCopies<1>();
  SyncBlock();
  MlpGradients sums = {};
  while (tile.rows > 0) {
    const MlpTile next = MlpTileFrom(tile.first + tile.rows, all);
    MlpNorms(a, halves, floats, columns, ahead, tile, next);
    Prefetch<kMlpRows * kDim>(a.x1 + next.first * kDim, next.rows * kDim);
    Prefetch<kMlpRows * kDim>(a.x2 + next.first * kDim, next.rows * kDim);
    Prefetch<kMlpRows * kDim>(a.dh + next.first * kDim, next.rows * kDim);
    SyncBlock();
    LONGREACH_DEVICE_ROLLED
    for (int t0 = 0; t0 < tile.rows; t0 += 32) MlpWeights(sums, halves, floats + MlpFloats::kMlp1B, t0);
    float* const du = a.du + tile.first * kDim;
    RowSums x;
    x.Load(du, tile.rows);  // On its way while the warps wait for each other.
    SyncBlock();
    if (RowSums::Row() < tile.rows) {
      MlpInputs(x, halves);
      x.Store(du, tile.rows);
    }
    tile = next;
  }
  StoreMlpGradients(a, sums);
  columns.Store({a.d_mlp2_b, a.d_norm2_scale, a.d_norm2_offset});
  SyncBlock();
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
