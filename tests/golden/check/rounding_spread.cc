#include "tests/golden/check/rounding_spread.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "worker/trainer/checkpoint/checkpoint.h"

namespace longreach::golden {

namespace {

using at::Tensor;

constexpr int kDraws = 12;

void TakeLargest(double& largest, double x, double of) { largest = std::max(largest, std::abs(x - of)); }

}  // namespace

const RoundingSpread& RoundingSpreads::Of(int bits, const Tensor& parameters) {
  const auto [found, is_new] = by_bits_.try_emplace(bits);
  RoundingSpread& spread = found->second;
  if (!is_new) return spread;
  const std::unique_ptr<trainer::StepEngine> engine = trainer::MakeEngine(settings_, {.threads = 2}, [](const std::string&) {});
  const trainer::ParameterLayout& layout = engine->model().layout();
  // The first member is not off.
  std::vector<trainer::Member> members(1 + kDraws);
  trainer::PackState state = trainer::InitialState(layout, members);
  std::mt19937 generator(static_cast<uint32_t>(bits));
  std::uniform_real_distribution<float> off(-std::ldexp(1.0f, -bits), std::ldexp(1.0f, -bits));
  for (int64_t m = 0; m < state.size(); ++m) {
    Tensor factors = at::ones_like(parameters);
    for (int64_t i = 0; m > 0 && i < factors.numel(); ++i) factors.data_ptr<float>()[i] += off(generator);
    state.parameters[m].copy_(parameters * factors);
  }
  const std::vector<double> learning_rates(members.size(), learning_rate_);
  spread.size.resize(layout.parameters().size());
  for (size_t update = 0; update < batches_.size(); ++update) {
    const std::vector<double> losses = engine->Gradients(batches_[update], state);
    if (update == 0) {
      for (size_t p = 0; p < spread.size.size(); ++p) {
        const trainer::Parameter& parameter = layout.parameters()[p];
        const Tensor sizes = engine->gradients().narrow(1, parameter.offset, parameter.size).to(at::kDouble).norm(2, {1});
        spread.size[p] = (sizes - sizes[0]).abs().max().item<double>();
      }
    }
    const std::vector<trainer::StepResult> results = engine->Update(losses, learning_rates, state);
    spread.loss.push_back(0);
    spread.norm.push_back(0);
    for (const trainer::StepResult& result : results) {
      TakeLargest(spread.loss.back(), result.loss, results[0].loss);
      TakeLargest(spread.norm.back(), result.gradient_norm, results[0].gradient_norm);
    }
  }
  return spread;
}

}  // namespace longreach::golden
