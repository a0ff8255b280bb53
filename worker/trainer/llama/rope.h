// Rotary frequencies of a LLaMA-type model, as its configuration says. Without torch.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/llama/config.h"

namespace longreach::trainer {

struct RopeTable {
  // Radians per position of pair i, [head_dim / 2], rounded as such models have them; pair i is the features i and i + head_dim / 2.
  std::vector<float> frequencies;
  // What cosine and sine are multiplied by: logits grow by its square.
  double magnitude = 1;
};

// At a current length of `length` tokens, of a valid configuration: FrequenciesOf() (worker/trainer/rope_frequencies.h).
RopeTable MakeRopeTable(const LlamaConfig& config, int64_t length);

}  // namespace longreach::trainer
