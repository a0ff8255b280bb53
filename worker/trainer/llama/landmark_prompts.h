// Passkey prompts as the inventors ask them, as ids: how much filler fits, what stands before the key, which key it is. Without torch.
//
// Source: llama/run_test.py of epfml/landmark-attention. Its generator has no seed; the draws here are our own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "worker/tokenizer/tokenizer.h"
#include "worker/trainer/llama/passkey.h"

namespace longreach::trainer {

// Tokens that an answer may have, which are part of a prompt's length.
inline constexpr int64_t kLandmarkAnswer = 10;

// What is drawn for a prompt, however much filler it has.
struct LandmarkDraw {
  uint32_t depth = 0;  // As a fraction of 2^32.
  int64_t key = 0;     // In [1, 50000].
};

// Of one of the prompts of a length, under evaluation.seed. No other length and no other prompt has a part in it.
LandmarkDraw DrawLandmark(uint32_t seed, int64_t length, int64_t test);

struct LandmarkIds {
  int64_t filler = 0;  // Characters, `prefix` of which stand before the key: a number in [0, filler].
  int64_t prefix = 0;
  std::vector<int64_t> prompt;
};

// The prompt with as much filler as leaves room for an answer in its length: with one character more it would leave none. A character
// more can make fewer tokens, so much longer ones might fit again; none of them is looked for. Without a tokenizer ids are bytes.
// `between` is called before each of about 2 log2(length) texts is tokenized; it may throw to break off.
// INVALID_ARGUMENT: the length has no room for what stands around the filler. Errors of the tokenizer.
absl::StatusOr<LandmarkIds> MakeLandmarkIds(tokenizer::Tokenizer* tokenizer, int64_t length, const LandmarkDraw& draw,
                                            const std::function<void()>& between);

}  // namespace longreach::trainer
