// Rotary frequencies of a LLaMA-type model and their extensions beyond the training length. Without torch.
//
// Sources: transformers 4.57, modeling_rope_utils.py (linear, dynamic, yarn); jquesnelle/yarn (static NTK).
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/llama/config.h"

namespace longreach::trainer {

struct RopeTable {
  // Radians per position of pair i, [head_dim / 2]; pair i is the features i and i + head_dim / 2.
  std::vector<float> frequencies;
  // What cosine and sine are multiplied by: logits grow by its square.
  double magnitude = 1;
};

// base * alpha^(d / (d - 2)).
double NtkBase(double base, double alpha, int64_t head_dim);

// The frequencies at a current length of `length` tokens; only the dynamic kind depends on it, and it alone on nothing but
// it: no earlier, longer input is remembered. The configuration is valid.
RopeTable MakeRopeTable(const LlamaConfig& config, int64_t length);

}  // namespace longreach::trainer
