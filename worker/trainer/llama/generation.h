// Greedy and beam search over anything that continues sequences. Without torch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace longreach::trainer {

using Tokens = std::vector<int64_t>;

// A model that is asked how sequences go on.
class Continuation {
 public:
  virtual ~Continuation() = default;
  // The logits of the next token of each sequence. Sequence i is what was sequence parents[i] at the call before, and one more
  // token; at the first call the parents are empty.
  virtual std::vector<std::vector<float>> Next(const std::vector<Tokens>& sequences, std::span<const int64_t> parents) = 0;
};

struct GenerationRule {
  int64_t beams = 1;  // 1: greedy.
  int64_t most_new_tokens = 0;
  std::vector<int64_t> eos = {};  // Any of these ends a sequence. None: all have most_new_tokens.
  int64_t least_new_tokens = 0;  // No EOS among the first so many.
  double length_penalty = 1;  // Beams: a sum of log p is divided by the number of new tokens to this power.
};

struct Generated {
  Tokens tokens;         // The new ones, an EOS included.
  double score = 0;      // Beams: the penalized sum of log p.
  double smallest_margin = 0;  // Greedy: between the best logit and the second one, where it was smallest.
};

// Both take the lower token, and the earlier beam, where two are alike.
Generated Greedy(Continuation& model, const Tokens& prompt, const GenerationRule& rule);
// As transformers 4.57 searches with early_stopping off: it ends when the best running beam, penalized at its present length,
// is not above the worst of as many finished ones.
Generated BeamSearch(Continuation& model, const Tokens& prompt, const GenerationRule& rule);

}  // namespace longreach::trainer
