// Passkey retrieval: a number hidden in filler text, as the NoPE authors lay it out and as its inventors did. Without torch.
// Sources: run_pass.py of AntNLP/nope_head_scale; llama/run_test.py of epfml/landmark-attention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::trainer {

// Which tasks to draw. With the authors' lengths they are the authors' own: their numbers come from NumPy's legacy generator, which
// is std::mt19937 with rejection.
struct PasskeyRule {
  uint32_t seed = 42;
  std::vector<int64_t> lengths;  // Ascending. Longer ones are drawn first, so what is drawn at a length depends on those above it.
  int64_t depths = 10;
  int64_t tests = 10;
};

// All tests at one length and depth.
struct PasskeyCell {
  int64_t length = 0;    // In tokens, the key included.
  double depth = 0;      // [0, 1): where in the prompt the range of positions begins.
  std::vector<int64_t> positions;
  std::vector<std::string> keys;
};

// INVALID_ARGUMENT: a count below 1, or lengths that do not ascend or are shorter than the number of depths.
absl::Status Validate(const PasskeyRule& rule);
// From the longest length down. The rule is valid.
std::vector<PasskeyCell> PasskeyTasks(const PasskeyRule& rule);

// Tokens of the pieces, each tokenized alone.
struct PasskeyCounts {
  int64_t task = 0;      // With BOS.
  int64_t info = 0;      // With BOS, though it stands within the prompt: a slack of one that the authors leave.
  int64_t filler = 0;    // Without.
  int64_t question = 0;  // Without.
  int64_t key = 0;       // Without.
};

struct PasskeyLayout {
  int64_t budget = 0;    // What the prompt may have: the length without the key.
  int64_t fillers_before = 0;
  int64_t fillers_after = 0;
  int64_t position = 0;  // Of the info, after whole fillers.
};

// INVALID_ARGUMENT: the pieces do not fit into the length.
absl::StatusOr<PasskeyLayout> LayOutPasskey(int64_t length, int64_t position, const PasskeyCounts& counts);

// The pieces, and the prompt: to be tokenized as one text with BOS.
std::string_view PasskeyTask();
std::string_view PasskeyFiller();
std::string_view PasskeyQuestion();
std::string PasskeyInfo(std::string_view key);
std::string PasskeyPrompt(const PasskeyLayout& layout, std::string_view key);

// The inventors' prompt: filler is cut by characters, `prefix` of `filler` of which stand before the info.
// INVALID_ARGUMENT: prefix is not in [0, filler].
absl::StatusOr<std::string> LandmarkPrompt(int64_t filler, int64_t prefix, int64_t key);
// The first run of digits in an answer: right if it is the key as a number.
std::optional<int64_t> LandmarkAnswer(std::string_view answer);

}  // namespace longreach::trainer
