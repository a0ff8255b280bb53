// The LLaMA decoder: pre-norm blocks of grouped causal attention and a gated MLP, with rotary positions or none, and a
// factor on each head's logits.
// Source: docs/models.md, section "LLaMA"; LlamaForCausalLM of transformers; models/llama_nope.py of AntNLP/nope_head_scale.
//
// Shapes: E member of the pack, B sequence, N = E B, T position, L layer, H query head, V key-value head, K features per head,
// D features. Parameters are those of one member or have a pack axis in front, as everywhere; activations [.., B T, D].
#pragma once

#include <functional>
#include <vector>

#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/llama/attention.h"
#include "worker/trainer/llama/config.h"
#include "worker/trainer/llama/key_value_cache.h"
#include "worker/trainer/llama/rope.h"
#include "worker/trainer/parameters.h"

namespace longreach::trainer {

struct LlamaFeed {
  int64_t batch = 0;    // Sequences of each member.
  int64_t length = 0;   // New tokens of each sequence.
  // What dynamic NTK takes for the current length, where that is more than all tokens so far: a window whose last token is predicted
  // and not read. 0: it is not.
  int64_t window = 0;
  Tensor tokens;        // int64, [.., B T].
  // What the logits of a head are multiplied by, beside 1/sqrt(K): [L, H], or [F, L, H] of which each serves an equal share of
  // the N sequences in order. Undefined: 1.
  Tensor head_factors;
  KeyValueCache* cache = nullptr;                  // Holds the tokens before these, and will hold these.
  std::vector<AttentionTrace>* traces = nullptr;   // By layer; its size is set.
  bool trace_probabilities = false;
  ThreadPool* pool = nullptr;
  // Called after each block, and with a gradient on its way back too; may throw to break off, but not on the way back.
  std::function<void()> between = nullptr;
};

// Thread-safe: a forward pass changes nothing but the feed's cache and traces.
class LlamaDecoder {
 public:
  // The configuration is valid.
  explicit LlamaDecoder(const LlamaConfig& config);

  const LlamaConfig& config() const { return config_; }
  const ParameterLayout& layout() const { return layout_; }

  // After the last norm: [.., B T, D].
  Tensor Hidden(const ParameterSet& parameters, const LlamaFeed& feed) const;
  // [.., rows, vocabulary] in the type of the parameters, of any rows of Hidden().
  Tensor Logits(const ParameterSet& parameters, const Tensor& hidden) const;
  // -log p of the next token, in nats: [N, T - 1] float32. Without gradients only some rows' logits are there at a time.
  Tensor TokenLosses(const ParameterSet& parameters, const LlamaFeed& feed) const;

 private:
  struct Layer {
    int norm1, q, k, v, o, norm2, gate, up, down;
  };

  Tensor Embed(const ParameterSet& parameters, const Tensor& tokens) const;
  Tensor Attend(const LlamaFeed& feed, size_t layer, const Tensor& qkv, const Tensor& rotation) const;
  // All keys are rotated anew with each token.
  bool RotatesAnew(const LlamaFeed& feed) const;
  // What the logits of new queries, of which the first has so many tokens before it, are multiplied by beside 1/sqrt(K): for
  // [N, H, T, K], with axes of 1. Undefined: nothing.
  Tensor FactorsOf(const LlamaFeed& feed, size_t layer, int64_t before, at::Device device, int64_t sequences) const;
  // [2, positions, K / 2]: cosines and sines of positions [first, end), at a current length; undefined if there is no rotation.
  Tensor Rotation(int64_t first, int64_t end, int64_t length, at::Device device) const;

  LlamaConfig config_;
  ParameterLayout layout_;
  int embed_ = -1;
  int norm_ = -1;
  int head_ = -1;  // -1: tied.
  std::vector<Layer> layers_;
};

}  // namespace longreach::trainer
