// A small model with weights drawn by a seed.
#pragma once

#include "worker/trainer/llama/decoder.h"
#include "worker/trainer/llama/folder.h"

namespace longreach::trainer {

inline LlamaConfig TinyConfig() {
  LlamaConfig config;
  config.hidden_dim = 24;
  config.mlp_dim = 40;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 6;
  config.vocabulary = 50;
  config.max_positions = 16;
  config.bos = 1;
  config.eos = {2};
  return config;
}

inline Tensor DrawParameters(const LlamaDecoder& decoder, uint32_t seed) {
  Tensor flat = at::zeros({decoder.layout().stride()}, at::kFloat);
  Initialise(decoder.layout(), seed, {flat.data_ptr<float>(), static_cast<size_t>(flat.numel())});
  return flat;
}

inline LlamaModel TinyModel(const LlamaConfig& config = TinyConfig(), uint32_t seed = 1) {
  LlamaModel model;
  model.config = config;
  model.parameters = DrawParameters(LlamaDecoder(config), seed);
  return model;
}

// Tokens that do not repeat soon: [B T].
inline LlamaFeed TinyFeed(int64_t batch, int64_t length, int64_t vocabulary = 50) {
  LlamaFeed feed;
  feed.batch = batch;
  feed.length = length;
  feed.tokens = (at::arange(batch * length, at::kLong) * 7 + 3).remainder(vocabulary);
  return feed;
}

}  // namespace longreach::trainer
