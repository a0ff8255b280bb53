#include "worker/trainer/llama/head_scales.h"

#include <algorithm>
#include <cmath>

#include "proto/base/text.h"

namespace longreach::trainer {

namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.95;
constexpr float kEpsilon = 1e-8f;
// What torch.nn.utils.clip_grad_norm_ adds to the norm.
constexpr double kClipEpsilon = 1e-6;

}  // namespace

absl::Status Validate(const HeadScaleSettings& settings) {
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  if (settings.steps < 1) return refuse("head scales cannot be tuned in ", settings.steps, " steps");
  if (settings.warmup_steps < 0 || settings.warmup_steps >= settings.steps) {
    return refuse("a warm-up of ", settings.warmup_steps, " steps does not fit into ", settings.steps, " steps");
  }
  if (!(settings.learning_rate > 0) || !std::isfinite(settings.learning_rate)) {
    return refuse("a learning rate of ", settings.learning_rate, " trains nothing");
  }
  if (!(settings.clip_norm > 0)) return refuse("gradients cannot be clipped to a norm of ", settings.clip_norm);
  return absl::OkStatus();
}

HeadScaleOptimizer::HeadScaleOptimizer(const HeadScaleSettings& settings, size_t factors)
    : settings_(settings), moment1_(factors, 0.0f), moment2_(factors, 0.0f) {}

double HeadScaleOptimizer::Step(std::span<const float> gradient, std::span<float> factors) {
  double squares = 0;
  for (const float g : gradient) squares += static_cast<double>(g) * g;
  const double norm = std::sqrt(squares);
  const float clip = static_cast<float>(std::min(settings_.clip_norm / (norm + kClipEpsilon), 1.0));
  const float rate = static_cast<float>(RateAt(settings_.schedule(), settings_.learning_rate, step_));
  ++step_;
  const float correction1 = static_cast<float>(1 - std::pow(kBeta1, step_)),
      correction2 = static_cast<float>(std::sqrt(1 - std::pow(kBeta2, step_)));
  for (size_t i = 0; i < factors.size(); ++i) {
    const float g = gradient[i] * clip;
    moment1_[i] = static_cast<float>(kBeta1) * moment1_[i] + static_cast<float>(1 - kBeta1) * g;
    moment2_[i] = static_cast<float>(kBeta2) * moment2_[i] + static_cast<float>(1 - kBeta2) * g * g;
    factors[i] -= rate / correction1 * moment1_[i] / (std::sqrt(moment2_[i]) / correction2 + kEpsilon);
    if (settings_.bound == HeadScaleSettings::Bound::kClamp) {
      factors[i] = std::max(factors[i], static_cast<float>(settings_.lower_bound));
    }
  }
  return norm;
}

}  // namespace longreach::trainer
