#include <algorithm>
#include <cmath>
#include <vector>

#include "worker/trainer/encodings/kerple.h"
#include "worker/trainer/encodings/sin_cos_table.h"

namespace longreach::trainer {

namespace {

// Sandwich: the inner product of two rows of sines and cosines of dimension D, divided by a ratio that grows
// with the head: bias_h = sum_i cos(distance 10000^(-2i/D)) / (8 (h + 1) / H). No parameters. Source:
// arXiv:2212.10356, appendix E, as rebuilt in the test of attn_gym/mods/sandwich.py
// (meta-pytorch/attention-gym).
class Sandwich final : public Encoding {
 public:
  explicit Sandwich(const EncodingConfig& config)
      : frequencies_(SinCosFrequencies(config.sandwich_dim)), break_symmetry_(config.break_symmetry) {
    std::vector<double> factors;
    for (int h = 0; h < config.num_heads; ++h) factors.push_back(config.num_heads / (8.0 * (h + 1)));
    factors_H1_ = at::tensor(factors, at::kDouble).view({-1, 1});
    const int rows = std::min(config.max_position, 1 << 14);  // Others are made when asked for.
    for (int half_steps = 0; half_steps < 2 * rows; half_steps += break_symmetry_ ? 1 : 2) {
      table_.push_back(Sum(0.5 * half_steps));
    }
  }

  PositionUse Use() const override { return PositionUse::kDistances; }

  Tensor BiasTable(const Distances& distances, const ParameterSet&, int) const override {
    const Tensor distance_R = PenaltyDistance(distances.values(), break_symmetry_).contiguous();
    Tensor sum_R = at::empty_like(distance_R, at::kDouble);
    for (int64_t r = 0; r < distance_R.numel(); ++r) {
      const double distance = distance_R.data_ptr<float>()[r];
      const size_t row = static_cast<size_t>(break_symmetry_ ? 2 * distance : distance);
      sum_R.data_ptr<double>()[r] = row < table_.size() ? table_[row] : Sum(distance);
    }
    return (factors_H1_ * sum_R).to(at::kFloat);
  }

 private:
  double Sum(double distance) const {
    double sum = 0;
    for (const double frequency : frequencies_) sum += std::cos(distance * frequency);
    return sum;
  }

  std::vector<double> frequencies_;
  bool break_symmetry_;
  Tensor factors_H1_;
  std::vector<double> table_;  // By distance; by half a distance with break_symmetry_.
};

}  // namespace

std::unique_ptr<Encoding> Make_sandwich(const EncodingConfig& config) {
  return std::make_unique<Sandwich>(config);
}

}  // namespace longreach::trainer
