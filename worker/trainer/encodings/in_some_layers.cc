#include "worker/trainer/encodings/in_some_layers.h"

#include <utility>

#include "proto/catalog/position_layers.h"

namespace longreach::trainer {

namespace {

// What leaves a layer's logits as they are has the encoding's own shapes, so that no engine need know of it: turns by no angle, biases and terms of 0.
class SomeLayers final : public Encoding {
 public:
  SomeLayers(std::unique_ptr<Encoding> encoding, const EncodingConfig& config) : encoding_(std::move(encoding)), config_(config) {}

  PositionUse Use() const override { return encoding_->Use(); }
  bool ActsIn(int layer) const override { return catalog::HasPositions(config_.none_every, layer); }
  bool Trained() const override { return encoding_->Trained(); }
  bool TrainsWithoutAutograd() const override { return encoding_->TrainsWithoutAutograd(); }
  void Declare(ParameterLayout& layout) override { encoding_->Declare(layout); }
  void Clamp(const ParameterSet& parameters) const override { encoding_->Clamp(parameters); }

  Tensor Rotation(const Tensor& positions, bool test, int layer) const override {
    if (ActsIn(layer)) return encoding_->Rotation(positions, test, layer);
    const std::vector<int64_t> shape = {positions.numel(), config_.head_dim() / 2};
    return at::stack({at::ones(shape, at::kFloat), at::zeros(shape, at::kFloat)});
  }

  Tensor BiasTable(const Distances& distances, const ParameterSet& parameters, int layer) const override {
    const bool has_table = NumbersOfPair() == 0 && !AddsContent();
    if (!has_table || ActsIn(layer)) return encoding_->BiasTable(distances, parameters, layer);
    return Zeros(parameters, {config_.num_heads, distances.values().size(0)});
  }
  void AddBiasGradient(const Distances& distances, const ParameterSet& parameters, int layer, const Tensor& table_gradient,
                       const ParameterSet& gradients) const override {
    if (ActsIn(layer)) encoding_->AddBiasGradient(distances, parameters, layer, table_gradient, gradients);
  }

  int64_t NumbersOfPair() const override { return encoding_->NumbersOfPair(); }
  Tensor PairBias(const Distances& distances, const ParameterSet& parameters, int layer, int64_t first_query, int64_t queries,
                  int64_t keys) const override {
    if (NumbersOfPair() == 0 || ActsIn(layer)) return encoding_->PairBias(distances, parameters, layer, first_query, queries, keys);
    return Zeros(parameters, {config_.num_heads, queries, keys});
  }
  void AddPairGradient(const Distances& distances, const ParameterSet& parameters, int layer, int64_t first_query, const Tensor& bias_gradient,
                       const ParameterSet& gradients) const override {
    if (ActsIn(layer)) encoding_->AddPairGradient(distances, parameters, layer, first_query, bias_gradient, gradients);
  }

  bool AddsContent() const override { return encoding_->AddsContent(); }
  ContentTerm Content(const Distances& distances, const ParameterSet& parameters, int layer) const override {
    if (!AddsContent() || ActsIn(layer)) return encoding_->Content(distances, parameters, layer);
    const Tensor by_head = Zeros(parameters, {config_.num_heads, config_.head_dim()});
    return {.content_bias = by_head, .relative_bias = by_head, .keys = Zeros(parameters, {distances.values().size(0), config_.embedding_dim})};
  }
  void AddContentGradient(const Distances& distances, int layer, const ContentTerm& content_gradient, const ParameterSet& gradients) const override {
    if (ActsIn(layer)) encoding_->AddContentGradient(distances, layer, content_gradient, gradients);
  }

 private:
  // Where the parameters are, if there are any.
  static Tensor Zeros(const ParameterSet& parameters, at::IntArrayRef shape) {
    return at::zeros(shape, at::TensorOptions(at::kFloat).device(parameters.empty() ? at::kCPU : parameters[0].device()));
  }

  std::unique_ptr<Encoding> encoding_;
  EncodingConfig config_;
};

}  // namespace

std::unique_ptr<Encoding> InSomeLayers(std::unique_ptr<Encoding> encoding, const EncodingConfig& config) {
  const bool acts_in_layers = encoding->Use() == PositionUse::kRotation || encoding->Use() == PositionUse::kDistances;
  if (config.none_every == 0 || !acts_in_layers) return encoding;
  return std::make_unique<SomeLayers>(std::move(encoding), config);
}

}  // namespace longreach::trainer
