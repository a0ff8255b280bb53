#include <algorithm>
#include <cmath>
#include <vector>

#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/pick.h"

namespace longreach::trainer {

namespace {

// The least distance of each bucket of one side, ascending: half of them have one distance each, and the others' grow as a power that
// would reach `max_distance` behind the last. Where buckets outnumber distances, the last of those that begin alike is used.
std::vector<int64_t> BucketStarts(int buckets, int max_distance) {
  // A power that is a whole number in truth may be computed a little larger. All that T5's own float32 formula makes of distances up to
  // 4200 comes out alike.
  constexpr double kRounding = 1 - 1e-12;
  const int exact = buckets / 2, others = buckets - exact;
  const double ratio = static_cast<double>(max_distance) / exact;
  std::vector<int64_t> starts;
  for (int b = 0; b < exact; ++b) starts.push_back(b);
  for (int k = 0; k < others; ++k) {
    starts.push_back(static_cast<int64_t>(std::ceil(kRounding * exact * std::pow(ratio, static_cast<double>(k) / others))));
  }
  return starts;
}

// T5's biases: a trained number for each head and bucket of distances, the same in all layers. Both sides have buckets of their own,
// unless a model looks back only.
// Source: arXiv:1910.10683, section 2.1; _relative_position_bucket() of T5's code, as in transformers (models/t5/modeling_t5.py), whose
// initial values these are, too.
class T5 final : public Encoding {
 public:
  explicit T5(const EncodingConfig& config)
      : config_(config), of_a_side_(config.causal ? config.t5_buckets : config.t5_buckets / 2), starts_(BucketStarts(of_a_side_, config.t5_max_distance)) {}

  PositionUse Use() const override { return PositionUse::kDistances; }
  bool Trained() const override { return true; }
  bool TrainsWithoutAutograd() const override { return true; }

  void Declare(ParameterLayout& layout) override {
    table_ = layout.Add("attn.t5_bias", {config_.num_heads, config_.t5_buckets},
                        {Initial::Kind::kNormal, 1.0 / std::sqrt(static_cast<double>(config_.embedding_dim))});
  }

  Tensor BiasTable(const Distances& distances, const ParameterSet& set, int) const override {
    return Pick(set[static_cast<size_t>(table_)], -1, Buckets(distances));
  }

  void AddBiasGradient(const Distances& distances, const ParameterSet&, int, const Tensor& table_gradient,
                       const ParameterSet& gradients) const override {
    const Tensor bucket_R = Buckets(distances);
    const int64_t* bucket = bucket_R.const_data_ptr<int64_t>();
    const auto gradient = table_gradient.accessor<float, 2>();
    float* into = gradients[static_cast<size_t>(table_)].data_ptr<float>();
    std::vector<double> sums(static_cast<size_t>(config_.t5_buckets));
    for (int64_t h = 0; h < config_.num_heads; ++h) {
      std::ranges::fill(sums, 0);
      for (int64_t r = 0; r < bucket_R.numel(); ++r) sums[static_cast<size_t>(bucket[r])] += static_cast<double>(gradient[h][r]);
      for (const double sum : sums) *into++ += static_cast<float>(sum);
    }
  }

 private:
  // Of each distance: int64 [R], on the host. Of the two sides that of keys after the query comes second.
  Tensor Buckets(const Distances& distances) const {
    const auto distance = distances.values().accessor<float, 1>();
    Tensor bucket_R = at::empty({distance.size(0)}, at::kLong);
    int64_t* bucket = bucket_R.data_ptr<int64_t>();
    for (int64_t r = 0; r < distance.size(0); ++r) {
      const auto value = static_cast<int64_t>(distance[r]);
      const auto next = std::ranges::upper_bound(starts_, value < 0 ? -value : value);
      bucket[r] = next - starts_.begin() - 1 + (value > 0 ? of_a_side_ : 0);
    }
    return bucket_R;
  }

  EncodingConfig config_;
  int of_a_side_;
  std::vector<int64_t> starts_;  // By bucket of a side.
  int table_ = -1;
};

}  // namespace

std::unique_ptr<Encoding> Make_t5(const EncodingConfig& config) { return std::make_unique<T5>(config); }

}  // namespace longreach::trainer
