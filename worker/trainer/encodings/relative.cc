#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/encodings/layer_sets.h"
#include "worker/trainer/encodings/sin_cos_table.h"
#include "worker/trainer/sent.h"

namespace longreach::trainer {

namespace {

// Transformer-XL: keys have a second, relative part that is made of the sin/cos row of the signed distance.
// Source: compute_attention_with_relative_encodings() of google-deepmind/randomized_positional_encodings.
class Relative final : public Encoding {
 public:
  explicit Relative(const EncodingConfig& config)
      : config_(config), table_(config.max_position + 1, config.embedding_dim), sets_(config.layers, config.none_every, /*shared=*/false) {}

  PositionUse Use() const override { return PositionUse::kDistances; }
  bool Trained() const override { return true; }
  bool TrainsWithoutAutograd() const override { return true; }
  bool AddsContent() const override { return true; }

  void Declare(ParameterLayout& layout) override {
    const int64_t dim = config_.embedding_dim;
    for (int i = 0; i < sets_.count(); ++i) {
      const std::string place = sets_.Place(i);
      // As every linear layer: sigma = 1/sqrt(fan_in).
      w_.push_back(layout.Add(place + "rel.w", {dim, dim},
                              {Initial::Kind::kTruncatedNormal, 1.0 / std::sqrt(static_cast<double>(dim))}));
      u_.push_back(layout.Add(place + "rel_content_bias", {config_.num_heads, config_.head_dim()},
                              {Initial::Kind::kNormal, 0.02}));
      v_.push_back(layout.Add(place + "rel_relative_bias", {config_.num_heads, config_.head_dim()},
                              {Initial::Kind::kNormal, 0.02}));
    }
  }

  ContentTerm Content(const Distances& distances, const ParameterSet& set, int layer) const override {
    const size_t l = static_cast<size_t>(sets_.Of(layer));
    return {.content_bias = set[static_cast<size_t>(u_[l])],
            .relative_bias = set[static_cast<size_t>(v_[l])],
            .keys = at::matmul(Sent(Rows(distances), set[static_cast<size_t>(w_[l])].device()), set[static_cast<size_t>(w_[l])])};
  }

  void AddContentGradient(const Distances& distances, int layer, const ContentTerm& content_gradient,
                          const ParameterSet& gradients) const override {
    const size_t l = static_cast<size_t>(sets_.Of(layer));
    gradients[static_cast<size_t>(u_[l])].add_(content_gradient.content_bias);
    gradients[static_cast<size_t>(v_[l])].add_(content_gradient.relative_bias);
    gradients[static_cast<size_t>(w_[l])].add_(at::matmul(Rows(distances).t(), content_gradient.keys));
  }

 private:
  // Of the sin/cos table, one for each distance: [R, D].
  Tensor Rows(const Distances& distances) const {
    if (!config_.relative_as_released) return table_.Rows(distances.values());
    // The released table covers 0..L-1 and is read at distance + L, clamped: all keys at or after the query
    // are alike.
    return table_.Rows((distances.values() + config_.max_position).clamp_max(config_.max_position - 1));
  }

  EncodingConfig config_;
  SinCosTable table_;
  LayerSets sets_;
  std::vector<int> w_;  // By set.
  std::vector<int> u_;
  std::vector<int> v_;
};

}  // namespace

std::unique_ptr<Encoding> Make_relative(const EncodingConfig& config) {
  return std::make_unique<Relative>(config);
}

}  // namespace longreach::trainer
