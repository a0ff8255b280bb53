// Attention of one head of one sequence by one warp: 8 features, at most kMaxTape keys. Nothing is padded in the features: 8 is
// the inner dimension of the products q.k and dO.v and a dimension of the results of the others.
//
// The tile in shared memory holds whole sequences, a token in each row: queries, keys and values as squares.h says, kPart numbers apart, a head being a
// piece of a row. Queries are already multiplied by log2(e) / sqrt(8), so that softmax is made of 2^x. Results overwrite what they are made of: O lies over
// q; dq, dk, dv over q, k, v. kKeyTiles is the number of eights of keys: even, 8 kKeyTiles - 16 < length <= 8 kKeyTiles. Up to 15 rows after the last one
// are read and weighted by exactly 0; they must hold finite numbers, and may be the next sequence's.
#pragma once

#include "worker/trainer/resident/squares.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

constexpr bool HasBias(Positional positional) { return positional == Positional::kBias || positional == Positional::kTrainedBias; }

inline constexpr int kOverhang = 16;  // Rows after a tile that are read and do not count.
inline constexpr int kRotationFloats = kMaxTape * kHeadDim;

inline constexpr float kLn2 = 0.693147180559945309f, kLog2e = 1.44269504088896341f;
inline constexpr float kHeadScale = 0.353553390593273762f;  // 1 / sqrt(8).
inline constexpr float kMasked = -1e30f;

// Calls of_tape.operator()<kKeyTiles>() for a tape. The one it calls is a part of the function around it: of all else that a layer does there is one copy
// for all tapes, so that blocks with different ones share the code that their multiprocessors' caches hold.
template <class OfTape>
LONGREACH_DEVICE void ForKeyTiles(int tape, const OfTape& of_tape) {
  switch ((tape + 15) / 16) {
    case 1: return of_tape.template operator()<2>();
    case 2: return of_tape.template operator()<4>();
    case 3: return of_tape.template operator()<6>();
    case 4: return of_tape.template operator()<8>();
    case 5: return of_tape.template operator()<10>();
    case 6: return of_tape.template operator()<12>();
    case 7: return of_tape.template operator()<14>();
    default: return of_tape.template operator()<16>();
  }
}

// Of one head, in shared memory; null where Positional does not have it.
struct HeadTerms {
  const float* table;     // [kTable]: log2(e) times the bias, by kSpan + key - query. All of it is finite.
  const float* slopes;    // [kTable]: the bias's derivative.
  const float* rotation;  // [T, 8]: four cosines, four sines; all heads share it.
};

// Where this thread's number, or its eight, of a head lie in the rows of a tile that are eights after `row`.
LONGREACH_DEVICE int OfHead(int row, int head) { return Swizzled(row, kHeadDim * head); }

// Turns a pair of features: by the angle of a position on the way forward, back by its negative sine.
LONGREACH_DEVICE void Turn(float& x, float& y, float cosine, float sine) {
  const float turned = x * cosine - y * sine;
  y = y * cosine + x * sine;
  x = turned;
}

// O, and to lse [T] in global memory log2 of the softmax's denominators: of the queries from `first` on, and of some before it. The sequence's first token
// is the tile's row `row0`.
template <int kKeyTiles, Positional kPositional, int kPart>
LONGREACH_DEVICE void AttendForward(Half* tile, int row0, int length, int first, int head, const HeadTerms& terms, float* lse) {
  const int g = Lane() >> 2, c = Lane() & 3;
  Half* const q = tile + OfHead(row0 + g, head) + 2 * c;  // Of this thread's row and those that are eights after it.
  const Half* const k = q + kPart;
  const Half* const v = tile + 2 * kPart + OfHead(row0 + Lane(), head);
  LONGREACH_DEVICE_ROLLED
  for (int t0 = first & ~15; t0 < length; t0 += 16) {
    // Queries beyond the sequence are another warp's, which may have put O there.
    const uint32_t a[2] = {t0 + g < length ? LoadPair(q + t0 * kRowLd) : 0u, t0 + g + 8 < length ? LoadPair(q + (t0 + 8) * kRowLd) : 0u};
    float s[kKeyTiles][4];
    if constexpr (HasBias(kPositional)) {
      // Row g+8 is as far from key tile j+1 as row g from j: two loads for each tile instead of four.
      const float* const at = terms.table + kSpan + 2 * c - (t0 + g);
      float x = at[-8], y = at[-7];
      LONGREACH_DEVICE_UNROLL for (int j = 0; j < kKeyTiles; ++j) {
        s[j][2] = x;
        s[j][3] = y;
        s[j][0] = x = at[8 * j];
        s[j][1] = y = at[8 * j + 1];
      }
    } else {
      LONGREACH_DEVICE_UNROLL for (int j = 0; j < kKeyTiles; ++j) s[j][0] = s[j][1] = s[j][2] = s[j][3] = 0.0f;
    }
    float m[2] = {kMasked, kMasked};
    LONGREACH_DEVICE_UNROLL for (int j0 = 0; j0 < kKeyTiles; j0 += 4) {  // Loads of four are under way together.
      uint32_t keys[4];
      LONGREACH_DEVICE_UNROLL for (int j = j0; j < j0 + 4 && j < kKeyTiles; ++j) keys[j - j0] = LoadPair(k + 8 * j * kRowLd);
      LONGREACH_DEVICE_UNROLL for (int j = j0; j < j0 + 4 && j < kKeyTiles; ++j) {
        Mma8(s[j], a[0], a[1], keys[j - j0]);
        if (j >= kKeyTiles - 2) {  // Only the last 16 keys can lie beyond the sequence.
          if (8 * j + 2 * c >= length) s[j][0] = s[j][2] = kMasked;
          if (8 * j + 2 * c + 1 >= length) s[j][1] = s[j][3] = kMasked;
        }
        m[0] = Max(m[0], Max(s[j][0], s[j][1]));
        m[1] = Max(m[1], Max(s[j][2], s[j][3]));
      }
    }
    LONGREACH_DEVICE_UNROLL for (int mask = 1; mask < 4; mask *= 2) {
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) m[i] = Max(m[i], ShuffleXor(m[i], mask));
    }
    // z: in all columns the denominators, of the rounded numerators by which the values are weighted.
    const uint32_t ones = Pack(1.0f, 1.0f);
    float o[4] = {}, z[4] = {};
    LONGREACH_DEVICE_UNROLL for (int j0 = 0; j0 < kKeyTiles; j0 += 4) {
      uint32_t values[4];
      if (j0 + 4 <= kKeyTiles) {
        Load4Transposed(values, v + 8 * j0 * kRowLd);
      } else {
        uint32_t two[2];
        Load2Transposed(two, v + 8 * j0 * kRowLd);
        values[0] = two[0];
        values[1] = two[1];
      }
      LONGREACH_DEVICE_UNROLL for (int j = j0; j < j0 + 4 && j < kKeyTiles; j += 2) {
        uint32_t p[4];
        LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
          const float(&of)[4] = s[j + (i >> 1)];
          const int half = i & 1;
          p[i] = Pack(Exp2(of[2 * half] - m[half]), Exp2(of[2 * half + 1] - m[half]));
        }
        Mma16(o, p[0], p[1], p[2], p[3], values[j - j0], values[j - j0 + 1]);
        Mma16(z, p[0], p[1], p[2], p[3], ones, ones);
      }
    }
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int t = t0 + 8 * half + g;
      const float r = Reciprocal(z[2 * half]), denominator = m[half] + Log2(z[2 * half]);
      if (t < length) StorePair(q + (t0 + 8 * half) * kRowLd, Pack(o[2 * half] * r, o[2 * half + 1] * r));
      if (t < length && c == 0) lse[t] = denominator;
    }
  }
}

// What the gradients of a table of two parameters are made of: KERPLE's biases are proportional to one of theirs, so its gradient is
// the sum of dS times the bias over it, and the other has a table of slopes. Sums of one thread, the bias in units of log2(e).
struct SlopeSums {
  float bias = 0, slope = 0;
};

// dq, dk and dv, of the projections before they were scaled and turned. dout: dO, in rows as the tile's, 0 of queries before `first`; lse as above,
// and dot = O . dO, both of this head and from the sequence's first token on: all in shared memory.
//
// Works on the transpose of S (rows are keys): P and dS are then first factors as they lie, and what belongs to a query is a plain load,
// so there is no shuffle. Only dq needs dS the other way round.
template <int kKeyTiles, Positional kPositional, int kPart>
LONGREACH_DEVICE void AttendBackward(Half* tile, const Half* dout, int row0, int length, int first, int head, const HeadTerms& terms, const float* lse,
                                     const float* dot, SlopeSums& sums) {
  constexpr int kBlocks = kKeyTiles / 2;
  const int g = Lane() >> 2, c = Lane() & 3;
  Half* const q = tile + OfHead(row0 + g, head) + 2 * c;  // Of this thread's row and those that are eights after it.
  Half* const k = q + kPart;
  Half* const v = q + 2 * kPart;
  const Half* const d = dout + OfHead(row0 + g, head) + 2 * c;
  float dk[kBlocks][4] = {}, dv[kBlocks][4] = {};
  const Half* const rows_at = tile + (Lane() < 16 ? 1 : 2) * kPart + OfHead(row0 + (Lane() & 15), head);  // This thread's row, of 16 keys and as many values.
  const int begin = first & ~15;
  for (int t = 0; t < begin; t += 8) StorePair(q + t * kRowLd, 0u);
  // 16 queries at a time, two eights: what of keys and values is loaded serves both, and they fill the products' inner dimension.
  LONGREACH_DEVICE_ROLLED
  for (int t0 = begin; t0 < length; t0 += 16) {
    const int t = t0 + 2 * c;
    uint32_t q_b[2], d_b[2], q_d_a[4];
    float lse_of[2][2], dot_of[2][2];
    LONGREACH_DEVICE_UNROLL for (int e = 0; e < 2; ++e) {
      q_b[e] = LoadPair(q + (t0 + 8 * e) * kRowLd);
      d_b[e] = LoadPair(d + (t0 + 8 * e) * kRowLd);
      q_d_a[e] = q_b[e];
      q_d_a[2 + e] = d_b[e];
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) {
        const int query = t + 8 * e + i;
        const bool exists = query < length;
        lse_of[e][i] = exists ? lse[query] : -kMasked;
        dot_of[e][i] = exists ? dot[query] : 0.0f;
      }
    }
    Transpose8x8(q_d_a);
    float dq[4] = {0, 0, 0, 0};
    // Of the bias and its slopes, by key - query of g = c = 0 in the block of keys and the tile of queries: [0] -8 and -9, [1] 0 and -1, [2] 8 and 7.
    // The keys of the next block are 16 on, so its first pair is the last one of this.
    float bias[3][2] = {}, slopes[3][2] = {};
    const float* const bias_at = HasBias(kPositional) ? terms.table + kSpan + g - t : nullptr;
    const float* const slopes_at = kPositional == Positional::kTrainedBias ? terms.slopes + kSpan + g - t : nullptr;
    if constexpr (HasBias(kPositional)) {
      bias[2][0] = bias_at[-8];
      bias[2][1] = bias_at[-9];
    }
    if constexpr (kPositional == Positional::kTrainedBias) {
      slopes[2][0] = slopes_at[-8];
      slopes[2][1] = slopes_at[-9];
    }
    LONGREACH_DEVICE_UNROLL for (int m = 0; m < kBlocks; ++m) {
      const int s = 16 * m + g;
      LONGREACH_DEVICE_UNROLL for (int i = 0; i < 2; ++i) {
        if constexpr (HasBias(kPositional)) {
          bias[0][i] = bias[2][i];
          bias[1][i] = bias_at[16 * m - i];
          bias[2][i] = bias_at[16 * m + 8 - i];
        }
        if constexpr (kPositional == Positional::kTrainedBias) {
          slopes[0][i] = slopes[2][i];
          slopes[1][i] = slopes_at[16 * m - i];
          slopes[2][i] = slopes_at[16 * m + 8 - i];
        }
      }
      uint32_t k_v[4];  // Two eights of keys, then of values.
      Load4(k_v, rows_at + 16 * m * kRowLd);
      uint32_t p_factor[2][2], ds_factor[2][2];  // By eight of queries and of keys.
      LONGREACH_DEVICE_UNROLL for (int e = 0; e < 2; ++e) {
        float p[4], ds[4];
        LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
          p[i] = bias[1 - e + (i >> 1)][i & 1] - lse_of[e][i & 1];
          ds[i] = -dot_of[e][i & 1];
        }
        Mma8(p, k_v[0], k_v[1], q_b[e]);
        Mma8(ds, k_v[2], k_v[3], d_b[e]);
        LONGREACH_DEVICE_UNROLL for (int i = 0; i < 4; ++i) {
          p[i] = Exp2(p[i]);
          if (m == kBlocks - 1 && s + 8 * (i >> 1) >= length) p[i] = 0.0f;
          ds[i] *= p[i];
          if constexpr (kPositional == Positional::kTrainedBias) {
            sums.bias += ds[i] * bias[1 - e + (i >> 1)][i & 1];
            sums.slope += ds[i] * slopes[1 - e + (i >> 1)][i & 1];
          }
        }
        LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
          p_factor[e][half] = Pack(p[2 * half], p[2 * half + 1]);
          ds_factor[e][half] = Pack(ds[2 * half], ds[2 * half + 1]);
        }
      }
      Mma16(dv[m], p_factor[0][0], p_factor[0][1], p_factor[1][0], p_factor[1][1], q_d_a[2], q_d_a[3]);
      Mma16(dk[m], ds_factor[0][0], ds_factor[0][1], ds_factor[1][0], ds_factor[1][1], q_d_a[0], q_d_a[1]);
      uint32_t keys[2];
      Load2Transposed(keys, rows_at + 16 * m * kRowLd);
      uint32_t turned[4] = {ds_factor[0][0], ds_factor[1][0], ds_factor[0][1], ds_factor[1][1]};
      Transpose8x8(turned);
      Mma16(dq, turned[0], turned[1], turned[2], turned[3], keys[0], keys[1]);
    }
    LONGREACH_DEVICE_UNROLL for (int e = 0; e < 2; ++e) {
      const int query = t0 + 8 * e + g;
      if (query >= length) continue;
      float x = dq[2 * e] * kHeadScale, y = dq[2 * e + 1] * kHeadScale;
      if constexpr (kPositional == Positional::kRotary) {
        const float* const angle = terms.rotation + query * kHeadDim + c;
        Turn(x, y, angle[0], -angle[4]);
      }
      StorePair(q + (t0 + 8 * e) * kRowLd, Pack(x, y));
    }
  }
  SyncWarp();
  LONGREACH_DEVICE_UNROLL for (int m = 0; m < kBlocks; ++m) {
    LONGREACH_DEVICE_UNROLL for (int half = 0; half < 2; ++half) {
      const int s = 16 * m + g + 8 * half;
      if (s >= length) continue;
      // q had log2(e) / sqrt(8) in it, of which log2(e) is too much.
      float x = dk[m][2 * half] * kLn2, y = dk[m][2 * half + 1] * kLn2;
      if constexpr (kPositional == Positional::kRotary) {
        const float* const angle = terms.rotation + s * kHeadDim + c;
        Turn(x, y, angle[0], -angle[4]);
      }
      StorePair(k + (16 * m + 8 * half) * kRowLd, Pack(x, y));
      StorePair(v + (16 * m + 8 * half) * kRowLd, Pack(dv[m][2 * half], dv[m][2 * half + 1]));
    }
  }
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
