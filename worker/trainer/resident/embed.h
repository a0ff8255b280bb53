// Tokens become features, and the gradient of these features becomes that of the embedding's rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/trainer/resident/block.h"

namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS {

// Rows of the embedding are multiplied by sqrt(D).
inline constexpr float kEmbedScale = 8;
static_assert(kDim == 64, "its root is kEmbedScale");

// Place 0 of StepArguments::keep, or null where the embedding is not dropped.
LONGREACH_DEVICE const uint64_t* KeepOfEmbedding(const StepArguments& step) { return step.keep_embedding ? step.keep : nullptr; }

// h[token] = dropout(embed[token's row] sqrt(D) + addition). embed: [rows, D], one member's; h: [N, D]. These and the rows
// of the addition begin at multiples of 16 bytes.
LONGREACH_DEVICE void Embed(const StepArguments& step, const float* embed, float* h) {
  constexpr int kAtOnce = 8;  // Loads that are under way together.
  const uint64_t* const keep = KeepOfEmbedding(step);
  const int fours = step.batch * step.tape * kFoursOfToken, feature = Thread() % kFoursOfToken * 4;
  for (int first = Thread(); first < fours; first += kAtOnce * kThreads) {
    Float4 x[kAtOnce], added[kAtOnce] = {};
    uint64_t bits[kAtOnce] = {};
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int token = (first + i * kThreads) / kFoursOfToken;
      if (first + i * kThreads >= fours) continue;
      x[i] = LoadFour(embed + step.tokens[token] * kDim + feature);
      if (keep != nullptr) bits[i] = keep[token] >> feature;
      if (step.addition == nullptr) continue;
      added[i] = LoadFour(step.addition + int64_t{token / step.tape} * step.addition_stride + token % step.tape * kDim + feature);
    }
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * kThreads >= fours) continue;
      LONGREACH_DEVICE_UNROLL
      for (int k = 0; k < 4; ++k) {
        float& y = x[i].x[k];
        y = y * kEmbedScale + added[i].x[k];
        if (keep != nullptr) y = (bits[i] >> k & 1) != 0 ? y * step.keep_scale : 0.0f;
      }
      StoreFour(h + int64_t{4} * (first + i * kThreads), x[i]);
    }
  }
  SyncBlock();
}

// Groups of threads: each adds up every kEmbedGroups-th token, in rows of its own; a thread has four features of these.
inline constexpr int kEmbedGroups = kThreads / kFoursOfToken;

// Shared memory of EmbedBackward(): [kEmbedGroups, rows, D].
constexpr size_t EmbedBackwardSharedBytes() { return sizeof(float) * kEmbedGroups * kMaxTokens * kDim; }

// Gradient of the embedding's rows, [rows, D], from that of layer 0's input, dh [N, D]. All rows are written: 0 where no
// token of the batch has them. dh and `shared` begin at multiples of 16 bytes.
LONGREACH_DEVICE void EmbedBackward(const StepArguments& step, const float* dh, float* gradient, char* shared) {
  constexpr int kAtOnce = 8;  // Loads that are under way together.
  const uint64_t* const keep = KeepOfEmbedding(step);
  const int rows = step.places.tokens, tokens = step.batch * step.tape, feature = Thread() % kFoursOfToken * 4;
  float* const sums = reinterpret_cast<float*>(shared);
  float* const mine = sums + Thread() / kFoursOfToken * rows * kDim + feature;
  for (int i = 0; i < rows; ++i) StoreFour(mine + i * kDim, {});
  for (int first = Thread() / kFoursOfToken; first < tokens; first += kAtOnce * kEmbedGroups) {
    Float4 value[kAtOnce] = {};
    uint64_t bits[kAtOnce] = {};
    int row[kAtOnce] = {};  // After the last token: nothing, to row 0.
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      const int token = first + i * kEmbedGroups;
      if (token >= tokens) continue;
      value[i] = LoadFour(dh + int64_t{token} * kDim + feature);
      bits[i] = keep == nullptr ? 0xF : keep[token] >> feature;
      row[i] = step.tokens[token];
    }
    LONGREACH_DEVICE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      Float4 sum = LoadFour(mine + row[i] * kDim);
      LONGREACH_DEVICE_UNROLL
      for (int k = 0; k < 4; ++k) sum.x[k] += (bits[i] >> k & 1) != 0 ? value[i].x[k] : 0.0f;
      StoreFour(mine + row[i] * kDim, sum);
    }
  }
  SyncBlock();
  const float scale = keep == nullptr ? kEmbedScale : kEmbedScale * step.keep_scale;
  for (int i = Thread(); i < rows * kDim; i += kThreads) {
    float sum = 0;
    LONGREACH_DEVICE_UNROLL
    for (int group = 0; group < kEmbedGroups; ++group) sum += sums[group * rows * kDim + i];
    gradient[i] = sum * scale;
  }
  SyncBlock();
}

}  // namespace longreach::trainer::resident::inline LONGREACH_RESIDENT_OPERANDS
