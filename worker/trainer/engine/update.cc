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

}  // namespace longreach::trainer
