#include <cmath>

#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

namespace {

// 2^-(h+1) for 8 heads: a geometric sequence from 2^(-8/H) whose ratio is its first term.
// Source: the authors' get_slopes(), for H a power of two; what lies between takes every other slope of 2H,
// as theirs.
std::vector<double> PowerOfTwoSlopes(int heads) {
  std::vector<double> slopes;
  for (int h = 0; h < heads; ++h) slopes.push_back(std::exp2(-8.0 * (h + 1) / heads));
  return slopes;
}

Tensor AlibiSlopes(int heads) {
  int power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes = PowerOfTwoSlopes(power);
  const std::vector<double> between = PowerOfTwoSlopes(2 * power);
  for (size_t i = 0; slopes.size() < static_cast<size_t>(heads); i += 2) slopes.push_back(between[i]);
  return at::tensor(slopes, at::kDouble).to(at::kFloat);
}

// ALiBi: a penalty on attention logits that grows with distance. Nothing is added to embeddings.
// Source: arXiv:2108.12409, as in compute_alibi_encodings_biases() of
// google-deepmind/randomized_positional_encodings.
class Alibi final : public Encoding {
 public:
  explicit Alibi(const EncodingConfig& config)
      : causal_(config.causal), slopes_H1_(AlibiSlopes(config.num_heads).view({-1, 1})) {}

  PositionUse Use() const override { return PositionUse::kDistances; }

  // One bias per head and signed distance; attention looks it up, so nothing T x T is built.
  Tensor BiasTable(const Distances& distances, const ParameterSet&, int) const override {
    const Tensor distance_R = distances.values();  // Key minus query, in positions.
    // Looking back only, as its authors do, there is nothing to tell apart.
    if (causal_) return slopes_H1_ * -distance_R.abs();
    // Attention sees both sides, and |distance| alone cannot tell left from right. The source breaks
    // the tie by +0.5 on the left; without it our scores would not compare with theirs.
    const Tensor bias_R = -distance_R.abs() + 0.5 * (distance_R < 0);
    return slopes_H1_ * bias_R;  // Added after the 1/sqrt(K) factor, so not scaled by it.
  }

 private:
  bool causal_;
  Tensor slopes_H1_;
};

}  // namespace

std::unique_ptr<Encoding> Make_alibi(const EncodingConfig& config) { return std::make_unique<Alibi>(config); }

}  // namespace longreach::trainer
