#include "worker/trainer/model/llama_network.h"

#include <algorithm>

#include "proto/catalog/position_layers.h"

namespace longreach::trainer {

namespace {

// The decoder rotates by itself, so for the rest of the trainer there is no encoding.
PackSettings WithoutEncoding(PackSettings settings) {
  settings.encoding = "none";
  settings.randomized = false;
  return settings;
}

}  // namespace

LlamaConfig LlamaConfigOf(const PackSettings& settings) {
  const PackSettings::Model& model = settings.model;
  LlamaConfig config;
  if (model.config) {
    config = *model.config;
    config.scale_from = model.attention_scale_from;
    config.scale_growth = model.attention_scale_growth;
    if (settings.positions.rope_scaling != "none") {
      config.rope_scaling = {.kind = RopeScalingKind(settings.positions.rope_scaling), .factor = settings.positions.rope_factor};
      config.rope_scaling.original_length = settings.positions.original_length;
    }
    if (settings.positions.original_length > 0) config.max_positions = settings.positions.original_length;
    return config;
  }
  config.hidden_dim = model.embedding_dim;
  config.mlp_dim = model.mlp_dim;
  config.layers = model.layers;
  config.heads = model.heads;
  config.kv_heads = model.kv_heads;
  config.head_dim = model.embedding_dim / model.heads;
  config.vocabulary = model.vocabulary;
  const std::vector<int>& lengths = settings.training.lengths.empty() ? settings.evaluation.lengths : settings.training.lengths;
  config.max_positions = settings.positions.original_length > 0 ? settings.positions.original_length : lengths.empty() ? 1 : lengths.back();
  config.rope_theta = model.rope_theta;
  config.rope_scaling.kind = RopeScalingKind(settings.positions.rope_scaling);
  config.rope_scaling.factor = settings.positions.rope_factor;
  config.rope_scaling.original_length = settings.positions.original_length;
  config.nope = settings.encoding == "none";
  for (int layer = 0; !config.nope && layer < model.layers; ++layer) {
    if (!catalog::HasPositions(settings.positions.none_every, layer)) config.unrotated.push_back(layer);
  }
  config.scale_from = model.attention_scale_from;
  config.scale_growth = model.attention_scale_growth;
  return config;
}

LlamaNetwork::LlamaNetwork(const PackSettings& settings)
    : Model(WithoutEncoding(settings), settings.model.vocabulary, settings.model.vocabulary), decoder_(LlamaConfigOf(settings)), training_(settings.training) {
  layout_ = decoder_.layout();
  scales_ = layout_.Add("attn.scales", {settings.model.layers, settings.model.heads}, {Initial::Kind::kOnes, 0});
  DeclareEncoding();
}

Tensor LlamaNetwork::HeadFactors(const ParameterSet& parameters) const {
  const Tensor& scales = parameters[static_cast<size_t>(scales_)];
  return training_.scale_bound == PackSettings::Training::ScaleBound::kRelu ? at::relu(scales) : scales;
}

Tensor LlamaNetwork::TokenRows(const std::vector<uint16_t>& tokens, int64_t first, int64_t count) const {
  Tensor ids = at::empty({count}, at::kLong);
  for (int64_t n = 0; n < count; ++n) ids.data_ptr<int64_t>()[n] = tokens[static_cast<size_t>(first + n)];
  return ids;
}

Tensor LlamaNetwork::Hidden(const ParameterSet& parameters, const Feed& feed) const {
  LlamaFeed llama;
  llama.batch = feed.batch;
  llama.length = feed.tape;
  llama.tokens = feed.tokens;
  llama.head_factors = HeadFactors(parameters);
  llama.window = feed.window;
  llama.pool = feed.pool;
  llama.between = feed.between;
  const Tensor hidden = decoder_.Hidden(parameters, llama);
  if (feed.outputs == feed.tape) return hidden;
  std::vector<int64_t> shape = hidden.sizes().vec();
  shape[shape.size() - 2] = feed.batch * feed.outputs;
  return hidden.view({-1, feed.tape, dim_}).narrow(1, feed.tape - feed.outputs, feed.outputs).reshape(shape);
}

Tensor LlamaNetwork::Forward(const ParameterSet& parameters, const Feed& feed) const {
  return decoder_.Logits(parameters, Hidden(parameters, feed));
}

void LlamaNetwork::ForwardInParts(const ParameterSet& parameters, const Feed& feed, const LogitsUse& use) const {
  LogitsInParts(parameters, Hidden(parameters, feed), feed.pool, feed.between, use);
}

void LlamaNetwork::LogitsInParts(const ParameterSet& parameters, const Tensor& hidden, ThreadPool* pool, const std::function<void()>& between,
                                 const LogitsUse& use) const {
  const int64_t rows = std::max<int64_t>(1, kLlamaLogitsAtATime / decoder_.config().vocabulary), all = hidden.size(-2);
  const bool on_pool = pool != nullptr && hidden.is_cpu();
  const int64_t at_a_time = rows * (on_pool ? pool->threads() : 1);
  for (int64_t done = 0; done < all; done += at_a_time) {
    const int64_t parts = (std::min(at_a_time, all - done) + rows - 1) / rows;
    std::vector<Tensor> logits(static_cast<size_t>(parts));
    const auto work = [&](int64_t part) {
      const at::NoGradGuard no_gradient;  // A setting of the thread.
      const int64_t first = done + part * rows;
      logits[static_cast<size_t>(part)] = decoder_.Logits(parameters, hidden.narrow(-2, first, std::min(rows, all - first)));
    };
    if (on_pool) pool->Run(parts, work);
    else work(0);
    for (int64_t part = 0; part < parts; ++part) use(done + part * rows, logits[static_cast<size_t>(part)]);
    if (between) between();
  }
}

UpdateRule LlamaNetwork::Rule() const {
  UpdateRule rule{.clip_norm = clip_norm_, .adamw = true, .weight_decay = training_.weight_decay};
  if (training_.trainable == PackSettings::Training::Trainable::kAll) {
    rule.last = HeadScales().offset;
    return rule;
  }
  rule.first = HeadScales().offset;
  if (training_.scale_bound == PackSettings::Training::ScaleBound::kClamp) {
    rule.lower_bound = static_cast<float>(training_.scale_lower_bound);
  }
  return rule;
}

}  // namespace longreach::trainer
