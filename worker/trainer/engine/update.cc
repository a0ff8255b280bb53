#include "worker/trainer/engine/update.h"

#include <algorithm>
#include <cmath>

namespace longreach::trainer {

namespace {

// Some floats of a member.
struct Part {
  int64_t member = 0;
  int64_t begin = 0;
  int64_t end = 0;

  // Of a buffer that holds the last floats of members of so many.
  std::span<float> Of(const Tensor& flat, int64_t stride) const {
    const int64_t kept = flat.size(1);
    return {flat.data_ptr<float>() + member * kept + begin - (stride - kept), static_cast<size_t>(end - begin)};
  }
};

}  // namespace

std::vector<AdamStep> MakeSteps(const std::vector<double>& losses, const std::vector<double>& norms,
                                const std::vector<double>& learning_rates, const UpdateRule& rule, PackState& state,
                                std::vector<StepResult>& results) {
  std::vector<AdamStep> steps(state.members.size());
  results.assign(state.members.size(), {});
  for (size_t m = 0; m < state.members.size(); ++m) {
    MemberState& member = state.members[m];
    if (!member.live) continue;
    if (!std::isfinite(losses[m]) || !std::isfinite(norms[m])) {
      member.live = false;
      member.diverged = true;
      member.diverged_at = state.step;
      continue;
    }
    results[m] = {.loss = losses[m], .gradient_norm = norms[m]};
    steps[m] = rule.adamw ? MakeAdamWStep(norms[m], rule.clip_norm, learning_rates[m], state.step + 1)
                          : MakeAdamStep(norms[m], rule.clip_norm, learning_rates[m], state.step + 1);
  }
  return steps;
}

std::vector<StepResult> UpdateOnCpu(ThreadPool& pool, const Tensor& gradients,
                                    const std::vector<double>& losses,
                                    const std::vector<double>& learning_rates, const UpdateRule& rule,
                                    PackState& state) {
  const int64_t stride = state.parameters.size(1), chunks = (stride + kChunk - 1) / kChunk, items = state.size() * chunks;
  const int64_t first_trained = stride - gradients.size(1);
  // Chunks are cut from the member's first float on, whatever is trained of it.
  const auto part_of = [&](int64_t item) {
    const int64_t begin = item % chunks * kChunk;
    return Part{.member = item / chunks, .begin = std::max(begin, first_trained), .end = std::min(begin + kChunk, stride)};
  };
  const auto live = [&](int64_t item) {
    const int64_t begin = item % chunks * kChunk;
    return state.members[static_cast<size_t>(item / chunks)].live && rule.Trains(begin, begin + kChunk);
  };
  std::vector<double> squares(static_cast<size_t>(items), 0);
  pool.Run(items, [&](int64_t item) {
    if (live(item)) squares[static_cast<size_t>(item)] = SumOfSquares(part_of(item).Of(gradients, stride));
  });
  std::vector<double> norms(state.members.size(), 0);
  for (size_t i = 0; i < squares.size(); ++i) norms[i / static_cast<size_t>(chunks)] += squares[i];
  for (double& norm : norms) norm = std::sqrt(norm);
  std::vector<StepResult> results;
  const std::vector<AdamStep> steps = MakeSteps(losses, norms, learning_rates, rule, state, results);
  pool.Run(items, [&](int64_t item) {
    if (!live(item)) return;
    const AdamStep& step = steps[static_cast<size_t>(item / chunks)];
    Part part = part_of(item);
    if (!rule.adamw) {
      ApplyAdam(step, part.Of(gradients, stride), part.Of(state.moment1, stride), part.Of(state.moment2, stride),
                part.Of(state.parameters, stride));
      return;
    }
    // What of it is trained.
    part = {.member = part.member, .begin = std::max(rule.first, part.begin), .end = std::min(rule.last, part.end)};
    if (part.begin >= part.end) return;
    const std::span<float> parameters = part.Of(state.parameters, stride);
    ApplyAdamW(step, static_cast<float>(rule.weight_decay), part.Of(gradients, stride), part.Of(state.moment1, stride),
               part.Of(state.moment2, stride), parameters);
    for (float& parameter : parameters) parameter = std::max(parameter, rule.lower_bound);
  });
  ++state.step;
  return results;
}

std::vector<StepResult> UpdateInOperations(const Tensor& gradients, const std::vector<double>& losses, const std::vector<double>& learning_rates,
                                           const UpdateRule& rule, PackState& state) {
  const torch::NoGradGuard no_grad;
  const int64_t members = state.size();
  const Tensor norms = gradients.to(at::kDouble).square().sum(1).sqrt().to(at::kCPU);
  std::vector<StepResult> results;
  const std::vector<AdamStep> steps =
      MakeSteps(losses, {norms.data_ptr<double>(), norms.data_ptr<double>() + members}, learning_rates, rule, state, results);
  ++state.step;
  // One small copy to the device for all of a step's numbers.
  Tensor numbers = at::empty({5, members, 1}, at::kFloat);
  auto value = numbers.accessor<float, 3>();
  for (int64_t m = 0; m < members; ++m) {
    const AdamStep& step = steps[static_cast<size_t>(m)];
    value[0][m][0] = step.clip;
    value[1][m][0] = step.learning_rate;
    value[2][m][0] = step.correction1;
    value[3][m][0] = step.correction2;
    value[4][m][0] = state.members[static_cast<size_t>(m)].live ? 1.0f : 0.0f;
  }
  numbers = numbers.to(gradients.device());
  const Tensor clip = numbers[0], learning_rate = numbers[1], correction1 = numbers[2], correction2 = numbers[3], live = numbers[4] > 0;
  const Tensor g = gradients * clip;
  const double beta2 = rule.adamw ? kBeta2OfAdamW : kBeta2;
  const Tensor moment1 = state.moment1 * kBeta1 + g * (1 - kBeta1);
  const Tensor moment2 = state.moment2 * beta2 + g.square() * (1 - beta2);
  const Tensor way = learning_rate * ((moment1 * correction1) / ((moment2 * correction2).sqrt() + kEpsilon));
  // Gradients and moments are of the last floats of a member, of which those up to rule.last are trained.
  const int64_t first = state.parameters.size(1) - gradients.size(1), count = std::min(rule.last - first, gradients.size(1));
  const Tensor old = state.parameters.narrow(1, first, count);
  Tensor next = (rule.adamw ? old * (1 - learning_rate * rule.weight_decay) : old) - way.narrow(1, 0, count);
  if (rule.adamw) next = next.clamp_min(rule.lower_bound);
  state.moment1.copy_(at::where(live, moment1, state.moment1));
  state.moment2.copy_(at::where(live, moment2, state.moment2));
  old.copy_(at::where(live, next, old));
  return results;
}

}  // namespace longreach::trainer
