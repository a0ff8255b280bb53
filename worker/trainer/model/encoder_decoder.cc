#include "worker/trainer/model/encoder_decoder.h"

#include <cmath>

#include "worker/trainer/model/attention.h"

namespace longreach::trainer {

namespace {

constexpr int kGreyLevels = 256;

bool IsLinear(const PackSettings& settings) {
  return settings.model.pixel_embedding == PackSettings::Model::PixelEmbedding::kLinear;
}

}  // namespace

// With linear pixels the table has two rows: what a level is multiplied by, and what is added.
EncoderDecoder::EncoderDecoder(const PackSettings& settings)
    : Encoder(settings, IsLinear(settings) ? 1 : kGreyLevels, settings.model.classes, WithoutHead{}),
      linear_pixels_(IsLinear(settings)) {
  begin_ = layout_.Add("begin", {dim_}, {Initial::Kind::kTruncatedNormal, 0.02});
  const auto square = [&](const std::string& name) { return layout_.Add(name, {dim_, dim_}, LinearInitial(dim_)); };
  for (int i = 0; i < settings.model.decoder_layers; ++i) {
    const std::string place = "decoder" + std::to_string(i) + ".";
    Block block{};
    block.self_q = square(place + "self.q.w");
    block.self_k = square(place + "self.k.w");
    block.self_v = square(place + "self.v.w");
    block.self_o = square(place + "self.o.w");
    block.norm1 = AddNorm(layout_, place + "ln1", dim_);
    block.cross_q = square(place + "cross.q.w");
    block.cross_k = square(place + "cross.k.w");
    block.cross_v = square(place + "cross.v.w");
    block.cross_o = square(place + "cross.o.w");
    block.norm2 = AddNorm(layout_, place + "ln2", dim_);
    block.mlp = AddMlp(layout_, place, dim_, settings.model.mlp_dim);
    block.norm3 = AddNorm(layout_, place + "ln3", dim_);
    blocks_.push_back(block);
  }
  class_w_ = layout_.Add("out.w", {dim_, output_vocabulary_}, LinearInitial(dim_));
  class_b_ = layout_.Add("out.b", {output_vocabulary_}, {Initial::Kind::kZeros, 0});
  DeclareEncoding();
}

Tensor EncoderDecoder::TokenRows(const std::vector<uint16_t>& tokens, int64_t first, int64_t count) const {
  if (!linear_pixels_) return Encoder::TokenRows(tokens, first, count);
  Tensor rows = at::empty({count, 2}, at::kFloat);
  const float scale = static_cast<float>(std::sqrt(static_cast<double>(dim_)));
  float* row = rows.data_ptr<float>();
  for (int64_t n = 0; n < count; ++n) {
    *row++ = scale * static_cast<float>(tokens[static_cast<size_t>(first + n)]) / (kGreyLevels - 1);
    *row++ = scale;
  }
  return rows;
}

Tensor EncoderDecoder::Forward(const ParameterSet& parameters, const Feed& feed) const {
  const auto at_index = [&](int index) -> const Tensor& { return parameters[static_cast<size_t>(index)]; };
  const Tensor memory = Hidden(parameters, feed, feed.tape);
  std::vector<int64_t> rows = memory.sizes().vec();
  rows[rows.size() - 2] = feed.batch;
  Tensor h = (at_index(begin_) * std::sqrt(static_cast<double>(dim_))).expand(rows);
  const AttentionShape own{.batch = feed.batch, .tape = 1, .heads = heads_, .head_dim = dim_ / heads_, .queries = 1};
  AttentionShape crossing = own;
  crossing.tape = feed.tape;
  int place = EncoderPlaces();
  for (const Block& block : blocks_) {
    const Tensor qkv = Linear(h, at::cat({at_index(block.self_q), at_index(block.self_k), at_index(block.self_v)}, -1));
    const Tensor attended = Linear(Attention(own, {}, qkv, {}), at_index(block.self_o));
    const Tensor u = Norm(parameters, block.norm1, AddDropped(h, attended, feed, place++));
    const Tensor kv = Linear(memory, at::cat({at_index(block.cross_k), at_index(block.cross_v)}, -1));
    const Tensor crossed = Linear(Attention(crossing, Linear(u, at_index(block.cross_q)), kv, {}), at_index(block.cross_o));
    const Tensor c = Norm(parameters, block.norm2, AddDropped(u, crossed, feed, place++));
    h = Norm(parameters, block.norm3, AddDropped(c, Mlp(parameters, block.mlp, c), feed, place++));
  }
  return Linear(h, at_index(class_w_), at_index(class_b_));
}

}  // namespace longreach::trainer
