// What a Hugging Face config.json says of a LLaMA-type model. Without torch; files are not trusted.
//
// Source: the keys that transformers 4.35 to 5 write for LlamaForCausalLM, and for SmolLM3ForCausalLM, which is the same but for layers that do not
// rotate; "nope" is the NoPE authors' own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "worker/trainer/rope_frequencies.h"

namespace longreach::trainer {

struct LlamaConfig {
  int64_t hidden_dim = 0;
  int64_t mlp_dim = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;  // Even. heads * head_dim need not be hidden_dim.
  int64_t vocabulary = 0;
  int64_t max_positions = 0;  // The length it was trained at.
  double norm_epsilon = 1e-5;
  double rope_theta = 10000;
  RopeScaling rope_scaling;
  bool nope = false;  // Queries and keys are not rotated.
  std::vector<int64_t> unrotated;  // Layers, ascending, in which they are not, where others do.
  bool tied = false;  // The output matrix is the embedding.
  std::optional<int64_t> bos;
  std::vector<int64_t> eos;
  // Of a test, and not of the model: config.json has no name for them. Queries at positions i from scale_from on have their head's
  // scale, to which scale_growth ln(i / scale_from) is added; those before have 1. Where scale_from is 0 all have their head's.
  int64_t scale_from = 0;
  double scale_growth = 0;

  int64_t Groups() const { return heads / kv_heads; }  // Query heads that share a key.
};

// INVALID_ARGUMENT: a size that no model has, or sizes that disagree.
absl::Status Validate(const LlamaConfig& config);

// INVALID_ARGUMENT with what is wrong and its value: a key that is missing or of another type, an architecture, activation,
// bias or rope_scaling that this decoder does not compute.
absl::StatusOr<LlamaConfig> ParseLlamaConfig(std::string_view json);

// The same as config.json, for transformers to load. `dtype`: "float32", "bfloat16" or "float16".
std::string LlamaConfigJson(const LlamaConfig& config, std::string_view dtype);

}  // namespace longreach::trainer
