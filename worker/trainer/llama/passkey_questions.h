// What a model is asked for hidden keys: prompts of either kind, in cells, and which answers are right. Without torch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "worker/tokenizer/tokenizer.h"
#include "worker/trainer/llama/generation.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

struct AskedPasskey {
  Tokens prompt;
  GenerationRule rule;  // Of the answer, which is the greedy one.
  // Not for several threads at once. Errors of the tokenizer.
  std::function<absl::StatusOr<bool>(const Tokens& answer)> is_right;
};

class PasskeyQuestions {
 public:
  virtual ~PasskeyQuestions() = default;

  // From the longest length down.
  virtual int cells() const = 0;
  // That of all prompts of a cell, with their answers.
  virtual int64_t LengthOf(int cell) const = 0;

  // Those of a cell, which may not be used longer than this object. `between` is called now and then where making them takes long; it may
  // throw to break off. INVALID_ARGUMENT: a prompt does not fit into its length. Errors of the tokenizer.
  virtual absl::StatusOr<std::vector<AskedPasskey>> Of(int cell, const std::function<void()>& between) = 0;

  // passkey_accuracy, of the share of right answers in each cell: at each length, and at length 0 the mean over all lengths.
  virtual std::vector<Measurement> Measurements(const std::vector<double>& shares) const = 0;
};

// As evaluation.passkey_prompts says, for settings that have been validated and, of a published model, gone through ReadPublished(). Of a
// decoder of bytes there is no tokenizer.
//   "nope"      the authors' tasks, drawn by 42 + evaluation.seed: a cell for each length and depth. The answer has as many tokens as
//               the key, all of which must be right. Their measurements also have slices "depth=D", where D in [0, 1) is where the range
//               of positions begins; without a slice they are means over depths.
//   "landmark"  the inventors': a cell for each length. Right is an answer whose first number is the key.
std::unique_ptr<PasskeyQuestions> MakePasskeyQuestions(const PackSettings& settings, std::unique_ptr<tokenizer::Tokenizer> tokenizer);

}  // namespace longreach::trainer
