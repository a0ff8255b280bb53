// From the last layer's features to the loss, and back: for the positions that are asked for only.
//
// Rows are these positions, as asked_rows.h says; a tile is kHeadRows of them. A thread takes one row from its logits to
// their gradient; the gradient of the head's parameters stays in registers over all tiles, and is added up over the threads
// once.
#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>

#include "worker/trainer/resident/block.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

struct HeadArguments {
  const float* h;           // [R, D]: what the last layer gives.
  const float* w;           // [D, classes].
  const float* b;           // [classes].
  const uint8_t* targets;   // [R].
  int rows, classes;        // R, C.
  int loss_rows;            // Of the whole batch, R or more: the loss is the mean over them, of which this is a part.
  float* dh;                // [R, D]: written. Not h.
  float* dw;                // [D, classes]: written.
  float* db;                // [classes]: written.
};

inline constexpr int kHeadRows = kThreads;
// Odd multiples of 16 bytes: threads that each read their own row do not meet in a bank.
inline constexpr int kLdHeadRow = kDim + 4;
template <int kClasses>
inline constexpr int kLdHeadClass = kClasses + 4;

// Shared memory for up to kClasses classes. What is beyond `classes` is 0.
template <int kClasses>
struct HeadShared {
  double sums[kSumDoubles];
  alignas(16) float rows[kHeadRows * kLdHeadRow];                   // h, then dh.
  alignas(16) float gradients[kHeadRows * kLdHeadClass<kClasses>];  // Of logits.
  alignas(16) float w[kDim * kClasses];
  float b[kClasses];
};

constexpr size_t HeadSharedBytes() { return sizeof(HeadShared<kMaxClasses>); }

template <int kClasses>
LONGREACH_DEVICE void LoadHead(const HeadArguments& a, HeadShared<kClasses>& s) {
  for (int i = Thread(); i < kDim * kClasses; i += kThreads) {
    const int c = i % kClasses;
    s.w[i] = c < a.classes ? a.w[i / kClasses * a.classes + c] : 0.0f;
  }
  if (Thread() < kClasses) s.b[Thread()] = Thread() < a.classes ? a.b[Thread()] : 0.0f;
}

// `count` rows from `first` on into the tile; the tile's others become 0.
LONGREACH_DEVICE void LoadRows(const HeadArguments& a, int first, int count, float* rows) {
  constexpr int kAtOnce = 8, kEach = kHeadRows * kFoursOfToken / kThreads;  // Loads that are under way together; of all.
  static_assert(kEach % kAtOnce == 0);
  for (int done = 0; done < kEach; done += kAtOnce) {
    Float4 four[kAtOnce];
    LONGREACH_DEVICE_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = (done + k) * kThreads + Thread(), row = i / kFoursOfToken;
      four[k] = row < count ? LoadFour(a.h + (first + row) * kDim + i % kFoursOfToken * 4) : Float4{};
    }
    LONGREACH_DEVICE_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = (done + k) * kThreads + Thread();
      StoreFour(rows + i / kFoursOfToken * kLdHeadRow + i % kFoursOfToken * 4, four[k]);
    }
  }
}

LONGREACH_DEVICE void StoreRows(const HeadArguments& a, int first, int count, const float* rows) {
  for (int i = Thread(); i < count * kFoursOfToken; i += kThreads) {
    const int row = i / kFoursOfToken, feature = i % kFoursOfToken * 4;
    StoreFour(a.dh + (first + row) * kDim + feature, LoadFour(rows + row * kLdHeadRow + feature));
  }
}

// Of one row: logits become their gradient, `weight` (softmax - target). Returns the row's loss.
//
// Sums leave out the largest logit, or the target's, rather than subtract it: where a model is sure, that difference is
// all there is, and 1 - p would have lost it.
template <int kClasses>
LONGREACH_DEVICE float CrossEntropy(float (&logit)[kClasses], int classes, int target, float weight) {
  float top = logit[0];
  int best = 0;
  LONGREACH_DEVICE_UNROLL
  for (int c = 1; c < kClasses; ++c) {
    if (c < classes && logit[c] > top) {
      top = logit[c];
      best = c;
    }
  }
  float below_best = 0, beside_target = 0, of_target = 0;
  LONGREACH_DEVICE_UNROLL
  for (int c = 0; c < kClasses; ++c) {
    if (c >= classes) {
      logit[c] = 0;
      continue;
    }
    const float v = logit[c] - top, e = expf(v);
    if (c != best) below_best += e;
    if (c != target) beside_target += e;
    if (c == target) of_target = v;
    logit[c] = e;
  }
  const float part = weight / (1 + below_best);
  LONGREACH_DEVICE_UNROLL
  for (int c = 0; c < kClasses; ++c) logit[c] = c == target ? -beside_target * part : logit[c] * part;
  return log1pf(below_best) - of_target;
}

// A thread's row forward, and its gradient of logits into the tile: 0 where there is no row. Returns its loss.
template <int kClasses>
LONGREACH_DEVICE float RowForward(const HeadArguments& a, int first, int count, HeadShared<kClasses>& s) {
  float logit[kClasses];
  float loss = 0;
  if (Thread() < count) {
    LONGREACH_DEVICE_UNROLL
    for (int c = 0; c < kClasses; ++c) logit[c] = s.b[c];
    for (int f = 0; f < kDim; f += 4) {
      const Float4 x = LoadFour(s.rows + Thread() * kLdHeadRow + f);
      LONGREACH_DEVICE_UNROLL
      for (int i = 0; i < 4; ++i) {
        LONGREACH_DEVICE_UNROLL
        for (int c = 0; c < kClasses; c += 4) {
          const Float4 w = LoadFour(s.w + (f + i) * kClasses + c);
          LONGREACH_DEVICE_UNROLL
          for (int k = 0; k < 4; ++k) logit[c + k] += x.x[i] * w.x[k];
        }
      }
    }
    const float weight = 1.0f / static_cast<float>(a.loss_rows);
    loss = CrossEntropy(logit, a.classes, a.targets[first + Thread()], weight);
  } else {
    LONGREACH_DEVICE_UNROLL
    for (int c = 0; c < kClasses; ++c) logit[c] = 0;
  }
  LONGREACH_DEVICE_UNROLL
  for (int c = 0; c < kClasses; c += 4) {
    StoreFour(s.gradients + Thread() * kLdHeadClass<kClasses> + c, {{logit[c], logit[c + 1], logit[c + 2], logit[c + 3]}});
  }
  return loss;
}

// A thread's row back: dh takes the place of h.
template <int kClasses>
LONGREACH_DEVICE void RowBackward(HeadShared<kClasses>& s) {
  Float4 gradient[kClasses / 4];
  LONGREACH_DEVICE_UNROLL
  for (int c = 0; c < kClasses / 4; ++c) gradient[c] = LoadFour(s.gradients + Thread() * kLdHeadClass<kClasses> + 4 * c);
  for (int f = 0; f < kDim; f += 4) {
    Float4 x = {};
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < 4; ++i) {
      LONGREACH_DEVICE_UNROLL
      for (int c = 0; c < kClasses / 4; ++c) {
        const Float4 w = LoadFour(s.w + (f + i) * kClasses + 4 * c);
        LONGREACH_DEVICE_UNROLL
        for (int k = 0; k < 4; ++k) x.x[i] += gradient[c].x[k] * w.x[k];
      }
    }
    StoreFour(s.rows + Thread() * kLdHeadRow + f, x);
  }
}

// A thread's part of the parameters' gradient, over all tiles: of w that of four features, from every kRowGroups-th row; of b
// that of its own rows.
template <int kClasses>
struct HeadGradient {
  static constexpr int kRowGroups = kThreads / kFoursOfToken;
  float w[4][kClasses] = {};
  float b[kClasses] = {};

  LONGREACH_DEVICE static int Group() { return Thread() / kFoursOfToken; }
  LONGREACH_DEVICE static int Feature() { return Thread() % kFoursOfToken * 4; }

  LONGREACH_DEVICE void Add(const HeadShared<kClasses>& s) {
    LONGREACH_DEVICE_UNROLL_BY_4
    for (int row = Group(); row < kHeadRows; row += kRowGroups) {
      const Float4 x = LoadFour(s.rows + row * kLdHeadRow + Feature());
      LONGREACH_DEVICE_UNROLL
      for (int c = 0; c < kClasses; c += 4) {
        const Float4 g = LoadFour(s.gradients + row * kLdHeadClass<kClasses> + c);
        LONGREACH_DEVICE_UNROLL
        for (int i = 0; i < 4; ++i) {
          LONGREACH_DEVICE_UNROLL
          for (int k = 0; k < 4; ++k) w[i][c + k] += x.x[i] * g.x[k];
        }
      }
    }
    LONGREACH_DEVICE_UNROLL
    for (int c = 0; c < kClasses; ++c) b[c] += s.gradients[Thread() * kLdHeadClass<kClasses> + c];
  }

  // Adds up the threads' parts, in order, and writes the sums. Begins after a SyncBlock().
  LONGREACH_DEVICE void Write(const HeadArguments& a, HeadShared<kClasses>& s) const {
    constexpr int kAtOnce = 8, kSize = kDim * kAtOnce;  // Classes; their numbers.
    static_assert(kRowGroups * kSize <= kHeadRows * kLdHeadRow && kClasses % kAtOnce == 0);
    LONGREACH_DEVICE_UNROLL
    for (int c = 0; c < kClasses; ++c) s.gradients[Thread() * kLdHeadClass<kClasses> + c] = b[c];
    LONGREACH_DEVICE_UNROLL
    for (int c0 = 0; c0 < kClasses; c0 += kAtOnce) {
      LONGREACH_DEVICE_UNROLL
      for (int i = 0; i < 4; ++i) {
        LONGREACH_DEVICE_UNROLL
        for (int k = 0; k < kAtOnce; ++k) s.rows[Group() * kSize + (Feature() + i) * kAtOnce + k] = w[i][c0 + k];
      }
      SyncBlock();
      for (int i = Thread(); i < kSize; i += kThreads) {
        const int c = c0 + i % kAtOnce;
        float sum = 0;
        for (int group = 0; group < kRowGroups; ++group) sum += s.rows[group * kSize + i];
        if (c < a.classes) a.dw[i / kAtOnce * a.classes + c] = sum;
      }
      SyncBlock();
    }
    if (Thread() >= a.classes) return;
    float sum = 0;
    LONGREACH_DEVICE_UNROLL_BY_4
    for (int thread = 0; thread < kThreads; ++thread) sum += s.gradients[thread * kLdHeadClass<kClasses> + Thread()];
    a.db[Thread()] = sum;
  }
};

template <int kClasses>
LONGREACH_DEVICE double HeadOf(const HeadArguments& a, HeadShared<kClasses>& s) {
  LoadHead(a, s);
  const int rows = a.rows;
  HeadGradient<kClasses> gradient;
  double loss = 0;
  for (int first = 0; first < rows; first += kHeadRows) {
    const int count = rows - first < kHeadRows ? rows - first : kHeadRows;
    LoadRows(a, first, count, s.rows);
    SyncBlock();
    loss += static_cast<double>(RowForward(a, first, count, s));
    SyncBlock();
    gradient.Add(s);
    SyncBlock();
    RowBackward(s);
    SyncBlock();
    StoreRows(a, first, count, s.rows);
    SyncBlock();
  }
  gradient.Write(a, s);
  return SumOfBlock(loss, s.sums) / a.loss_rows;
}

// Logits, cross-entropy and all gradients of the head. Returns the rows' part of the loss, the same for every thread: not finite where a
// logit is not. 0 <= rows, 1 <= classes <= kMaxClasses. h, dh and `shared`, which has HeadSharedBytes(), begin at multiples of 16 bytes.
LONGREACH_DEVICE double Head(const HeadArguments& a, char* shared) {
  constexpr int kFew = 8;  // No task of the catalog has more.
  if (a.classes <= kFew) return HeadOf(a, *reinterpret_cast<HeadShared<kFew>*>(shared));
  return HeadOf(a, *reinterpret_cast<HeadShared<kMaxClasses>*>(shared));
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
