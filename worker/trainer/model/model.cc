#include "worker/trainer/model/model.h"

#include <cmath>

#include "worker/trainer/model/attention.h"
#include "worker/trainer/model/encoder.h"
#include "worker/trainer/model/encoder_decoder.h"
#include "worker/trainer/model/llama_network.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/sent.h"
#include "worker/trainer/vocabulary.h"

namespace longreach::trainer {

namespace {

// Up to here a product looks tokens up.
constexpr int kSmallVocabulary = 64;

// What 'dynamic' and 'yarn' begin from.
int64_t TrainedTape(const PackSettings& settings) {
  return settings.positions.original_length > 0 ? settings.positions.original_length : LongestTape(settings, settings.training.lengths);
}

EncodingConfig ConfigOf(const PackSettings& settings) {
  using RandomizedBy = PackSettings::Positions::RandomizedBy;
  using RopeScalingAt = PackSettings::Positions::RopeScalingAt;
  return {.layers = settings.model.layers,
          .none_every = settings.positions.none_every,
          .embedding_dim = settings.model.embedding_dim,
          .num_heads = settings.model.heads,
          .max_position = settings.positions.max_position,
          .learned_rows = settings.model.learned_rows,
          .sandwich_dim = settings.model.sandwich_dim,
          .t5_buckets = settings.model.t5_buckets,
          .t5_max_distance = settings.model.t5_max_distance,
          .fire_width = settings.model.fire_width,
          .fire_threshold = settings.model.fire_threshold,
          .fire_shared = settings.model.fire_shared,
          .kerple_shared = settings.model.kerple_shared,
          .break_symmetry = settings.model.break_symmetry,
          .relative_as_released = settings.positions.relative_as_released && settings.randomized &&
                                  settings.positions.randomized_by == RandomizedBy::kDistance,
          .causal = IsCausal(settings),
          .rope_theta = settings.model.rope_theta,
          .rope_scaling = {.kind = RopeScalingKind(settings.positions.rope_scaling), .factor = settings.positions.rope_factor},
          .rope_scaled_in_training = settings.positions.rope_scaling_at == RopeScalingAt::kAlways,
          .trained_length = TrainedTape(settings)};
}

}  // namespace

Model::Model(const PackSettings& settings, int input_vocabulary, int output_vocabulary)
    : layers_(settings.model.layers),
      clip_norm_(settings.training.clip_norm),
      dim_(settings.model.embedding_dim),
      heads_(settings.model.heads),
      input_vocabulary_(input_vocabulary),
      output_vocabulary_(output_vocabulary),
      encoding_(MakeEncoding(settings.encoding, ConfigOf(settings))) {
  TORCH_CHECK(encoding_ != nullptr, "unknown encoding");
}

void Model::DeclareEncoding() {
  own_parameters_ = layout_.parameters().size();
  encoding_->Declare(layout_);
  encoding_parameters_ = layout_.parameters().size() - own_parameters_;
}

PassTerms Model::Prepare(const PassPositions& positions, at::Device device) const {
  PassTerms terms{.positions = &positions, .addition = {}, .rotation = {}, .bias_tables = {}, .given_positions = Sent(positions.given, device)};
  for (size_t layer = 0; layer < positions.rotation.size(); ++layer) {
    const std::optional<size_t> known = Before(layer, [&](size_t earlier) { return positions.rotation[earlier].is_same(positions.rotation[layer]); });
    terms.rotation.push_back(known ? terms.rotation[*known]
                                   : Sent(encoding_->Rotation(positions.rotation[layer], positions.test, static_cast<int>(layer)), device));
  }
  if (encoding_->Trained()) return terms;
  if (positions.embedding.defined()) terms.addition = Sent(encoding_->Addition(positions.embedding, {}), device);
  for (size_t layer = 0; layer < positions.distances.size(); ++layer) {
    const Tensor& values = positions.distances[layer].values();
    const std::optional<size_t> known = Before(layer, [&](size_t earlier) { return positions.distances[earlier].values().is_same(values); });
    terms.bias_tables.push_back(known ? terms.bias_tables[*known]
                                      : Sent(encoding_->BiasTable(positions.distances[layer], {}, static_cast<int>(layer)), device));
  }
  return terms;
}

std::optional<size_t> Model::Before(size_t layer, const std::function<bool(size_t)>& same_positions) const {
  const auto acts_in = [&](size_t one) { return encoding_->ActsIn(static_cast<int>(one)); };
  for (size_t earlier = 0; earlier < layer; ++earlier) {
    if (acts_in(earlier) == acts_in(layer) && same_positions(earlier)) return earlier;
  }
  return std::nullopt;
}

Tensor Model::TokenRows(const std::vector<uint16_t>& tokens, int64_t first, int64_t count) const {
  if (input_vocabulary_ > kSmallVocabulary) {
    Tensor ids = at::empty({count}, at::kLong);
    for (int64_t n = 0; n < count; ++n) ids.data_ptr<int64_t>()[n] = tokens[static_cast<size_t>(first + n)];
    return ids;
  }
  Tensor rows = at::zeros({count, input_vocabulary_ + 1}, at::kFloat);
  const float scale = static_cast<float>(std::sqrt(static_cast<double>(dim_)));
  float* row = rows.data_ptr<float>();
  for (int64_t n = 0; n < count; ++n, row += input_vocabulary_ + 1) {
    row[tokens[static_cast<size_t>(first + n)]] = scale;
  }
  return rows;
}

Tensor Model::Rows(const Tensor& table, const Tensor& numbers, double factor) {
  if (table.dim() == 2 && table.is_cpu()) return at::embedding(table, numbers) * factor;
  // On a GPU, and of a whole pack: by a product, whose gradient is a sum in a fixed order.
  return at::matmul(at::one_hot(numbers, table.size(-2)).to(at::kFloat) * factor, table);
}

Tensor Model::Embed(const ParameterSet& parameters, const Tensor& tokens, int embedding) const {
  const Tensor& table = parameters[static_cast<size_t>(embedding)];
  if (tokens.is_floating_point()) return table.dim() == 2 ? at::mm(tokens, table) : at::matmul(tokens, table);
  return Rows(table, tokens, std::sqrt(static_cast<double>(dim_)));
}

LayerTerms Model::TermsOf(const ParameterSet& parameters, const PassTerms& terms, int layer) const {
  const size_t l = static_cast<size_t>(layer);
  LayerTerms result;
  if (!encoding_->ActsIn(layer)) return result;
  if (!terms.rotation.empty()) result.rotation = terms.rotation[l];
  if (terms.positions == nullptr || terms.positions->distances.empty()) return result;
  result.distances = &terms.positions->distances[l];
  if (encoding_->NumbersOfPair() > 0) {
    result.numbers_of_pair = encoding_->NumbersOfPair();
    result.pair_bias = [this, &parameters, distances = result.distances, layer](int64_t first_query, int64_t queries, int64_t keys) {
      return encoding_->PairBias(*distances, parameters, layer, first_query, queries, keys);
    };
  } else if (encoding_->Trained()) {
    result.bias_table = encoding_->BiasTable(*result.distances, parameters, layer);
    result.content = encoding_->Content(*result.distances, parameters, layer);
  } else {
    result.bias_table = terms.bias_tables[l];
  }
  return result;
}

std::unique_ptr<Model> MakeModel(const PackSettings& settings) {
  if (settings.experiment == "llama") return std::make_unique<LlamaNetwork>(settings);
  if (settings.experiment == "images") return std::make_unique<EncoderDecoder>(settings);
  const Vocabulary vocabulary = VocabularyOf(settings);
  return std::make_unique<Encoder>(settings, vocabulary.read, vocabulary.classes);
}

}  // namespace longreach::trainer
