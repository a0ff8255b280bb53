#include "worker/trainer/rope_frequencies.h"

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
std::vector<double> Yarn(const RopeSettings& rope) {
  const RopeScaling& scaling = rope.scaling;
  const double d = static_cast<double>(rope.head_dim);
  const double original = static_cast<double>(scaling.original_length > 0 ? scaling.original_length : rope.trained_length);
  // The pair that turns `turns` times within the original length.
  const auto pair_of = [&](double turns) {
    return d * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
  };
  const double low = std::max(std::floor(pair_of(scaling.beta_fast)), 0.0);
  double high = std::min(std::ceil(pair_of(scaling.beta_slow)), d - 1);
  if (low == high) high += 0.001;
  std::vector<double> frequencies = Plain(rope.theta, rope.head_dim);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] * (1 - ramp) + frequencies[i] / scaling.factor * ramp;
  }
  return frequencies;
}

}  // namespace

RopeScaling::Kind RopeScalingKind(std::string_view word) {
  if (word == "linear") return RopeScaling::Kind::kLinear;
  if (word == "ntk") return RopeScaling::Kind::kNtk;
  if (word == "dynamic") return RopeScaling::Kind::kDynamic;
  if (word == "yarn") return RopeScaling::Kind::kYarn;
  return RopeScaling::Kind::kNone;
}

double NtkBase(double base, double alpha, int64_t head_dim) {
  const double d = static_cast<double>(head_dim);
  return base * std::pow(alpha, d / (d - 2));
}

RopeFrequencies FrequenciesOf(const RopeSettings& rope, int64_t length) {
  const RopeScaling& scaling = rope.scaling;
  RopeFrequencies frequencies;
  switch (scaling.kind) {
    case RopeScaling::Kind::kNone: frequencies.of_pairs = Plain(rope.theta, rope.head_dim); break;
    case RopeScaling::Kind::kLinear:
      frequencies.of_pairs = Plain(rope.theta, rope.head_dim);
      for (double& frequency : frequencies.of_pairs) frequency /= scaling.factor;
      break;
    case RopeScaling::Kind::kNtk:
      frequencies.of_pairs = Plain(NtkBase(rope.theta, scaling.factor, rope.head_dim), rope.head_dim);
      break;
    case RopeScaling::Kind::kDynamic: {
      const double stretch = std::max(static_cast<double>(length) / static_cast<double>(rope.trained_length), 1.0);
      const double alpha = scaling.factor * stretch - (scaling.factor - 1);
      frequencies.of_pairs = Plain(NtkBase(rope.theta, alpha, rope.head_dim), rope.head_dim);
      break;
    }
    case RopeScaling::Kind::kYarn:
      frequencies.of_pairs = Yarn(rope);
      frequencies.magnitude = scaling.attention_factor > 0 ? scaling.attention_factor
                              : scaling.factor > 1         ? 0.1 * std::log(scaling.factor) + 1
                                                           : 1;
      break;
  }
  return frequencies;
}

}  // namespace longreach::trainer
