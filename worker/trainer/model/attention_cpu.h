// Attention of one work unit on the CPU, forward and backward, without tensors: a sequence and head at a
// time, a few queries at a time, so that nothing T x T is made unless the backward pass needs the
// probabilities.
//
// With `causal` the keys after a query cost nothing, and tables have no entries for them.
//
// Shapes: B sequence, T position, H head, K features per head, R signed distances. Rows are [H K] with a
// stride of their own.
#pragma once

#include <cstdint>

namespace longreach::trainer {

struct AttentionProblem {
  int64_t batch = 0;
  int64_t tape = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t queries = 0;              // The last ones of the tape.
  bool causal = false;              // No query sees a key after it.
  const float* rotation = nullptr;  // [2, T, K/2] or none.
  const float* table = nullptr;     // [H, entries] or none.
  int64_t entries = 0;
  bool by_pair = false;             // The table has an entry for each (query, key): [H, queries, T].
  // Transformer-XL, all three or none: u [H, K], v [H, K] and r [entries, H K]; logits get (q + u) k + (q +
  // v) r.
  const float* content_bias = nullptr;
  const float* relative_bias = nullptr;
  const float* relative_keys = nullptr;
  // Otherwise the entry of (query, key) is key - query + T - 1, or places[key] - places[query] + center.
  const int64_t* places = nullptr;
  int64_t center = 0;
};

struct AttentionInput {
  const float* q = nullptr;  // [B queries] rows.
  const float* k = nullptr;  // [B T] rows.
  const float* v = nullptr;
  int64_t q_stride = 0;      // Floats from row to row.
  int64_t kv_stride = 0;
};

struct AttentionGradient {
  float* q = nullptr;  // As AttentionInput, overwritten.
  float* k = nullptr;
  float* v = nullptr;
  int64_t q_stride = 0;
  int64_t kv_stride = 0;
  float* table = nullptr;  // As the problem's, added to. None where the table is not trained.
  // Added to; all three or none.
  float* content_bias = nullptr;
  float* relative_bias = nullptr;
  float* relative_keys = nullptr;
};

// out: [B queries, H K]. probabilities: [B, H, queries, T], or none; with `causal`, those of later keys are left as they are.
void AttentionForward(const AttentionProblem& problem, const AttentionInput& input, float* out,
                      float* probabilities);

void AttentionBackward(const AttentionProblem& problem, const AttentionInput& input,
                       const float* probabilities, const float* out_gradient,
                       const AttentionGradient& gradient);

}  // namespace longreach::trainer
