// The cases of that set, ready to run.
#pragma once

#include <memory>
#include <string>

#include "tests/golden/check/nope/set.h"
#include "worker/trainer/llama/decoder.h"
#include "worker/trainer/llama/folder.h"

namespace longreach::golden {

// Of the set's README, where several parts compare by it.
inline constexpr double kNopeLoss = 1e-5;
inline constexpr double kNopePerplexityRelative = 1e-5;
inline constexpr int kNopeThreads = 2;

// What the manifest says of a case, made ready to run.
struct NopeCase {
  trainer::LlamaModel model;
  std::unique_ptr<trainer::LlamaDecoder> decoder;
  trainer::ParameterSet parameters;
  trainer::Tensor factors;  // [L, H], or undefined.
  bool relu = false;        // On the factors.

  trainer::Tensor Factors() const { return relu ? at::relu(factors) : factors; }
  // Where its weights are.
  at::Device device() const { return parameters.front().device(); }
};

// With its weights on the GPU.
NopeCase OnGpu(NopeCase run);

// INVALID_ARGUMENT, NOT_FOUND or DATA_LOSS with what is wrong. Names are those of the manifest.
absl::StatusOr<NopeCase> MakeCase(NopeSet& set, const nlohmann::json& manifest, const std::string& name);
// The folder of a model, as it is.
absl::StatusOr<NopeCase> AsStored(const std::filesystem::path& folder);

}  // namespace longreach::golden
