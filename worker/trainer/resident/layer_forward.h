// One encoder layer, forward: projections, attention, output projection, dropout, residual, LayerNorm, MLP, dropout, residual, LayerNorm.
// The block keeps the layer's weights in shared memory and walks over tiles of whole sequences, 128 rows to a group of warps. Between the reads and
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
  float* norms;  // [R, 4]: of x1's row, and of x2's, mean and 1 / deviation.
  // [N]: bits of the features that are kept after attention, and after the MLP. Null: nothing is dropped.
  const uint64_t *keep_attention, *keep_mlp;
  float keep_scale;       // What kept features are multiplied by.
  const float* table;     // [H, kTable], times log2(e).
  const float* rotation;  // [T, 8]: four cosines, four sines.
  int batch, tape, outputs;
};

inline constexpr int kForwardM = 2;  // Tiles of 64 rows of a group, 16 of each to a warp.
inline constexpr int kForwardRows = kGroupRows * kForwardM * kGroups;
inline constexpr int kForwardPart = (kForwardRows + kOverhang) * kRowLd;  // Numbers of queries, of keys and of values.
using ForwardSums = float[kForwardM][8][4];  // 32 rows of 64 features, among the threads of a warp.

// Floats of shared memory, after the matrices; then comes the tile.
struct ForwardFloats {
  static constexpr int kMlp1B = 0, kMlp2B = kHidden, kScale1 = kMlp2B + kDim, kOffset1 = kScale1 + kDim, kScale2 = kOffset1 + kDim,
                       kOffset2 = kScale2 + kDim, kTerms = kOffset2 + kDim, kCount = kTerms + kHeads * kTable;
};
static_assert(kRotationFloats <= kHeads * kTable, "cosines and sines lie where a table would");

constexpr size_t LayerForwardSharedBytes() {
  return kLayerMatrices * sizeof(Half) + ForwardFloats::kCount * sizeof(float) + 3 * kForwardPart * sizeof(Half);
}

LONGREACH_DEVICE void StoreSum(float* to, float x, float y) { StoreFloat2(to, x, y); }
LONGREACH_DEVICE void StoreSum(Half* to, float x, float y) { StorePair(to, Pack(x, y)); }

// Rows of a tile of which there are `count`, from `first` on among those that are asked for.
struct TileRows {
  AskedRows asked;
  int first, count;

  LONGREACH_DEVICE int TokenOf(int row) const { return asked.TokenOf(first + row); }
};

// Bits of the features that are kept of this thread's rows. keep: of all tokens, or null.
using KeptBits = uint64_t[kForwardM][2];
LONGREACH_DEVICE void LoadKept(KeptBits& kept, const uint64_t* keep, int row0, const TileRows& rows) {
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row0 + kGroupRows * m + (Lane() >> 2) + 8 * half;
      kept[m][half] = keep == nullptr || row >= rows.count ? ~uint64_t{0} : keep[rows.TokenOf(row)];
    }
  }
}

// x is a branch; adds it to the residual where it is kept, stores the sum [R, D], and normalises it into x, with mean and 1 / deviation to norms [R, 4].
// residual(i): number i of this thread's.
template <class Residual, class Stored>
LONGREACH_DEVICE void AddAndNormalise(ForwardSums& x, const Residual& residual, const KeptBits& kept, float factor, Stored* sum, float* norms,
                                      const float* scale, const float* offset, int row0, const TileRows& rows) {
  const int g = Lane() >> 2, c = Lane() & 3;
  float mean[kForwardM][2] = {}, inverse[kForwardM][2] = {};  // Of all rows together: a shuffle takes its time, and the next one does not wait for it.
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row0 + kGroupRows * m + g + 8 * half;
      const bool exists = row < rows.count;
      const uint64_t bits = kept[m][half] >> (2 * c);
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        float(&y)[4] = x[m][n];
        LONGREACH_DEVICE_UNROLL for (int i = 2 * half; i < 2 * half + 2; ++i) {
          y[i] = ((bits >> (8 * n + i - 2 * half)) & 1u ? y[i] * factor : 0.0f) + residual(32 * m + 4 * n + i);
          mean[m][half] += y[i];
        }
        if (exists) StoreSum(sum + (rows.first + row) * kDim + 8 * n + 2 * c, y[2 * half], y[2 * half + 1]);
      }
    }
  }
  SumsOfFour(mean);
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      mean[m][half] *= 1.0f / kDim;
      LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
        LONGREACH_DEVICE_UNROLL for (int i = 2 * half; i < 2 * half + 2; ++i) {
          x[m][n][i] -= mean[m][half];
          inverse[m][half] += x[m][n][i] * x[m][n][i];
        }
      }
    }
  }
  SumsOfFour(inverse);
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = row0 + kGroupRows * m + g + 8 * half;
      inverse[m][half] = InverseSqrt(inverse[m][half] * (1.0f / kDim) + kNormEpsilon);
      if (c == 0 && row < rows.count) StoreFloat2(norms + (rows.first + row) * 4, mean[m][half], inverse[m][half]);
    }
  }
  LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
    const Float2 s = LoadFloat2(scale + 8 * n + 2 * c), b = LoadFloat2(offset + 8 * n + 2 * c);
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
      LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
        float(&y)[4] = x[m][n];
        y[2 * half] = y[2 * half] * inverse[m][half] * s.x + b.x;
        y[2 * half + 1] = y[2 * half + 1] * inverse[m][half] * s.y + b.y;
      }
    }
  }
}

// The MLP of the rows `u`: f, without its last bias. 64 hidden features at a time, which never leave the registers.
LONGREACH_DEVICE void Mlp(ForwardSums& f, const uint32_t (&u)[kForwardM][4][4], const Half* matrices, const float* mlp1_b) {
  const int c = Lane() & 3;
  float z[kForwardM][8][4];
  uint32_t hidden[kForwardM][4][4] = {};
  const auto set = [&](int square) {
    LONGREACH_DEVICE_UNROLL for (int n = 0; n < 8; ++n) {
      const Float2 b = LoadFloat2(mlp1_b + kGroupRows * square + 8 * n + 2 * c);
      LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
        z[m][n][0] = z[m][n][2] = b.x;
        z[m][n][1] = z[m][n][3] = b.y;
      }
    }
  };
  const auto up = [&](int square) {
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) GroupMultiplyAdd<true, 4>(z[m], u[m], matrices + kAtUp + square * kSquare);
  };
  const auto take = [&] {
    AwaitProducts<0>(z, hidden, f);
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
      ToGroupFactor(hidden[m], z[m]);
      KeepPositive(hidden[m]);
    }
  };
  const auto down = [&](int square) {
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) GroupMultiplyAdd<true, 4>(f[m], hidden[m], matrices + kAtDown + square * kSquare);
  };
  constexpr int kLast = kHidden / kGroupRows - 1;
  set(0);
  BeginProducts(z, f);
  up(0);
  EndProducts();
  LONGREACH_DEVICE_ROLLED
  for (int square = 0; square < kLast; ++square) {
    take();
    BeginProducts(f, hidden);
    down(square);
    EndProducts();
    AwaitProducts<0>(f, hidden);
    set(square + 1);
    BeginProducts(z);
    up(square + 1);
    EndProducts();
  }
  take();
  BeginProducts(f, hidden);
  down(kLast);
  EndProducts();
  AwaitProducts<0>(f, hidden);
}

// Of a thread's rows in h [N, D], those of the tokens that token_of() tells; where there is none, below 0, zeros.
template <class TokenOf>
LONGREACH_DEVICE void LoadRows(ForwardSums& h, const float* from, int row0, const TokenOf& token_of) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int token = token_of(row0 + kGroupRows * m + g + 8 * half);
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
        const int row = row0 + kGroupRows * m + g + 8 * half;
        if (row < rows.count) StoreFloat2(to + (rows.first + row) * kDim + 8 * n + 2 * c, h[m][n][2 * half], h[m][n][2 * half + 1]);
      }
    }
  }
}

using OutputFactor = uint32_t[kForwardM][4][4];  // Rows of attention's output, as the first factor.

// From the tile, with a copy of it to o [R, D]: eight threads to a row, so that whole lines are written.
LONGREACH_DEVICE void TakeOutput(OutputFactor& factor, const Half* tile, Half* o, int row0, const TileRows& rows) {
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
      Load4(factor[m][k], tile + Swizzled(row0 + kGroupRows * m + (Lane() & 15), 16 * k + 8 * (Lane() >> 4)));
    }
  }
  const int feature = 8 * (Lane() & 7);
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < 16 * kForwardM; i += 4) {
    const int row = row0 + kGroupRows * (i / 16) + i % 16 + (Lane() >> 3);
    if (row < rows.count) StoreWords4(o + (rows.first + row) * kDim + feature, LoadWords4(tile + Swizzled(row, feature)));
  }
}
// From such a copy.
LONGREACH_DEVICE void LoadOutput(OutputFactor& factor, const Half* o, int row0, const TileRows& rows) {
  const int g = Lane() >> 2, c = Lane() & 3;
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) {
    LONGREACH_DEVICE_UNROLL for (int k = 0; k < 4; ++k) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
        const int row = row0 + kGroupRows * m + g + 8 * (i & 1);
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
    StorePair(o + (first + row) * kDim + feature, LoadPair(tile + Swizzled(asked.TokenOf(row), feature)));
  }
}

// From attention's output on: what of a layer is for each row alone, for this warp's 32 rows. Queries and keys of its rows in the tile are where x waits while
// the MLP needs the registers; once it has been read, SyncWarp() must come before others write there. load_next(h) loads the next rows of h.
template <class LoadNext>
LONGREACH_DEVICE void FinishRows(const LayerForward& a, const OutputFactor& output, ForwardSums& h, const Half* matrices, const float* floats, Half* tile,
                                 int row0, const TileRows& rows, const LoadNext& load_next) {
  const int c = Lane() & 3;
  const float keep_attention = a.keep_attention == nullptr ? 1.0f : a.keep_scale, keep_mlp = a.keep_mlp == nullptr ? 1.0f : a.keep_scale;
  KeptBits kept;
  LoadKept(kept, a.keep_attention, row0, rows);  // Before it is needed, and before what is stored: the compiler moves no load to the other side of that.
  ForwardSums x;
  BeginProducts();
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) GroupMultiply<true, 4>(x[m], output[m], matrices + kAtOut);
  EndProducts();
  AwaitProducts<0>(x);
  KeptBits kept_of_mlp;
  LoadKept(kept_of_mlp, a.keep_mlp, row0, rows);
  AddAndNormalise(x, [&](int i) { return h[i / 32][i / 4 % 8][i % 4]; }, kept, keep_attention, a.x1, a.norms, floats + ForwardFloats::kScale1, floats + ForwardFloats::kOffset1, row0, rows);
  SyncWarp();
  uint32_t factor[kForwardM][4][4];
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) ToGroupFactor(factor[m], x[m]);
  // 16 numbers of a thread fill 16 rows of either.
  float* const waiting = reinterpret_cast<float*>(tile + row0 * kRowLd) + Lane();
  const auto at = [&](int i) { return waiting + (i / 32 * kGroupRows * kRowLd + i / 16 % 2 * kForwardPart) / 2 + 32 * (i % 16); };
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < kForwardM * 32; ++i) *at(i) = x[i / 32][i / 4 % 8][i % 4];
  ForwardSums f = {};
  Mlp(f, factor, matrices, floats + ForwardFloats::kMlp1B);
  load_next(h);
  LONGREACH_DEVICE_UNROLL for (int i = 0; i < kForwardM * 32; ++i) {
    f[i / 32][i / 4 % 8][i % 4] += floats[ForwardFloats::kMlp2B + 8 * (i / 4 % 8) + 2 * c + (i & 1)];
  }
  AddAndNormalise(f, [&](int i) { return *at(i); }, kept_of_mlp, keep_mlp, a.x2, a.norms + 2, floats + ForwardFloats::kScale2, floats + ForwardFloats::kOffset2, row0, rows);
  StoreRows(a.h_out, f, row0, rows);
}

LONGREACH_DEVICE void AssumeGlobal(const LayerForward& a) {
  AssumeGlobal(a.matrices, a.mlp1_b, a.mlp2_b, a.norm1_scale, a.norm1_offset, a.norm2_scale, a.norm2_offset, a.h, a.h_out, a.x1, a.x2, a.o, a.lse, a.norms,
               a.keep_attention, a.keep_mlp, a.table, a.rotation);
}

// The same of the rows that are asked for, where these are not all tokens: of what ForwardLayer() has put into o, with its shared memory.
LONGREACH_DEVICE void FinishAskedRows(const LayerForward& arguments, char* shared) {
  const LayerForward a = arguments;
  AssumeShared<LayerForwardSharedBytes()>(shared);
  AssumeGlobal(a);
  const Half* const matrices = reinterpret_cast<const Half*>(shared);
  float* const floats = reinterpret_cast<float*>(shared + kLayerMatrices * sizeof(Half));
  const int group0 = kGroupRows * kForwardM * OfWarp(Group()), row0 = group0 + RowOfGroup(), all = a.batch * a.outputs;
  Half* const tile = reinterpret_cast<Half*>(floats + ForwardFloats::kCount);
  for (int first = 0; first < all; first += kForwardRows) {
    const TileRows rows = {.asked = {a.tape, a.outputs}, .first = first, .count = Least(kForwardRows, all - first)};
    if (group0 >= rows.count) continue;  // Of this group there is none: it waits for nobody.
    ForwardSums h;
    LoadRows(h, a.h, row0, [&](int row) { return row < rows.count ? rows.TokenOf(row) : -1; });
    OutputFactor output;
    LoadOutput(output, a.o, row0, rows);
    FinishRows(a, output, h, matrices, floats, tile, row0, rows, [](ForwardSums&) {});
    SyncWarp();
  }
}

// A layer of one slice of a member, by one block. shared: LayerForwardSharedBytes() bytes, aligned to 1024. What
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
  for (int part = 0; part < 3; ++part) ClearHalves(tile + part * kForwardPart + kForwardRows * kRowLd, kOverhang * kRowLd);
  AwaitCopies<0>();
  PublishToProducts();
  SyncBlock();

  const int group = kForwardRows / T, row0 = kGroupRows * kForwardM * Group() + RowOfGroup();
  const AskedRows asked = {T, a.outputs};
  // Of the tile from sequence `first` on; where there is none, zeros.
  const auto load = [&](ForwardSums& h, int first) {
    const int rows = Least(group, a.batch - first) * T;
    LoadRows(h, a.h, row0, [&](int row) { return row < rows ? first * T + row : -1; });
  };
  ForwardSums h;
  load(h, 0);
  for (int first = 0; first < a.batch; first += group) {
    const int count = Least(group, a.batch - first), rows = count * T, token = first * T;
    const auto load_next = [&](ForwardSums& to) { load(to, first + count); };
    Prefetch<kForwardRows * kDim>(a.h + (token + rows) * kDim, Least(group, a.batch - first - count) * T * kDim);
    {
      uint32_t factor[kForwardM][4][4];
      LONGREACH_DEVICE_UNROLL for (int m = 0; m < kForwardM; ++m) ToGroupFactor(factor[m], h[m]);
      ProjectHeads<kPositional, kForwardPart>(tile, factor, matrices, terms, T, row0, [] {});
    }
    SyncBlock();
    ForKeyTiles(T, [&]<int kKeyTiles>() {
      LONGREACH_DEVICE_ROLLED
      for (int i = Warp(); i < kHeads * count; i += kWarps) {
        const int head = i % kHeads, sequence = i / kHeads;
        const HeadTerms of_head = {.table = terms + head * kTable, .slopes = nullptr, .rotation = nullptr};
        AttendForward<kKeyTiles, kPositional, kForwardPart>(tile, sequence * T, T, asked.FirstPosition(), head, of_head,
                                                            a.lse + head * a.batch * T + token + sequence * T);
      }
    });
    SyncBlock();
    if (asked.All()) {
      const TileRows all = {.asked = asked, .first = token, .count = rows};
      OutputFactor output;
      TakeOutput(output, tile, a.o, row0, all);
      FinishRows(a, output, h, matrices, floats, tile, row0, all, load_next);
      SyncWarp();  // Before the next tile lies where x waited.
    } else {
      StoreOutput(a.o, tile, asked, first * a.outputs, count);
      load_next(h);
      SyncBlock();
    }
  }
  SyncBlock();
  if (asked.All()) return;
  FinishAskedRows(arguments, shared);
  SyncBlock();
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
