// Folders as Hugging Face keeps models in: config.json, and model.safetensors or shards with an index. They are read as they
// are, and written so that transformers loads them. Files are not trusted.
#pragma once

#include <filesystem>
#include <optional>

#include "proto/base/status.h"
#include "worker/trainer/llama/config.h"
#include "worker/trainer/llama/decoder.h"

namespace longreach::trainer {

struct LlamaModel {
  LlamaConfig config;
  Tensor parameters;    // [stride of the decoder's layout], F32, BF16 or F16.
  Tensor head_factors;  // [L, H] float32, or undefined if the folder holds none.
};

struct LlamaLoading {
  // The type of the parameters in memory. None: as they are stored; F32 if the folder mixes types.
  std::optional<at::ScalarType> type;
  // A NoPE checkpoint may carry no mark of it: transformers drops the authors' "nope". None: what config.json says.
  std::optional<bool> nope;
};

// NOT_FOUND: no such folder, config.json or weights. INVALID_ARGUMENT: a configuration or tensors that this decoder does not
// compute; says the tensor, its shape and the expected one. DATA_LOSS: a file that is cut off or damaged.
// RESOURCE_EXHAUSTED: no memory for the parameters, with their bytes.
absl::StatusOr<LlamaModel> LoadLlama(const std::filesystem::path& folder, const LlamaLoading& loading = {});

// Makes the folder, with parameters of the type they have; head factors as float32. ALREADY_EXISTS when the folder holds a
// model already. config.json is written last: without it nothing loads the folder.
absl::Status WriteLlama(const std::filesystem::path& folder, const LlamaModel& model);

}  // namespace longreach::trainer
