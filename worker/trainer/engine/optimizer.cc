#include "worker/trainer/engine/optimizer.h"

#include <algorithm>
#include <cmath>

#include "worker/trainer/instruction_sets.h"

namespace longreach::trainer {

namespace {

LONGREACH_CLONES void AddToRaw(float* __restrict gradient, const float* __restrict other, size_t n) {
  for (size_t i = 0; i < n; ++i) gradient[i] += other[i];
}

// Eight sums beside each other, then added in order.
LONGREACH_CLONES double SumOfSquaresRaw(const float* values, size_t n) {
  constexpr size_t kLanes = 8;
  double sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  double sum = 0;
  for (const double lane : sums) sum += lane;
  for (; i < n; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

LONGREACH_CLONES void ApplyAdamRaw(const AdamStep& step, const float* __restrict gradient,
                                   float* __restrict moment1, float* __restrict moment2,
                                   float* __restrict parameters, size_t n) {
  constexpr float kB1 = static_cast<float>(kBeta1), kB2 = static_cast<float>(kBeta2);
  constexpr float kRest1 = static_cast<float>(1 - kBeta1), kRest2 = static_cast<float>(1 - kBeta2);
  constexpr float kEps = static_cast<float>(kEpsilon);
  const float clip = step.clip, rate = step.learning_rate, c1 = step.correction1, c2 = step.correction2;
  for (size_t i = 0; i < n; ++i) {
    const float g = gradient[i] * clip;
    const float m = kB1 * moment1[i] + kRest1 * g;
    const float v = kB2 * moment2[i] + kRest2 * (g * g);
    moment1[i] = m;
    moment2[i] = v;
    parameters[i] -= rate * ((m * c1) / (std::sqrt(v * c2) + kEps));
  }
}

LONGREACH_CLONES void ApplyAdamWRaw(const AdamStep& step, float decay, const float* __restrict gradient,
                                    float* __restrict moment1, float* __restrict moment2,
                                    float* __restrict parameters, size_t n) {
  constexpr float kB1 = static_cast<float>(kBeta1), kB2 = static_cast<float>(kBeta2OfAdamW);
  constexpr float kRest1 = static_cast<float>(1 - kBeta1), kRest2 = static_cast<float>(1 - kBeta2OfAdamW);
  constexpr float kEps = static_cast<float>(kEpsilon);
  const float clip = step.clip, rate = step.learning_rate, c1 = step.correction1, c2 = step.correction2;
  const float kept = 1 - rate * decay;
  for (size_t i = 0; i < n; ++i) {
    const float g = gradient[i] * clip;
    const float m = kB1 * moment1[i] + kRest1 * g;
    const float v = kB2 * moment2[i] + kRest2 * (g * g);
    moment1[i] = m;
    moment2[i] = v;
    parameters[i] = parameters[i] * kept - rate * ((m * c1) / (std::sqrt(v * c2) + kEps));
  }
}

}  // namespace

void AddTo(std::span<float> gradient, std::span<const float> other) {
  AddToRaw(gradient.data(), other.data(), gradient.size());
}

double SumOfSquares(std::span<const float> values) { return SumOfSquaresRaw(values.data(), values.size()); }

float ClipFactor(double norm, double max_norm) {
  return norm >= max_norm ? static_cast<float>(max_norm / norm) : 1.0f;
}

AdamStep MakeAdamStep(double norm, double max_norm, double learning_rate, int updates) {
  return {.clip = ClipFactor(norm, max_norm),
          .learning_rate = static_cast<float>(learning_rate),
          .correction1 = static_cast<float>(1 / (1 - std::pow(kBeta1, updates))),
          .correction2 = static_cast<float>(1 / (1 - std::pow(kBeta2, updates)))};
}

AdamStep MakeAdamWStep(double norm, double max_norm, double learning_rate, int updates) {
  AdamStep step = MakeAdamStep(norm, max_norm, learning_rate, updates);
  step.clip = static_cast<float>(std::min(max_norm / (norm + kClipEpsilon), 1.0));
  step.correction2 = static_cast<float>(1 / (1 - std::pow(kBeta2OfAdamW, updates)));
  return step;
}

void ApplyAdamW(const AdamStep& step, float decay, std::span<const float> gradient, std::span<float> moment1,
                std::span<float> moment2, std::span<float> parameters) {
  ApplyAdamWRaw(step, decay, gradient.data(), moment1.data(), moment2.data(), parameters.data(), parameters.size());
}

void ApplyAdam(const AdamStep& step, std::span<const float> gradient, std::span<float> moment1,
               std::span<float> moment2, std::span<float> parameters) {
  ApplyAdamRaw(step, gradient.data(), moment1.data(), moment2.data(), parameters.data(), parameters.size());
}

}  // namespace longreach::trainer
