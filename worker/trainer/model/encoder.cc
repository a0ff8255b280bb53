#include "worker/trainer/model/encoder.h"

#include "worker/trainer/model/attention.h"
#include "worker/trainer/problems/kinds.h"

namespace longreach::trainer {

namespace {

// The last `outputs` rows of each sequence: [.., B T, D] to [.., B outputs, D].
Tensor Tail(const Tensor& rows, const Feed& feed, int64_t outputs) {
  if (outputs == feed.tape) return rows;
  std::vector<int64_t> shape = rows.sizes().vec();
  const int64_t dim = shape.back();
  shape[shape.size() - 2] = feed.batch * outputs;
  return rows.view({-1, feed.tape, dim}).narrow(1, feed.tape - outputs, outputs).reshape(shape);
}

}  // namespace

Encoder::Encoder(const PackSettings& settings, int input_vocabulary, int output_vocabulary, WithoutHead)
    : Model(settings, input_vocabulary, output_vocabulary),
      causal_(IsCausal(settings)),
      pre_norm_(settings.model.norm == PackSettings::Model::Norm::kPre),
      length_scaling_(settings) {
  AddBlocks(settings);
}

Encoder::Encoder(const PackSettings& settings, int input_vocabulary, int output_vocabulary)
    : Encoder(settings, input_vocabulary, output_vocabulary, WithoutHead{}) {
  out_w_ = layout_.Add("out.w", {dim_, output_vocabulary}, LinearInitial(dim_));
  out_b_ = layout_.Add("out.b", {output_vocabulary}, {Initial::Kind::kZeros, 0});
  // Drawn as the rows of the encoding 'learned' are.
  if (settings.positions.data_rows > 0) {
    given_table_ = layout_.Add(std::string(kGivenTable), {settings.positions.data_rows, dim_}, {Initial::Kind::kTruncatedNormal, 1.0});
  }
  DeclareEncoding();
}

void Encoder::AddBlocks(const PackSettings& settings) {
  const int64_t mlp_dim = settings.model.mlp_dim;
  embed_ = layout_.Add("embed.w", {input_vocabulary_ + 1, dim_}, {Initial::Kind::kTruncatedNormal, 0.02});
  for (int i = 0; i < layers_; ++i) {
    const std::string place = "layer" + std::to_string(i) + ".";
    Layer layer{};
    layer.q = layout_.Add(place + "attn.q.w", {dim_, dim_}, LinearInitial(dim_));
    layer.k = layout_.Add(place + "attn.k.w", {dim_, dim_}, LinearInitial(dim_));
    layer.v = layout_.Add(place + "attn.v.w", {dim_, dim_}, LinearInitial(dim_));
    layer.o = layout_.Add(place + "attn.o.w", {dim_, dim_}, LinearInitial(dim_));
    layer.norm1 = AddNorm(layout_, place + "ln1", dim_);
    layer.mlp = AddMlp(layout_, place, dim_, mlp_dim);
    layer.norm2 = AddNorm(layout_, place + "ln2", dim_);
    layer_parameters_.push_back(layer);
  }
  if (pre_norm_) final_norm_ = AddNorm(layout_, "final_ln", dim_);
}

Tensor Encoder::ScaledByLength(const Tensor& queries, const AttentionShape& shape) const {
  if (length_scaling_.IsNone()) return queries;
  if (!causal_) return queries * length_scaling_.Of(shape.tape);
  // Made where they are used: nothing is copied from the host in work that is recorded once and done again.
  const Tensor keys_Q1 = at::arange(shape.tape - shape.queries + 1, shape.tape + 1, at::TensorOptions(at::kDouble).device(queries.device())).unsqueeze(1);
  const Tensor factors_Q1 = length_scaling_.Of(keys_Q1).to(at::kFloat);
  std::vector<int64_t> by_sequence = queries.sizes().vec();
  by_sequence.insert(by_sequence.end() - 1, shape.queries);
  by_sequence[by_sequence.size() - 3] = shape.batch;
  return (queries.view(by_sequence) * factors_Q1).view(queries.sizes());
}

Tensor Encoder::WithAdditions(const Tensor& embedded, const ParameterSet& parameters, const Feed& feed) const {
  Tensor h = embedded;
  if (encoding_->Use() == PositionUse::kEmbedding) {
    const Tensor addition = encoding_->Trained()
                                ? encoding_->Addition(feed.terms.positions->embedding, parameters)
                                : feed.terms.addition;
    std::vector<int64_t> by_sequence = h.sizes().vec();
    by_sequence.insert(by_sequence.end() - 1, feed.tape);
    by_sequence[by_sequence.size() - 3] = feed.batch;
    h = (h.view(by_sequence) + addition).view(h.sizes());
  }
  if (given_table_ >= 0) h = h + Rows(parameters[static_cast<size_t>(given_table_)], feed.terms.given_positions.flatten(), 1);
  return h;
}

Tensor Encoder::Hidden(const ParameterSet& parameters, const Feed& feed, int64_t outputs) const {
  const auto at_index = [&](int index) -> const Tensor& { return parameters[static_cast<size_t>(index)]; };
  Tensor h = Embed(parameters, feed.tokens, embed_);
  if (AddsToEmbedding()) {
    h = WithAdditions(h, parameters, feed);
    if (!feed.keep.empty()) h = h * feed.keep[0];
  }
  for (int i = 0; i < layers_; ++i) {
    const Layer& layer = layer_parameters_[static_cast<size_t>(i)];
    AttentionShape shape{.batch = feed.batch,
                         .tape = feed.tape,
                         .heads = heads_,
                         .head_dim = dim_ / heads_,
                         .queries = feed.tape,
                         .causal = causal_};
    Tensor q, kv, input = pre_norm_ ? Norm(parameters, layer.norm1, h) : h;
    const bool only_outputs = i + 1 == layers_ && outputs < feed.tape;
    if (only_outputs || !length_scaling_.IsNone()) {
      kv = Linear(input, at::cat({at_index(layer.k), at_index(layer.v)}, -1));
      if (only_outputs) {
        // After the last attention only the outputs are read: nothing else is computed.
        h = Tail(h, feed, outputs);
        input = pre_norm_ ? Tail(input, feed, outputs) : h;
        shape.queries = outputs;
      }
      q = ScaledByLength(Linear(input, at_index(layer.q)), shape);
    } else {
      kv = Linear(input, at::cat({at_index(layer.q), at_index(layer.k), at_index(layer.v)}, -1));
    }
    const LayerTerms terms = TermsOf(parameters, feed.terms, i);
    if (feed.on_attention) feed.on_attention(AttentionMaxima(shape, q, kv, terms));
    const Tensor attended = Linear(Attention(shape, q, kv, terms), at_index(layer.o));
    if (pre_norm_) {
      h = AddDropped(h, attended, feed, 1 + 2 * i);
      h = AddDropped(h, Mlp(parameters, layer.mlp, Norm(parameters, layer.norm2, h)), feed, 2 + 2 * i);
    } else {
      const Tensor u = Norm(parameters, layer.norm1, AddDropped(h, attended, feed, 1 + 2 * i));
      h = Norm(parameters, layer.norm2, AddDropped(u, Mlp(parameters, layer.mlp, u), feed, 2 + 2 * i));
    }
  }
  return pre_norm_ ? Norm(parameters, final_norm_, h) : h;
}

Tensor Encoder::Forward(const ParameterSet& parameters, const Feed& feed) const {
  return Linear(Hidden(parameters, feed, feed.outputs), parameters[static_cast<size_t>(out_w_)],
                parameters[static_cast<size_t>(out_b_)]);
}

}  // namespace longreach::trainer
