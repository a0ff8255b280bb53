#include "worker/trainer/encodings/kerple.h"

#include <limits>

namespace longreach::trainer {

namespace {

constexpr double kSmallest = 0.01;

// Of [H] or [E, 1, H], in place. On a CPU the dozen operations on a few numbers each would cost more than the numbers.
void ClampTo(double low, double high, const Tensor& parameter) {
  if (!parameter.is_cpu()) {
    parameter.detach().clamp_(low, high);
    return;
  }
  const int64_t members = parameter.dim() == 1 ? 1 : parameter.size(0), heads = parameter.size(-1);
  const int64_t stride = parameter.dim() == 1 ? 0 : parameter.stride(0);
  const float least = static_cast<float>(low), most = static_cast<float>(high);
  for (int64_t e = 0; e < members; ++e) {
    float* values = parameter.data_ptr<float>() + e * stride;
    for (int64_t h = 0; h < heads; ++h) values[h] = values[h] < least ? least : values[h] > most ? most : values[h];
  }
}

}  // namespace

Tensor PenaltyDistance(const Tensor& distances, bool break_symmetry) {
  const Tensor distance_R = distances.abs();
  return break_symmetry ? distance_R - 0.5 * (distances < 0) : distance_R;
}

void KerpleParameters::Declare(ParameterLayout& layout) {
  for (int i = 0; i < sets_.count(); ++i) {
    const std::string place = sets_.Place(i) + "kerple_" + kind_;
    a_.push_back(layout.Add(place + "_a", {num_heads_}, {Initial::Kind::kUniform, 1.0}));
    p_.push_back(layout.Add(place + "_p", {num_heads_}, {Initial::Kind::kUniform, 2.0}));
  }
}

void KerpleParameters::Clamp(const ParameterSet& parameters, double p_max) const {
  const torch::NoGradGuard no_grad;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const int a : a_) ClampTo(kSmallest, infinity, parameters[static_cast<size_t>(a)]);
  for (const int p : p_) ClampTo(kSmallest, p_max > 0 ? p_max : infinity, parameters[static_cast<size_t>(p)]);
}

void KerpleParameters::AddGradient(const Tensor& penalty_R, const ParameterSet& parameters, int layer,
                                   const Tensor& table_gradient, const ParameterSet& gradients,
                                   Slopes (*slopes)(double a, double p, double distance)) const {
  const size_t set = static_cast<size_t>(sets_.Of(layer));
  const size_t a_index = static_cast<size_t>(a_[set]), p_index = static_cast<size_t>(p_[set]);
  const auto distance = penalty_R.accessor<float, 1>();
  const auto gradient = table_gradient.accessor<float, 2>();
  for (int64_t h = 0; h < num_heads_; ++h) {
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
  const int index = indices[static_cast<size_t>(sets_.Of(layer))];
  const Tensor& values = parameters[static_cast<size_t>(index)];
  if (values.dim() == 1) return values.unsqueeze(-1);
  return values.transpose(-1, -2);  // [E, 1, H] to [E, H, 1].
}

}  // namespace longreach::trainer
