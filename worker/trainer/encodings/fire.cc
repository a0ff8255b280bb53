#include <cmath>
#include <string>
#include <vector>

#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/encodings/layer_sets.h"
#include "worker/trainer/sent.h"

namespace longreach::trainer {

namespace {

// FIRE: a network with one hidden layer makes the biases of all heads of how far a key is, as a share of how far it could be. With
// psi(x) = log(1 + |c| x) a key at distance d of a query at position p has f(psi(d) / psi(max(p, L))). c and L, as |m| times the threshold, are
// trained. Of a query beyond L that looks back only, the first token has the share 1, however long the tape is.
//
// d is |distance|, as in the source's code: the two sides are alike, and a key far behind an early query has a share above 1.
//
// The source's second layer has an offset for each head. All keys of a query would get the same, which softmax takes out: there is none here.
// Source: arXiv:2310.04418, section 3 and the code in its appendix, whose initial values these are: PyTorch's of linear layers.
class Fire final : public Encoding {
 public:
  explicit Fire(const EncodingConfig& config) : config_(config), of_layers_(config.layers, config.fire_shared) {}

  PositionUse Use() const override { return PositionUse::kDistances; }
  bool Trained() const override { return true; }
  int64_t NumbersOfPair() const override { return config_.fire_width; }

  void Declare(ParameterLayout& layout) override {
    const int64_t width = config_.fire_width;
    const double of_hidden = 1.0 / std::sqrt(static_cast<double>(width));
    for (int i = 0; i < of_layers_.count(); ++i) {
      const std::string place = of_layers_.Place(i) + "fire_";
      sets_.push_back({.c = layout.Add(place + "c", {1}, {Initial::Kind::kConstant, 0.1}),
                       .m = layout.Add(place + "m", {1}, {Initial::Kind::kOnes, 0}),
                       .w1 = layout.Add(place + "1.w", {width}, {Initial::Kind::kSymmetric, 1}),
                       .b1 = layout.Add(place + "1.b", {width}, {Initial::Kind::kSymmetric, 1}),
                       .w2 = layout.Add(place + "2.w", {width, config_.num_heads}, {Initial::Kind::kSymmetric, of_hidden})});
    }
  }

  Tensor PairBias(const Distances& distances, const ParameterSet& parameters, int layer, int64_t first_query, int64_t queries,
                  int64_t keys) const override {
    constexpr double kEpsilon = 1e-6;  // The source's: no share is a quotient of zeros.
    const Set& set = sets_[static_cast<size_t>(of_layers_.Of(layer))];
    const auto at_index = [&](int index) -> const Tensor& { return parameters[static_cast<size_t>(index)]; };
    const int64_t width = config_.fire_width, heads = config_.num_heads;
    const at::Device device = at_index(set.c).device();
    const Tensor distance_QS = Sent(DistancesOf(distances, first_query, queries, keys), device);
    const Tensor place_Q = Sent(Places(distances, first_query, queries), device);
    // With the pack axis in front, of a member alone too.
    const Tensor c_E1 = SizeOf(at_index(set.c)).view({-1, 1});
    const Tensor threshold_E1 = SizeOf(at_index(set.m) * config_.fire_threshold).view({-1, 1});
    const Tensor farthest_EQ = at::log1p(c_E1 * at::maximum(place_Q, threshold_E1)) + kEpsilon;
    const Tensor share_EQS = at::log1p(c_E1.unsqueeze(-1) * distance_QS) / farthest_EQ.unsqueeze(-1);
    const Tensor hidden_EQSW = at::clamp_min(share_EQS.unsqueeze(-1) * at_index(set.w1).view({-1, 1, 1, width}) + at_index(set.b1).view({-1, 1, 1, width}), 0);
    const Tensor bias_ENH = at::matmul(hidden_EQSW.reshape({-1, queries * keys, width}), at_index(set.w2).view({-1, width, heads}));
    const Tensor bias_EHQS = bias_ENH.view({-1, queries, keys, heads}).permute({0, 3, 1, 2});
    return at_index(set.w2).dim() == 2 ? bias_EHQS.squeeze(0) : bias_EHQS;
  }

 private:
  // Indices of a network's parameters.
  struct Set {
    int c, m, w1, b1, w2;
  };

  // |x|. Neither this nor ReLU by its own operation: the device "meta", on which tests see where tensors are, has neither.
  static Tensor SizeOf(const Tensor& x) { return at::maximum(x, -x); }

  // [queries, keys], on the host.
  static Tensor DistancesOf(const Distances& distances, int64_t first_query, int64_t queries, int64_t keys) {
    const Tensor entry = distances.Entries(first_query, queries).narrow(1, 0, keys).reshape({-1});
    return distances.values().abs().index_select(0, entry).view({queries, keys});
  }

  // Of queries: their positions; where distances have been drawn one by one, and there are none, how far the first token is.
  static Tensor Places(const Distances& distances, int64_t first_query, int64_t queries) {
    if (distances.toeplitz()) return distances.values().narrow(0, distances.tape() - first_query - queries, queries).flip(0).abs();
    Tensor place_Q = at::empty({queries}, at::kFloat);
    float* out = place_Q.data_ptr<float>();
    for (int64_t t = first_query; t < first_query + queries; ++t) *out++ = static_cast<float>(distances.positions()[static_cast<size_t>(t)]);
    return place_Q;
  }

  EncodingConfig config_;
  LayerSets of_layers_;
  std::vector<Set> sets_;
};

}  // namespace

std::unique_ptr<Encoding> Make_fire(const EncodingConfig& config) { return std::make_unique<Fire>(config); }

}  // namespace longreach::trainer
