// Attention over a tape, both directions or backwards only, with whatever an encoding adds; also of queries over the tape
// of another model.
//
// Shapes: E member of the pack, B sequence, T position, H head, K features per head, D = H K. A tensor
// without pack axis belongs to one member alone. Rows are sequence by sequence: [B T, D].
#pragma once

#include <functional>

#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

// What the encoding gives to one layer; what is undefined is absent.
struct LayerTerms {
  Tensor rotation;                       // [2, T, K/2].
  Tensor bias_table;                     // [H, R] or [E, H, R].
  ContentTerm content;
  const Distances* distances = nullptr;  // Of bias_table and content.
  // Instead of a table: Encoding::PairBias() and NumbersOfPair() of this layer.
  std::function<Tensor(int64_t first_query, int64_t queries, int64_t keys)> pair_bias = nullptr;
  int64_t numbers_of_pair = 0;
};

struct AttentionShape {
  int64_t batch = 0;
  int64_t tape = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  // Only the last `queries` positions ask; all are asked.
  int64_t queries = 0;
  // No query sees a key after it. Distances have been drawn for that (positions.h).
  bool causal = false;
};

// q: [.., B queries, D]; kv: [.., B T, 2 D], the keys first. Where q is undefined, kv is [.., B T, 3 D] with
// the queries in front, and queries == tape. Returns [.., B queries, D].
//
// softmax((q k + content) / sqrt(K) + bias) v, over all keys that a query sees. Of long tapes only a block of queries is there
// at a time when no gradient is asked for.
Tensor Attention(const AttentionShape& shape, const Tensor& q, const Tensor& kv, const LayerTerms& terms);

// What each query of one sequence of one member pays to each key, maximum over the heads: [queries, T], 0 where it does not see
// the key. Only a block of queries is there at a time.
Tensor AttentionMaxima(const AttentionShape& shape, const Tensor& q, const Tensor& kv, const LayerTerms& terms);

// The parts, for tests and golden vectors. Heads in front: [E B, H, T, K].
Tensor Rotate(const Tensor& x, const Tensor& rotation);
// Logits of `queries` [E B, H, queries, K], the first of which is at position first_query, for the first keys.size(2)
// keys of the tape.
Tensor AttentionLogits(const Tensor& queries, const Tensor& keys, const LayerTerms& terms, int64_t batch,
                       int64_t first_query);

}  // namespace longreach::trainer
