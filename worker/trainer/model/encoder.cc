#include "worker/trainer/model/encoder.h"

#include <cmath>

namespace longreach::trainer {

namespace {

// x W, or x W + b: [.., N, in] to [.., N, out].
Tensor Linear(const Tensor& x, const Tensor& w) { return w.dim() == 2 ? at::mm(x, w) : at::matmul(x, w); }
Tensor Linear(const Tensor& x, const Tensor& w, const Tensor& b) {
  return w.dim() == 2 ? at::addmm(b, x, w) : at::baddbmm(b, x, w);
}

// Over the features; epsilon inside of the root, biased variance.
Tensor LayerNorm(const Tensor& x, const Tensor& scale, const Tensor& offset) {
  constexpr double kEpsilon = 1e-5;
  if (x.dim() == 2) return at::layer_norm(x, {x.size(-1)}, scale, offset, kEpsilon);
  return at::addcmul(offset, at::layer_norm(x, {x.size(-1)}, {}, {}, kEpsilon), scale);
}

// The last `outputs` rows of each sequence: [.., B T, D] to [.., B outputs, D].
Tensor Tail(const Tensor& rows, const Feed& feed) {
  std::vector<int64_t> shape = rows.sizes().vec();
  const int64_t dim = shape.back();
  shape[shape.size() - 2] = feed.batch * feed.outputs;
  return rows.view({-1, feed.tape, dim}).narrow(1, feed.tape - feed.outputs, feed.outputs).reshape(shape);
}

// residual + dropout(x).
Tensor AddDropped(const Tensor& residual, const Tensor& x, const Feed& feed, int place) {
  if (feed.keep.empty()) return residual + x;
  return at::addcmul(residual, x, feed.keep[static_cast<size_t>(place)]);
}

}  // namespace

Encoder::Encoder(const PackSettings& settings, int input_vocabulary, int output_vocabulary, at::Device device)
    : layers_(settings.model.layers),
      dim_(settings.model.embedding_dim),
      heads_(settings.model.heads),
      input_vocabulary_(input_vocabulary),
      output_vocabulary_(output_vocabulary) {
  using RandomizedBy = PackSettings::Positions::RandomizedBy;
  encoding_ = MakeEncoding(
      settings.encoding,
      {.layers = layers_,
       .embedding_dim = settings.model.embedding_dim,
       .num_heads = settings.model.heads,
       .max_position = settings.positions.max_position,
       .learned_rows = settings.model.learned_rows,
       .sandwich_dim = settings.model.sandwich_dim,
       .kerple_shared = settings.model.kerple_shared,
       .break_symmetry = settings.model.break_symmetry,
       .relative_as_released = settings.positions.relative_as_released && settings.randomized &&
                               settings.positions.randomized_by == RandomizedBy::kDistance,
       .device = device});
  TORCH_CHECK(encoding_ != nullptr, "unknown encoding");

  const int64_t mlp_dim = settings.model.mlp_dim;
  // Haiku's default for linear layers: sigma = 1/sqrt(fan_in), truncated at two sigma.
  const auto linear = [](int64_t fan_in) {
    return Initial{Initial::Kind::kTruncatedNormal, 1.0 / std::sqrt(static_cast<double>(fan_in))};
  };
  const Initial zeros{Initial::Kind::kZeros, 0};
  const Initial ones{Initial::Kind::kOnes, 0};
  embed_ = layout_.Add("embed.w", {input_vocabulary + 1, dim_}, {Initial::Kind::kTruncatedNormal, 0.02});
  for (int i = 0; i < layers_; ++i) {
    const std::string place = "layer" + std::to_string(i) + ".";
    Layer layer{};
    layer.q = layout_.Add(place + "attn.q.w", {dim_, dim_}, linear(dim_));
    layer.k = layout_.Add(place + "attn.k.w", {dim_, dim_}, linear(dim_));
    layer.v = layout_.Add(place + "attn.v.w", {dim_, dim_}, linear(dim_));
    layer.o = layout_.Add(place + "attn.o.w", {dim_, dim_}, linear(dim_));
    layer.norm1_scale = layout_.Add(place + "ln1.scale", {dim_}, ones);
    layer.norm1_offset = layout_.Add(place + "ln1.offset", {dim_}, zeros);
    layer.mlp1_w = layout_.Add(place + "ffn1.w", {dim_, mlp_dim}, linear(dim_));
    layer.mlp1_b = layout_.Add(place + "ffn1.b", {mlp_dim}, zeros);
    layer.mlp2_w = layout_.Add(place + "ffn2.w", {mlp_dim, dim_}, linear(mlp_dim));
    layer.mlp2_b = layout_.Add(place + "ffn2.b", {dim_}, zeros);
    layer.norm2_scale = layout_.Add(place + "ln2.scale", {dim_}, ones);
    layer.norm2_offset = layout_.Add(place + "ln2.offset", {dim_}, zeros);
    layer_parameters_.push_back(layer);
  }
  out_w_ = layout_.Add("out.w", {dim_, output_vocabulary}, linear(dim_));
  out_b_ = layout_.Add("out.b", {output_vocabulary}, zeros);
  own_parameters_ = layout_.parameters().size();
  encoding_->Declare(layout_);
}

PassTerms Encoder::Prepare(const PassPositions& positions) const {
  PassTerms terms{.positions = &positions, .addition = {}, .rotation = {}, .bias_tables = {}};
  for (const Tensor& position_T : positions.rotation) {
    terms.rotation.push_back(encoding_->Rotation(position_T));
  }
  if (encoding_->Trained()) return terms;
  if (positions.embedding.defined()) terms.addition = encoding_->Addition(positions.embedding, {});
  for (size_t layer = 0; layer < positions.distances.size(); ++layer) {
    terms.bias_tables.push_back(
        encoding_->BiasTable(positions.distances[layer], {}, static_cast<int>(layer)));
  }
  return terms;
}

Tensor Encoder::TokenRows(const std::vector<uint8_t>& tokens, int64_t first, int64_t count) const {
  Tensor rows = at::zeros({count, input_vocabulary_ + 1}, at::kFloat);
  const float scale = static_cast<float>(std::sqrt(static_cast<double>(dim_)));
  float* row = rows.data_ptr<float>();
  for (int64_t n = 0; n < count; ++n, row += input_vocabulary_ + 1) {
    row[tokens[static_cast<size_t>(first + n)]] = scale;
  }
  return rows;
}

LayerTerms Encoder::TermsOf(const ParameterSet& parameters, const PassTerms& terms, int layer) const {
  const size_t l = static_cast<size_t>(layer);
  LayerTerms result;
  if (!terms.rotation.empty()) result.rotation = terms.rotation[l];
  if (terms.positions == nullptr || terms.positions->distances.empty()) return result;
  result.distances = &terms.positions->distances[l];
  if (encoding_->Trained()) {
    result.bias_table = encoding_->BiasTable(*result.distances, parameters, layer);
    result.content = encoding_->Content(*result.distances, parameters, layer);
  } else {
    result.bias_table = terms.bias_tables[l];
  }
  return result;
}

Tensor Encoder::Forward(const ParameterSet& parameters, const Feed& feed) const {
  const auto at_index = [&](int index) -> const Tensor& { return parameters[static_cast<size_t>(index)]; };
  Tensor h = Linear(feed.tokens, at_index(embed_));
  if (encoding_->Use() == PositionUse::kEmbedding) {
    const Tensor addition = encoding_->Trained()
                                ? encoding_->Addition(feed.terms.positions->embedding, parameters)
                                : feed.terms.addition;
    std::vector<int64_t> by_sequence = h.sizes().vec();
    by_sequence.insert(by_sequence.end() - 1, feed.tape);
    by_sequence[by_sequence.size() - 3] = feed.batch;
    h = (h.view(by_sequence) + addition).view(h.sizes());
    if (!feed.keep.empty()) h = h * feed.keep[0];
  }
  for (int i = 0; i < layers_; ++i) {
    const Layer& layer = layer_parameters_[static_cast<size_t>(i)];
    const bool last = i + 1 == layers_;
    AttentionShape shape{.batch = feed.batch,
                         .tape = feed.tape,
                         .heads = heads_,
                         .head_dim = dim_ / heads_,
                         .queries = feed.tape};
    Tensor q, kv;
    if (last) {
      // After the last attention only the outputs are read: nothing else is computed.
      kv = Linear(h, at::cat({at_index(layer.k), at_index(layer.v)}, -1));
      h = Tail(h, feed);
      q = Linear(h, at_index(layer.q));
      shape.queries = feed.outputs;
    } else {
      kv = Linear(h, at::cat({at_index(layer.q), at_index(layer.k), at_index(layer.v)}, -1));
    }
    const Tensor attended =
        Linear(Attention(shape, q, kv, TermsOf(parameters, feed.terms, i)), at_index(layer.o));
    const Tensor u = LayerNorm(AddDropped(h, attended, feed, 1 + 2 * i), at_index(layer.norm1_scale),
                               at_index(layer.norm1_offset));
    const Tensor hidden = at::relu(Linear(u, at_index(layer.mlp1_w), at_index(layer.mlp1_b)));
    const Tensor mlp = Linear(hidden, at_index(layer.mlp2_w), at_index(layer.mlp2_b));
    h = LayerNorm(AddDropped(u, mlp, feed, 2 + 2 * i), at_index(layer.norm2_scale),
                  at_index(layer.norm2_offset));
  }
  return Linear(h, at_index(out_w_), at_index(out_b_));
}

}  // namespace longreach::trainer
