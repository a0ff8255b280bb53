#include "worker/trainer/llama/decoder.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "worker/trainer/model/blocks.h"

namespace longreach::trainer {

namespace {

// Rows that are computed at a time when no gradient is wanted: fixed, so that the bits do not depend on the threads. A GPU wants more of them.
constexpr int64_t kRows = 256, kGpuRows = 4096;
int64_t RowsAtATime(at::Device device) { return device.is_cpu() ? kRows : kGpuRows; }

// Logits that are there at a time then.
constexpr int64_t kLogitsAtATime = 1 << 22;

// f of the rows of `inputs` [.., N, in_i], row by row independent: without gradients in parts of `rows` on the pool's threads.
Tensor ByRows(const std::vector<Tensor>& inputs, int64_t rows, ThreadPool* pool,
              const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  const int64_t all = inputs[0].size(-2), parts = (all + rows - 1) / rows;
  if (at::GradMode::is_enabled() || parts <= 1) return f(inputs);
  std::vector<Tensor> outputs(static_cast<size_t>(parts));
  const auto work = [&](int64_t part) {
    const at::NoGradGuard no_gradient;  // A setting of the thread.
    std::vector<Tensor> some;
    for (const Tensor& input : inputs) some.push_back(input.narrow(-2, part * rows, std::min(rows, all - part * rows)));
    outputs[static_cast<size_t>(part)] = f(some);
  };
  if (pool != nullptr && inputs[0].is_cpu()) {
    pool->Run(parts, work);
  } else {
    for (int64_t part = 0; part < parts; ++part) work(part);
  }
  return at::cat(outputs, -2);
}

// Statistics in float32; cast back before the weight, as transformers does.
Tensor RmsNorm(const Tensor& x, const Tensor& weight, double epsilon) {
  const Tensor wide = x.to(at::kFloat);
  return (wide * at::rsqrt(wide.square().mean(-1, true) + epsilon)).to(x.scalar_type()) * weight;
}

// Turns pair (i, i + K/2) of [N, heads, T, K] by the angles of its position.
Tensor Turn(const Tensor& x, const Tensor& rotation) {
  const std::vector<Tensor> halves = x.to(at::kFloat).chunk(2, -1);
  const Tensor cosine = rotation[0], sine = rotation[1];
  return at::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, -1).to(x.scalar_type());
}

// [.., B T, heads K] to [N, heads, T, K].
Tensor SplitHeads(const Tensor& rows, int64_t length, int64_t head_dim) {
  return rows.reshape({-1, length, rows.size(-1) / head_dim, head_dim}).transpose(1, 2);
}

Initial Normal(double sigma) { return {Initial::Kind::kNormal, sigma}; }

}  // namespace

// Initial values for pretraining: lit_gpt/model.py of jzhang38/TinyLlama.
LlamaDecoder::LlamaDecoder(const LlamaConfig& config) : config_(config) {
  const int64_t width = config.hidden_dim, queries = config.heads * config.head_dim, keys = config.kv_heads * config.head_dim;
  const double d = static_cast<double>(width);
  const Initial linear = Normal(std::sqrt(2 / (5 * d)));
  const Initial residual = Normal(1 / std::sqrt(d) / static_cast<double>(config.layers));
  const Initial ones{Initial::Kind::kOnes, 0};
  embed_ = layout_.Add("embed.w", {config.vocabulary, width}, linear);
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string place = "layer" + std::to_string(i) + ".";
    Layer layer{};
    layer.norm1 = layout_.Add(place + "norm1.scale", {width}, ones);
    layer.q = layout_.Add(place + "attn.q.w", {width, queries}, linear);
    layer.k = layout_.Add(place + "attn.k.w", {width, keys}, linear);
    layer.v = layout_.Add(place + "attn.v.w", {width, keys}, linear);
    layer.o = layout_.Add(place + "attn.o.w", {queries, width}, residual);
    layer.norm2 = layout_.Add(place + "norm2.scale", {width}, ones);
    layer.gate = layout_.Add(place + "mlp.gate.w", {width, config.mlp_dim}, linear);
    layer.up = layout_.Add(place + "mlp.up.w", {width, config.mlp_dim}, linear);
    layer.down = layout_.Add(place + "mlp.down.w", {config.mlp_dim, width}, residual);
    layers_.push_back(layer);
  }
  norm_ = layout_.Add("norm.scale", {width}, ones);
  if (!config.tied) head_ = layout_.Add("out.w", {width, config.vocabulary}, linear);
}

bool LlamaDecoder::RotatesAnew(const LlamaFeed& feed) const {
  // Of the other kinds a key's rotation is that of its own time at any length.
  return feed.cache != nullptr && feed.cache->rotation() == KeyValueCache::Rotation::kFresh && config_.rope_scaling.kind == RopeScaling::Kind::kDynamic;
}

Tensor LlamaDecoder::Rotation(int64_t first, int64_t end, int64_t length, at::Device device) const {
  if (config_.nope) return {};
  const RopeTable table = MakeRopeTable(config_, length);
  const Tensor frequencies = at::tensor(table.frequencies, at::kFloat);
  // In float32, as the models were trained: at position 30000 its rounding shows.
  const Tensor angles = at::arange(first, end, at::kLong).to(at::kFloat).unsqueeze(1) * frequencies;
  return (at::stack({angles.cos(), angles.sin()}) * table.magnitude).to(device);
}

Tensor LlamaDecoder::Embed(const ParameterSet& parameters, const Tensor& tokens) const {
  const Tensor& table = parameters[static_cast<size_t>(embed_)];
  if (table.dim() == 2) return at::embedding(table, tokens);
  std::vector<Tensor> by_member;
  for (int64_t e = 0; e < table.size(0); ++e) {
    by_member.push_back(at::embedding(table[e], tokens.dim() == 2 ? tokens[e] : tokens));
  }
  return at::stack(by_member);
}

Tensor LlamaDecoder::FactorsOf(const LlamaFeed& feed, size_t layer, int64_t before, at::Device device, int64_t sequences) const {
  Tensor factors;
  if (feed.head_factors.defined()) {
    factors = feed.head_factors.select(-2, static_cast<int64_t>(layer)).to(device);  // [H] or [F, H].
    if (factors.dim() == 2) factors = factors.repeat_interleave(sequences / factors.size(0), 0).unsqueeze(-1).unsqueeze(-1);
    else factors = factors.view({-1, 1, 1});
  }
  if (config_.scale_from == 0) return factors;
  if (!factors.defined()) factors = at::ones({1, 1, 1}, at::TensorOptions(at::kFloat).device(device));
  const Tensor positions = at::arange(before, before + feed.length, at::kDouble).view({-1, 1});
  const double from = static_cast<double>(config_.scale_from);
  const Tensor growth = (positions / from).clamp_min(1).log() * config_.scale_growth;
  return (factors + growth.to(at::kFloat).to(device)).masked_fill((positions < from).to(device), 1);
}

Tensor LlamaDecoder::Attend(const LlamaFeed& feed, size_t layer, const Tensor& qkv, const Tensor& rotation) const {
  const int64_t K = config_.head_dim;
  const std::vector<Tensor> parts = qkv.split_with_sizes({config_.heads * K, config_.kv_heads * K, config_.kv_heads * K}, -1);
  Tensor q = SplitHeads(parts[0], feed.length, K), k = SplitHeads(parts[1], feed.length, K),
      v = SplitHeads(parts[2], feed.length, K);
  const int64_t before = feed.cache != nullptr ? feed.cache->LengthOf(layer) : 0;
  const bool anew = RotatesAnew(feed);
  if (rotation.defined()) {
    const Tensor own = rotation.narrow(1, rotation.size(1) - feed.length, feed.length);
    q = Turn(q, own);
    if (!anew) k = Turn(k, own);
  }
  if (feed.cache != nullptr) {
    const KeyValueCache::Read read = feed.cache->Append(layer, k, v);
    k = rotation.defined() && anew ? Turn(read.keys, rotation) : read.keys;
    v = read.values;
  }
  const double scale = 1 / std::sqrt(static_cast<double>(K));
  const Tensor factors = FactorsOf(feed, layer, before, q.device(), q.size(0));
  q = factors.defined() ? (q * (factors * scale)).to(v.scalar_type()) : q * scale;
  AttentionTrace* const trace = feed.traces == nullptr ? nullptr : &(*feed.traces)[layer];
  if (trace != nullptr) trace->want_probabilities = feed.trace_probabilities;
  const Tensor mixed = GroupedAttention(q, k, v, feed.pool, trace);  // [N, H, T, K].
  std::vector<int64_t> rows = qkv.sizes().vec();
  rows.back() = config_.heads * K;
  return mixed.transpose(1, 2).reshape(rows);
}

Tensor LlamaDecoder::Hidden(const ParameterSet& parameters, const LlamaFeed& feed) const {
  const auto at_index = [&](int index) -> const Tensor& { return parameters[static_cast<size_t>(index)]; };
  if (feed.traces != nullptr) feed.traces->assign(layers_.size(), {});
  const int64_t before = feed.cache != nullptr ? feed.cache->length() : 0;
  const int64_t length = before + feed.length;
  const Tensor rotation = Rotation(RotatesAnew(feed) ? 0 : before, length, std::max(length, feed.window), at_index(embed_).device());
  Tensor h = Embed(parameters, feed.tokens);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const Tensor qkv = ByRows({h}, RowsAtATime(h.device()), feed.pool, [&](const std::vector<Tensor>& rows) {
      const Tensor x = RmsNorm(rows[0], at_index(layer.norm1), config_.norm_epsilon);
      return at::cat({Linear(x, at_index(layer.q)), Linear(x, at_index(layer.k)), Linear(x, at_index(layer.v))}, -1);
    });
    const bool rotates = !std::ranges::binary_search(config_.unrotated, static_cast<int64_t>(i));
    const Tensor attended = Attend(feed, i, qkv, rotates ? rotation : Tensor());
    h = ByRows({h, attended}, RowsAtATime(h.device()), feed.pool, [&](const std::vector<Tensor>& rows) {
      const Tensor u = rows[0] + Linear(rows[1], at_index(layer.o));
      const Tensor x = RmsNorm(u, at_index(layer.norm2), config_.norm_epsilon);
      return u + Linear(at::silu(Linear(x, at_index(layer.gate))) * Linear(x, at_index(layer.up)), at_index(layer.down));
    });
    if (feed.between) feed.between();
    if (feed.between && h.requires_grad()) h.register_hook([between = feed.between](const Tensor&) { between(); });
  }
  return RmsNorm(h, at_index(norm_), config_.norm_epsilon);
}

Tensor LlamaDecoder::Logits(const ParameterSet& parameters, const Tensor& hidden) const {
  if (head_ >= 0) return Linear(hidden, parameters[static_cast<size_t>(head_)]);
  return Linear(hidden, parameters[static_cast<size_t>(embed_)].transpose(-1, -2));
}

Tensor LlamaDecoder::TokenLosses(const ParameterSet& parameters, const LlamaFeed& feed) const {
  const Tensor hidden = Hidden(parameters, feed);
  const int64_t width = hidden.size(-1);
  const bool packed = hidden.dim() == 3;
  const auto without_last = [&](const Tensor& rows, int64_t first, int64_t last_size) {
    std::vector<int64_t> shape = {feed.batch * (feed.length - 1)};
    if (packed) shape.insert(shape.begin(), rows.size(0));
    if (last_size > 0) shape.push_back(last_size);
    const Tensor by_sequence = last_size > 0 ? rows.view({-1, feed.length, last_size}) : rows.view({-1, feed.length});
    return by_sequence.narrow(1, first, feed.length - 1).reshape(shape);
  };
  const Tensor tokens = packed && feed.tokens.dim() == 1 ? feed.tokens.expand({hidden.size(0), -1}).contiguous() : feed.tokens;
  const Tensor targets = without_last(tokens, 1, 0).unsqueeze(-1);
  const int64_t rows = std::clamp<int64_t>(kLogitsAtATime / config_.vocabulary, 1, kRows);
  const Tensor losses = ByRows({without_last(hidden, 0, width), targets}, rows, feed.pool, [&](const std::vector<Tensor>& some) {
    return -at::log_softmax(Logits(parameters, some[0]).to(at::kFloat), -1).gather(-1, some[1]);
  });
  return losses.reshape({-1, feed.length - 1});
}

}  // namespace longreach::trainer
