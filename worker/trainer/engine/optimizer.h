// Clipping by global norm and Adam, on flat buffers, with bits that do not depend on how the work is cut.
#pragma once

#include <cstdint>
#include <span>

namespace longreach::trainer {

struct AdamStep {
  float clip = 1;                 // What the gradient is multiplied by.
  float learning_rate = 0;
  float correction1 = 1;          // 1 / (1 - beta1^t).
  float correction2 = 1;          // 1 / (1 - beta2^t).
};

inline constexpr double kBeta1 = 0.9;
inline constexpr double kBeta2 = 0.999;
inline constexpr double kEpsilon = 1e-8;

// AdamW's second moment, as LLaMA models are trained.
inline constexpr double kBeta2OfAdamW = 0.95;

// What torch.nn.utils.clip_grad_norm_ adds to the norm.
inline constexpr double kClipEpsilon = 1e-6;

// Parameters per chunk of work: the norm is a sum over chunks, in order.
inline constexpr int64_t kChunk = 8192;

// gradient += other, element by element.
void AddTo(std::span<float> gradient, std::span<const float> other);
// Sum of squares in float64.
double SumOfSquares(std::span<const float> values);
// As optax clips: unchanged below `max_norm`, else times max_norm / norm, with no epsilon.
float ClipFactor(double norm, double max_norm);
// The step after which `updates` updates are done.
AdamStep MakeAdamStep(double norm, double max_norm, double learning_rate, int updates);
// The same of AdamW, with kClipEpsilon.
AdamStep MakeAdamWStep(double norm, double max_norm, double learning_rate, int updates);
// AdamW: parameters shrink by learning rate times `decay` first. Source: torch.optim.AdamW.
void ApplyAdamW(const AdamStep& step, float decay, std::span<const float> gradient, std::span<float> moment1,
                std::span<float> moment2, std::span<float> parameters);
// Adam without weight decay. Source: optax.adam as in training.py of
// google-deepmind/randomized_positional_encodings.
void ApplyAdam(const AdamStep& step, std::span<const float> gradient, std::span<float> moment1,
               std::span<float> moment2, std::span<float> parameters);

}  // namespace longreach::trainer
