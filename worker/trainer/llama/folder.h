// Folders as Hugging Face keeps models in: config.json, and model.safetensors or shards with an index. They are read as they
// are, and written so that transformers loads them. Files are not trusted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

// config.json alone. NOT_FOUND: no such folder or file; INVALID_ARGUMENT: what it says is not computed here.
absl::StatusOr<LlamaConfig> ReadLlamaConfig(const std::filesystem::path& folder);

// NOT_FOUND: no such folder, config.json or weights. INVALID_ARGUMENT: a configuration or tensors that this decoder does not
// compute; says the tensor, its shape and the expected one. DATA_LOSS: a file that is cut off or damaged.
// RESOURCE_EXHAUSTED: no memory for the parameters, with their bytes.
absl::StatusOr<LlamaModel> LoadLlama(const std::filesystem::path& folder, const LlamaLoading& loading = {});

// The parameters of a folder whose config.json is `config`, whatever their type, into those of a decoder of it: `parameters` begins
// with them, float32, on the CPU. Returns the head factors as LlamaModel has them. Errors of LoadLlama().
absl::StatusOr<Tensor> LoadLlamaInto(const std::filesystem::path& folder, const LlamaConfig& config, const ParameterSet& parameters);

// What lies in a folder, once all of it but the numbers has been looked at. Errors of LoadLlama().
struct StoredLlama {
  LlamaConfig config;
  int64_t parameters = 0;
  std::vector<std::string> types;  // Of its tensors: "BF16".
  std::vector<std::string> files;  // config.json, and where the tensors are.
};
absl::StatusOr<StoredLlama> InspectLlama(const std::filesystem::path& folder);

// Makes the folder, with parameters of the type they have; head factors as float32. ALREADY_EXISTS when the folder holds a
// model already. config.json is written last: without it nothing loads the folder.
absl::Status WriteLlama(const std::filesystem::path& folder, const LlamaModel& model);

}  // namespace longreach::trainer
