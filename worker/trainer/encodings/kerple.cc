#include "worker/trainer/encodings/kerple.h"

namespace longreach::trainer {

Tensor PenaltyDistance(const Tensor& distances, bool break_symmetry) {
  const Tensor distance_R = distances.abs();
  return break_symmetry ? distance_R - 0.5 * (distances < 0) : distance_R;
}

void KerpleParameters::Declare(ParameterLayout& layout) {
  const int sets = config_.kerple_shared ? 1 : config_.layers;
  for (int i = 0; i < sets; ++i) {
    const std::string place = config_.kerple_shared ? "attn." : "layer" + std::to_string(i) + ".attn.";
    a_.push_back(
        layout.Add(place + "kerple_" + kind_ + "_a", {config_.num_heads}, {Initial::Kind::kUniform, 1.0}));
    p_.push_back(
        layout.Add(place + "kerple_" + kind_ + "_p", {config_.num_heads}, {Initial::Kind::kUniform, 2.0}));
  }
}

void KerpleParameters::Clamp(const ParameterSet& parameters, double p_max) const {
  const torch::NoGradGuard no_grad;
  for (const int a : a_) parameters[static_cast<size_t>(a)].detach().clamp_min_(0.01);
  for (const int p : p_) {
    Tensor values = parameters[static_cast<size_t>(p)].detach();
    values.clamp_min_(0.01);
    if (p_max > 0) values.clamp_max_(p_max);
  }
}

void KerpleParameters::AddGradient(const Tensor& penalty_R, const ParameterSet& parameters, int layer,
                                   const Tensor& table_gradient, const ParameterSet& gradients,
                                   Slopes (*slopes)(double a, double p, double distance)) const {
  const size_t set = config_.kerple_shared ? 0 : static_cast<size_t>(layer);
  const size_t a_index = static_cast<size_t>(a_[set]), p_index = static_cast<size_t>(p_[set]);
  const auto distance = penalty_R.accessor<float, 1>();
  const auto gradient = table_gradient.accessor<float, 2>();
  for (int64_t h = 0; h < config_.num_heads; ++h) {
    const double a = parameters[a_index].data_ptr<float>()[h], p = parameters[p_index].data_ptr<float>()[h];
    double sum_a = 0, sum_p = 0;
    for (int64_t r = 0; r < distance.size(0); ++r) {
      const double g = gradient[h][r];
      if (g == 0) continue;
      const Slopes slope = slopes(a, p, distance[r]);
      sum_a += g * slope.a;
      sum_p += g * slope.p;
    }
    gradients[a_index].data_ptr<float>()[h] += static_cast<float>(sum_a);
    gradients[p_index].data_ptr<float>()[h] += static_cast<float>(sum_p);
  }
}

Tensor KerpleParameters::Column(const ParameterSet& parameters, const std::vector<int>& indices,
                                int layer) const {
  const Tensor& values =
      parameters[static_cast<size_t>(indices[config_.kerple_shared ? 0 : static_cast<size_t>(layer)])];
  if (values.dim() == 1) return values.unsqueeze(-1);
  return values.transpose(-1, -2);  // [E, 1, H] to [E, H, 1].
}

}  // namespace longreach::trainer
