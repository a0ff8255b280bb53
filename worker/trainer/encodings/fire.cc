#include <algorithm>
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
  explicit Fire(const EncodingConfig& config) : config_(config), of_layers_(config.layers, config.none_every, config.fire_shared) {}

  PositionUse Use() const override { return PositionUse::kDistances; }
  bool Trained() const override { return true; }
  bool TrainsWithoutAutograd() const override { return true; }
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
    const int64_t width = config_.fire_width, heads = config_.num_heads;
    const Set& set = SetOf(layer);
    const Tensor& w2 = parameters[static_cast<size_t>(set.w2)];
    const Shares shares = SharesOf(distances, parameters, set, first_query, queries, keys);
    const Tensor hidden_EQSW = at::clamp_min(BeforeReLU(shares, parameters, set), 0);
    const Tensor bias_ENH = at::matmul(hidden_EQSW.reshape({-1, queries * keys, width}), w2.view({-1, width, heads}));
    const Tensor bias_EHQS = bias_ENH.view({-1, queries, keys, heads}).permute({0, 3, 1, 2});
    return w2.dim() == 2 ? bias_EHQS.squeeze(0) : bias_EHQS;
  }

  void AddPairGradient(const Distances& distances, const ParameterSet& parameters, int layer, int64_t first_query, const Tensor& bias_gradient,
                       const ParameterSet& gradients) const override {
    const int64_t width = config_.fire_width, heads = config_.num_heads, queries = bias_gradient.size(1), keys = bias_gradient.size(2);
    const Set& set = SetOf(layer);
    const auto add = [&](int index, const Tensor& gradient) { gradients[static_cast<size_t>(index)].add_(gradient); };
    const Shares shares = SharesOf(distances, parameters, set, first_query, queries, keys);
    const Tensor before_NW = BeforeReLU(shares, parameters, set).view({queries * keys, width});
    const Tensor gradient_NH = bias_gradient.permute({1, 2, 0}).reshape({queries * keys, heads});
    add(set.w2, at::mm(at::clamp_min(before_NW, 0).t(), gradient_NH));
    const Tensor w2_HW = parameters[static_cast<size_t>(set.w2)].t();
    const Tensor gradient_NW = at::mm(gradient_NH, w2_HW) * (before_NW >= 0);  // As of clamp_min().
    add(set.b1, gradient_NW.sum(0));
    add(set.w1, at::mv(gradient_NW.t(), shares.share_EQS.view({-1})));
    const Slopes slopes = SlopesOf(shares, parameters, set, at::mv(gradient_NW, parameters[static_cast<size_t>(set.w1)]));
    add(set.c, at::full({1}, slopes.c, at::kFloat));
    add(set.m, at::full({1}, slopes.m, at::kFloat));
  }

 private:
  // Indices of a network's parameters.
  struct Set {
    int c, m, w1, b1, w2;
  };

  const Set& SetOf(int layer) const { return sets_[static_cast<size_t>(of_layers_.Of(layer))]; }

  // What the network is given, and what it is made of. With the pack axis in front, of a member alone too.
  struct Shares {
    Tensor distance_QS, place_Q;
    Tensor farthest_EQ, share_EQS;
  };
  Shares SharesOf(const Distances& distances, const ParameterSet& parameters, const Set& set, int64_t first_query, int64_t queries,
                  int64_t keys) const {
    constexpr double kEpsilon = 1e-6;  // The source's: no share is a quotient of zeros.
    const Tensor &c = parameters[static_cast<size_t>(set.c)], &m = parameters[static_cast<size_t>(set.m)];
    Shares shares{.distance_QS = Sent(DistancesOf(distances, first_query, queries, keys), c.device()),
                  .place_Q = Sent(Places(distances, first_query, queries), c.device()),
                  .farthest_EQ = {},
                  .share_EQS = {}};
    const Tensor c_E1 = SizeOf(c).view({-1, 1});
    const Tensor threshold_E1 = SizeOf(m * config_.fire_threshold).view({-1, 1});
    shares.farthest_EQ = at::log1p(c_E1 * at::maximum(shares.place_Q, threshold_E1)) + kEpsilon;
    shares.share_EQS = at::log1p(c_E1.unsqueeze(-1) * shares.distance_QS) / shares.farthest_EQ.unsqueeze(-1);
    return shares;
  }

  // Hidden features before ReLU: [E, queries, keys, width].
  Tensor BeforeReLU(const Shares& shares, const ParameterSet& parameters, const Set& set) const {
    const auto row = [&](int index) { return parameters[static_cast<size_t>(index)].view({-1, 1, 1, config_.fire_width}); };
    return shares.share_EQS.unsqueeze(-1) * row(set.w1) + row(set.b1);
  }

  // What the gradients of all shares of a member, [queries keys], make of c and m.
  struct Slopes {
    double c, m;
  };
  Slopes SlopesOf(const Shares& shares, const ParameterSet& parameters, const Set& set, const Tensor& share_gradient) const {
    const float c = parameters[static_cast<size_t>(set.c)].item<float>(), m = parameters[static_cast<size_t>(set.m)].item<float>();
    const auto distance = shares.distance_QS.accessor<float, 2>();
    const float *place = shares.place_Q.const_data_ptr<float>(), *farthest = shares.farthest_EQ.const_data_ptr<float>();
    const float *share = shares.share_EQS.const_data_ptr<float>(), *gradient = share_gradient.const_data_ptr<float>();
    const float threshold = std::abs(m * static_cast<float>(config_.fire_threshold));
    const double size = std::abs(static_cast<double>(c));
    Slopes sums = {};
    for (int64_t q = 0; q < distance.size(0); ++q) {
      double of_distances = 0, of_shares = 0;
      for (int64_t s = 0; s < distance.size(1); ++s) {
        const double g = *gradient++, far = distance[q][s];
        of_distances += g * far / (1 + size * far);
        of_shares += g * static_cast<double>(*share++);
      }
      const double limit = std::max(place[q], threshold), slope = of_shares / (1 + size * limit);
      sums.c += (of_distances - slope * limit) / static_cast<double>(farthest[q]);
      // Where both are as large, each has half of it, as at::maximum() has it.
      const double share_of_m = threshold < place[q] ? 0 : threshold == place[q] ? 0.5 : 1;
      sums.m -= share_of_m * slope * size / static_cast<double>(farthest[q]);
    }
    const auto sign = [](float x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; };
    return {.c = sums.c * sign(c), .m = sums.m * sign(m) * config_.fire_threshold};
  }

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
