// What a model whose weights are not changed is asked: losses of windows, and how sequences go on.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "worker/trainer/llama/decoder.h"
#include "worker/trainer/llama/generation.h"
#include "worker/trainer/llama/windows.h"

namespace longreach::trainer {

// A decoder with its weights, borrowed for as long as it is used.
struct FrozenModel {
  const LlamaDecoder* decoder = nullptr;
  const ParameterSet* parameters = nullptr;  // Of one member.
  Tensor head_factors;                       // [L, H], or undefined.
  ThreadPool* pool = nullptr;
  std::function<void()> between = nullptr;   // As LlamaFeed has it.
};

// The mean over a window's predicted labels of -log p, in nats. `bos` (none: -1) stands in front of the window. What golden vectors and the
// tests of jobs compare with: jobs themselves evaluate batches of windows in their engine.
// INVALID_ARGUMENT: a token that is not in the vocabulary, a window outside of its document, or nothing to predict.
absl::StatusOr<double> WindowLoss(const FrozenModel& model, std::span<const int64_t> document, const Window& window, int64_t bos);

// For Greedy() and BeamSearch().
class DecoderContinuation final : public Continuation {
 public:
  enum class Memory { kNone, kCache, kCacheAsTransformers };  // None: every sequence is read anew for every token.

  DecoderContinuation(const FrozenModel& model, Memory memory);
  std::vector<std::vector<float>> Next(const std::vector<Tokens>& sequences, std::span<const int64_t> parents) override;

 private:
  FrozenModel model_;
  Memory memory_;
  KeyValueCache cache_;
};

}  // namespace longreach::trainer
