#include "worker/trainer/llama/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace longreach::trainer {

namespace {

// base^(-2 i / d).
std::vector<double> Plain(double base, int64_t head_dim) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < head_dim; i += 2) {
    frequencies.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(head_dim)));
  }
  return frequencies;
}

// Fast pairs as they are, slow ones interpolated, a ramp between them. Source: arXiv:2309.00071, section 3.2.
std::vector<double> Yarn(const LlamaConfig& config) {
  const RopeScaling& scaling = config.rope_scaling;
  const double d = static_cast<double>(config.head_dim);
  const double original = static_cast<double>(scaling.original_length > 0 ? scaling.original_length : config.max_positions);
  // The pair that turns `turns` times within the original length.
  const auto pair_of = [&](double turns) {
    return d * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(config.rope_theta));
  };
  const double low = std::max(std::floor(pair_of(scaling.beta_fast)), 0.0);
  double high = std::min(std::ceil(pair_of(scaling.beta_slow)), d - 1);
  if (low == high) high += 0.001;
  std::vector<double> frequencies = Plain(config.rope_theta, config.head_dim);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] * (1 - ramp) + frequencies[i] / scaling.factor * ramp;
  }
  return frequencies;
}

}  // namespace

double NtkBase(double base, double alpha, int64_t head_dim) {
  const double d = static_cast<double>(head_dim);
  return base * std::pow(alpha, d / (d - 2));
}

RopeTable MakeRopeTable(const LlamaConfig& config, int64_t length) {
  const RopeScaling& scaling = config.rope_scaling;
  std::vector<double> frequencies;
  RopeTable table;
  switch (scaling.kind) {
    case RopeScaling::Kind::kNone: frequencies = Plain(config.rope_theta, config.head_dim); break;
    case RopeScaling::Kind::kLinear:
      frequencies = Plain(config.rope_theta, config.head_dim);
      for (double& frequency : frequencies) frequency /= scaling.factor;
      break;
    case RopeScaling::Kind::kNtk:
      frequencies = Plain(NtkBase(config.rope_theta, scaling.factor, config.head_dim), config.head_dim);
      break;
    case RopeScaling::Kind::kDynamic: {
      const double trained = static_cast<double>(config.max_positions);
      const double stretch = std::max(static_cast<double>(length) / trained, 1.0);
      const double alpha = scaling.factor * stretch - (scaling.factor - 1);
      frequencies = Plain(NtkBase(config.rope_theta, alpha, config.head_dim), config.head_dim);
      break;
    }
    case RopeScaling::Kind::kYarn:
      frequencies = Yarn(config);
      table.magnitude = scaling.attention_factor > 0 ? scaling.attention_factor
                        : scaling.factor > 1         ? 0.1 * std::log(scaling.factor) + 1
                                                     : 1;
      break;
  }
  table.frequencies.assign(frequencies.begin(), frequencies.end());
  return table;
}

}  // namespace longreach::trainer
