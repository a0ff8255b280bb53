// One encoder layer, forward: projections, attention, output projection, dropout, residual, LayerNorm, MLP, dropout, residual, LayerNorm.
// The block keeps the layer's weights in shared memory and walks over tiles of whole sequences, 32 rows to a warp. Between the reads and
// the writes of global memory there are only shared memory and registers.
#pragma once

#include "worker/trainer/resident/asked_rows.h"
#include "worker/trainer/resident/projections.h"
#include "worker/trainer/resident/row_norm.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// One slice of a member, one layer. N = batch tape tokens, of which R = batch outputs are asked for, in rows as asked_rows.h says. What is written may not
// overlap what is read.
struct LayerForward {
  const Half* matrices;  // [kLayerMatrices], as step_arguments.h says.
  const float *mlp1_b, *mlp2_b, *norm1_scale, *norm1_offset, *norm2_scale, *norm2_offset;
  const float* h;  // [N, D].
  // What the layer makes of it, [R, D], and what the way back needs: the sums before the norms, attention's output, and log2 of the
  // softmax's denominators [H, N] of what is asked for. x1 is not rounded: from a rounded one other hidden features would be on than were on
  // forward.
  float* h_out;
  float* x1;
  Half* x2;
  Half* o;
  float* lse;
  // [N]: bits of the features that are kept after attention, and after the MLP. Null: nothing is dropped.
  const uint64_t *keep_attention, *keep_mlp;
  float keep_scale;       // What kept features are multiplied by.
  const float* table;     // [H, kTable], times log2(e).
  const float* rotation;  // [T, 8]: four cosines, four sines.
  int batch, tape, outputs;
};

inline constexpr int kForwardM = 2;  // Tiles of 16 rows of a warp.
inline constexpr int kForwardRows = 16 * kForwardM * kWarps;
using ForwardSums = float[kForwardM][8][4];  // 32 rows of 64 features, among the threads of a warp.

// Floats of shared memory, after the matrices; then comes the tile.
struct ForwardFloats {
  static constexpr int kMlp1B = 0, kMlp2B = kHidden, kScale1 = kMlp2B + kDim, kOffset1 = kScale1 + kDim, kScale2 = kOffset1 + kDim,
                       kOffset2 = kScale2 + kDim, kTerms = kOffset2 + kDim, kCount = kTerms + kHeads * kTable;
};
static_assert(kRotationFloats <= kHeads * kTable, "cosines and sines lie where a table would");

constexpr size_t LayerForwardSharedBytes() {
  return kLayerMatrices * sizeof(Half) + ForwardFloats::kCount * sizeof(float) + (kForwardRows + kOverhang) * kTileLd * sizeof(Half);
}

LONGREACH_DEVICE void StoreSum(float* to, float x, float y) { StoreFloat2(to, x, y); }
LONGREACH_DEVICE void StoreSum(Half* to, float x, float y) { StorePair(to, Pack(x, y)); }

// Rows of a tile of which there are `count`, from `first` on among those that are asked for.
struct TileRows {
  AskedRows asked;
  int first, count;

  LONGREACH_DEVICE int TokenOf(int row) const { return asked.TokenOf(first + row); }
};

// x is a branch; adds it to the residual where it is kept, stores the sum [R, D], and normalises it into x. keep: bits of all tokens, or null.
template <class Stored>
LONGREACH_DEVICE void AddAndNormalise(ForwardSums& x, const ForwardSums& residual, const uint64_t* keep, float keep_scale, Stored* sum,
                                      const float* scale, const float* offset, int row0, const TileRows& rows) {
  const int g = Lane() >> 2, c = Lane() & 3;
  const float factor = keep == nullptr ? 1.0f : keep_scale;
  uint64_t kept[kForwardM][2];  // All of them, before anything is stored: the compiler moves no load above a store that might be to the same place.
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row0 + 16 * m + g + 8 * half;
      kept[m][half] = keep == nullptr || row >= rows.count ? ~uint64_t{0} : keep[rows.TokenOf(row)];
    }
  }
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row0 + 16 * m + g + 8 * half;
      const bool exists = row < rows.count;
      const uint64_t bits = kept[m][half] >> (2 * c);
      float mean = 0, square = 0;
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        float(&y)[4] = x[m][n];
        LONGREACH_DEVICE_UNROLL for (int i = 2 * half; i < 2 * half + 2; ++i) {
          y[i] = ((bits >> (8 * n + i - 2 * half)) & 1u ? y[i] * factor : 0.0f) + residual[m][n][i];
          mean += y[i];
        }
        if (exists) StoreSum(sum + (rows.first + row) * kDim + 8 * n + 2 * c, y[2 * half], y[2 * half + 1]);
      }
      mean = SumOfFour(mean) * (1.0f / kDim);
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        LONGREACH_DEVICE_UNROLL for (int i = 2 * half; i < 2 * half + 2; ++i) {
          x[m][n][i] -= mean;
          square += x[m][n][i] * x[m][n][i];
        }
      }
      const float inverse = InverseSqrt(SumOfFour(square) * (1.0f / kDim) + kNormEpsilon);
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        const Float2 s = LoadFloat2(scale + 8 * n + 2 * c), b = LoadFloat2(offset + 8 * n + 2 * c);
        float(&y)[4] = x[m][n];
        y[2 * half] = y[2 * half] * inverse * s.x + b.x;
        y[2 * half + 1] = y[2 * half + 1] * inverse * s.y + b.y;
      }
    }
  }
}

// The MLP of the rows `u`: f, without its last bias. 32 hidden features at a time, which never leave the registers.
LONGREACH_DEVICE void Mlp(ForwardSums& f, const uint32_t (&u)[kForwardM][4][4], const Half* matrices, const float* mlp1_b) {
  const int c = Lane() & 3;
  LONGREACH_DEVICE_ROLLED
  for (int j0 = 0; j0 < kHidden; j0 += 32) {
    float z[kForwardM][4][4];
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
      const Float2 b = LoadFloat2(mlp1_b + j0 + 8 * n + 2 * c);
      LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
        z[m][n][0] = z[m][n][2] = b.x;
        z[m][n][1] = z[m][n][3] = b.y;
      }
    }
    Multiply(z, u, matrices + kAtUp + j0, kLdUp);
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 4; ++n) {
        LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) z[m][n][i] = Max(z[m][n][i], 0.0f);
      }
    }
    uint32_t hidden[kForwardM][2][4];
    ToFactor(hidden, z);
    Multiply(f, hidden, matrices + kAtDown + j0 * kLdDown, kLdDown);
  }
}

// Of a thread's rows in h [N, D], those of the tokens that token_of() tells; where there is none, below 0, zeros.
template <class TokenOf>
LONGREACH_DEVICE void LoadRows(ForwardSums& h, const float* from, int row0, const TokenOf& token_of) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int token = token_of(row0 + 16 * m + g + 8 * half);
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        const Float2 x = token >= 0 ? LoadFloat2(from + token * kDim + 8 * n + 2 * c) : Float2{0.0f, 0.0f};
        h[m][n][2 * half] = x.x;
        h[m][n][2 * half + 1] = x.y;
      }
    }
  }
}
LONGREACH_DEVICE void StoreRows(float* to, const ForwardSums& h, int row0, const TileRows& rows) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
      LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
        const int row = row0 + 16 * m + g + 8 * half;
        if (row < rows.count) StoreFloat2(to + (rows.first + row) * kDim + 8 * n + 2 * c, h[m][n][2 * half], h[m][n][2 * half + 1]);
      }
    }
  }
}

using OutputFactor = uint32_t[kForwardM][4][4];  // Rows of attention's output, as the first factor.

// From the tile, with a copy of it to o [R, D]: eight threads to a row, so that whole lines are written.
LONGREACH_DEVICE void TakeOutput(OutputFactor& factor, const Half* tile, Half* o, int row0, const TileRows& rows) {
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) LoadA(factor[m][k], tile + (row0 + 16 * m) * kTileLd + 16 * k, kTileLd);
  }
  const int feature = 8 * (Lane() & 7);
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < 16 * kForwardM; i += 4) {
    const int row = row0 + i + (Lane() >> 3);
    if (row < rows.count) StoreWords4(o + (rows.first + row) * kDim + feature, LoadWords4(tile + row * kTileLd + feature));
  }
}
// From such a copy.
LONGREACH_DEVICE void LoadOutput(OutputFactor& factor, const Half* o, int row0, const TileRows& rows) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
        const int row = row0 + 16 * m + g + 8 * (i & 1);
        factor[m][k][i] = row < rows.count ? LoadPair(o + (rows.first + row) * kDim + 16 * k + 8 * (i >> 1) + 2 * c) : 0u;
      }
    }
  }
}
// To o [R, D], from a tile of `count` sequences, what of them is asked for: by the whole block, in pairs. `first`: the first of these rows.
LONGREACH_DEVICE void StoreOutput(Half* o, const Half* tile, const AskedRows& asked, int first, int count) {
  constexpr int kPairs = kDim / 2;
  for (int i = Thread(); i < count * asked.outputs * kPairs; i += kThreads) {
    const int row = i / kPairs, feature = i % kPairs * 2;
    StorePair(o + (first + row) * kDim + feature, LoadPair(tile + asked.TokenOf(row) * kTileLd + feature));
  }
}

// From attention's output on: what of a layer is for each row alone, for this warp's 32 rows. waiting: 32 rows of kTileLd numbers that are the
// warp's own, where x waits while the MLP needs the registers; once it has been read, SyncWarp() must come before others write there.
LONGREACH_DEVICE void FinishRows(const LayerForward& a, const OutputFactor& output, const ForwardSums& h, const Half* matrices, const float* floats,
                                 Half* waiting, int row0, const TileRows& rows) {
  const int c = Lane() & 3;
  ForwardSums x = {};
  Multiply(x, output, matrices + kAtOut, kLdOut);
  AddAndNormalise(x, h, a.keep_attention, a.keep_scale, a.x1, floats + ForwardFloats::kScale1, floats + ForwardFloats::kOffset1, row0, rows);
  SyncWarp();
  uint32_t factor[kForwardM][4][4];
  ToFactor(factor, x);
  float* const at = reinterpret_cast<float*>(waiting) + Lane();
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < kForwardM * 32; ++i) at[32 * i] = x[i / 32][i / 4 % 8][i % 4];
  ForwardSums f = {};
  Mlp(f, factor, matrices, floats + ForwardFloats::kMlp1B);
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < kForwardM * 32; ++i) {
    f[i / 32][i / 4 % 8][i % 4] += floats[ForwardFloats::kMlp2B + 8 * (i / 4 % 8) + 2 * c + (i & 1)];
    x[i / 32][i / 4 % 8][i % 4] = at[32 * i];
  }
  AddAndNormalise(f, x, a.keep_mlp, a.keep_scale, a.x2, floats + ForwardFloats::kScale2, floats + ForwardFloats::kOffset2, row0, rows);
  StoreRows(a.h_out, f, row0, rows);
}

LONGREACH_DEVICE void AssumeGlobal(const LayerForward& a) {
  AssumeGlobal(a.matrices, a.mlp1_b, a.mlp2_b, a.norm1_scale, a.norm1_offset, a.norm2_scale, a.norm2_offset, a.h, a.h_out, a.x1, a.x2, a.o, a.lse,
               a.keep_attention, a.keep_mlp, a.table, a.rotation);
}

// The same of the rows that are asked for, where these are not all tokens: of what ForwardLayer() has put into o, with its shared memory.
LONGREACH_DEVICE void FinishAskedRows(const LayerForward& arguments, char* shared) {
  const LayerForward a = arguments;
  AssumeShared<LayerForwardSharedBytes()>(shared);
  AssumeGlobal(a);
  const Half* const matrices = reinterpret_cast<const Half*>(shared);
  float* const floats = reinterpret_cast<float*>(shared + kLayerMatrices * sizeof(Half));
  const int row0 = Warp() * 16 * kForwardM, all = a.batch * a.outputs;
  Half* const waiting = reinterpret_cast<Half*>(floats + ForwardFloats::kCount) + row0 * kTileLd;
  for (int first = 0; first < all; first += kForwardRows) {
    const TileRows rows = {.asked = {a.tape, a.outputs}, .first = first, .count = Least(kForwardRows, all - first)};
    if (row0 >= rows.count) continue;  // Of this warp there is none: it waits for nobody.
    ForwardSums h;
    LoadRows(h, a.h, row0, [&](int row) { return row < rows.count ? rows.TokenOf(row) : -1; });
    OutputFactor output;
    LoadOutput(output, a.o, row0, rows);
    FinishRows(a, output, h, matrices, floats, waiting, row0, rows);
    SyncWarp();
  }
}

// A layer of one slice of a member, by one block. shared: LayerForwardSharedBytes() bytes, aligned to 16. What
// it reads must be there for all threads, and so is what it writes: it ends with a SyncBlock().
template <Positional kPositional>
LONGREACH_DEVICE void ForwardLayer(const LayerForward& arguments, char* shared) {
  const LayerForward a = arguments;  // What is assumed of pointers in memory is forgotten at the next write.
  AssumeShared<LayerForwardSharedBytes()>(shared);
  AssumeGlobal(a);
  Half* const matrices = reinterpret_cast<Half*>(shared);
  float* const floats = reinterpret_cast<float*>(matrices + kLayerMatrices);
  float* const terms = floats + ForwardFloats::kTerms;
  Half* const tile = reinterpret_cast<Half*>(floats + ForwardFloats::kCount);
  const int T = a.tape;
  BeginCopy(matrices, a.matrices, kLayerMatrices);
  BeginCopy(floats + ForwardFloats::kMlp1B, a.mlp1_b, kHidden);
  BeginCopy(floats + ForwardFloats::kMlp2B, a.mlp2_b, kDim);
  BeginCopy(floats + ForwardFloats::kScale1, a.norm1_scale, kDim);
  BeginCopy(floats + ForwardFloats::kOffset1, a.norm1_offset, kDim);
  BeginCopy(floats + ForwardFloats::kScale2, a.norm2_scale, kDim);
  BeginCopy(floats + ForwardFloats::kOffset2, a.norm2_offset, kDim);
  if constexpr (HasBias(kPositional)) BeginCopy(terms, a.table, kHeads * kTable);
  if constexpr (kPositional == Positional::kRotary) BeginCopy(terms, a.rotation, T * kHeadDim);
  EndGroupOfCopies();
  ClearHalves(tile + kForwardRows * kTileLd, kOverhang * kTileLd);
  AwaitCopies<0>();
  SyncBlock();

  const int group = kForwardRows / T, row0 = Warp() * 16 * kForwardM;
  const AskedRows asked = {T, a.outputs};
  for (int first = 0; first < a.batch; first += group) {
    const int count = Least(group, a.batch - first), rows = count * T, token = first * T;
    ForwardSums h;
    LoadRows(h, a.h, row0, [&](int row) { return row < rows ? token + row : -1; });
    Prefetch<kForwardRows * kDim>(a.h + (token + rows) * kDim, Least(group, a.batch - first - count) * T * kDim);
    {
      uint32_t factor[kForwardM][4][4];
      ToFactor(factor, h);
      ProjectHeads<kPositional, kHeads, kForwardM, 4>(tile, factor, matrices, terms, T, row0, 0);
    }
    SyncBlock();
    ForKeyTiles(T, [&]<int kKeyTiles>() {
      LONGREACH_DEVICE_ROLLED
      for (int i = Warp(); i < kHeads * count; i += kWarps) {
        const int head = i % kHeads, sequence = i / kHeads;
        const HeadTerms of_head = {.table = terms + head * kTable, .slopes = nullptr, .rotation = nullptr};
        AttendForward<kKeyTiles, kPositional>(tile + sequence * T * kTileLd, T, asked.FirstPosition(), head, of_head,
                                              a.lse + head * a.batch * T + token + sequence * T);
      }
    });
    SyncBlock();
    if (asked.All()) {
      const TileRows all = {.asked = asked, .first = token, .count = rows};
      OutputFactor output;
      TakeOutput(output, tile, a.o, row0, all);
      FinishRows(a, output, h, matrices, floats, tile + row0 * kTileLd, row0, all);
      SyncWarp();  // Before the next tile lies where x waited.
    } else {
      StoreOutput(a.o, tile, asked, first * a.outputs, count);
      SyncBlock();
    }
  }
  SyncBlock();
  if (asked.All()) return;
  FinishAskedRows(arguments, shared);
  SyncBlock();
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
