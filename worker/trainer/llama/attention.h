// Causal attention of grouped queries (several query heads share a key), a block of queries at a time: no T x S matrix is ever
// there, in either direction. The backward pass computes the blocks anew.
//
// Shapes: N sequence (of all members of a pack), H query head, V key-value head, T query, S key, K features per head. The
// queries are the last T of the S positions. Query head h reads key-value head h / (H / V).
#pragma once

#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/torch.h"

namespace longreach::trainer {

// What can be seen of the attention weights while they pass by.
struct AttentionTrace {
  bool want_probabilities = false;
  Tensor entropy;        // [N, H, T] float32, nats: -sum p log p, from the float32 softmax.
  Tensor probabilities;  // [N, H, T, S] float32, if wanted: for tests of small inputs.
};

// softmax(q k) v in the type of q; the softmax and its sums in float32. q: [N, H, T, K], already rotated and scaled;
// k, v: [N, V, S, K]. Returns [N, H, T, K]. Differentiable in q, k and v.
//
// On a CPU the work is cut by sequence and key-value head, whatever the number of threads, so the bits do not depend on `pool`
// (null: the calling thread). `trace` is filled if it is there; only without gradients.
Tensor GroupedAttention(const Tensor& q, const Tensor& k, const Tensor& v, ThreadPool* pool = nullptr,
                        AttentionTrace* trace = nullptr);

}  // namespace longreach::trainer
