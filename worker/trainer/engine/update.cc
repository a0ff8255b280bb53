#include "worker/trainer/engine/update.h"

#include <algorithm>
#include <cmath>

namespace longreach::trainer {

namespace {

// The floats of member item / chunks from chunk item % chunks on.
std::span<float> Chunk(const Tensor& flat, int64_t chunks, int64_t item) {
  const int64_t stride = flat.size(1), first = item % chunks * kChunk;
  return {flat.data_ptr<float>() + item / chunks * stride + first,
          static_cast<size_t>(std::min(kChunk, stride - first))};
}

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
  const int64_t chunks = (gradients.size(1) + kChunk - 1) / kChunk, items = state.size() * chunks;
  // Chunks of which nothing is trained have no gradient: it need not be read.
  const auto live = [&](int64_t item) {
    const int64_t begin = item % chunks * kChunk;
    return state.members[static_cast<size_t>(item / chunks)].live && rule.Trains(begin, begin + kChunk);
  };
  std::vector<double> squares(static_cast<size_t>(items), 0);
  pool.Run(items, [&](int64_t item) {
    if (live(item)) squares[static_cast<size_t>(item)] = SumOfSquares(Chunk(gradients, chunks, item));
  });
  std::vector<double> norms(state.members.size(), 0);
  for (size_t i = 0; i < squares.size(); ++i) norms[i / static_cast<size_t>(chunks)] += squares[i];
  for (double& norm : norms) norm = std::sqrt(norm);
  std::vector<StepResult> results;
  const std::vector<AdamStep> steps = MakeSteps(losses, norms, learning_rates, rule, state, results);
  pool.Run(items, [&](int64_t item) {
    if (!live(item)) return;
    const AdamStep& step = steps[static_cast<size_t>(item / chunks)];
    if (!rule.adamw) {
      ApplyAdam(step, Chunk(gradients, chunks, item), Chunk(state.moment1, chunks, item), Chunk(state.moment2, chunks, item),
                Chunk(state.parameters, chunks, item));
      return;
    }
    // The part of the chunk that is trained.
    const int64_t begin = item % chunks * kChunk, end = std::min(begin + kChunk, gradients.size(1));
    const int64_t first = std::clamp(rule.first, begin, end), last = std::clamp(rule.last, begin, end);
    if (first >= last) return;
    const auto trained = [&](const Tensor& flat) {
      return Chunk(flat, chunks, item).subspan(static_cast<size_t>(first - begin), static_cast<size_t>(last - first));
    };
    const std::span<float> parameters = trained(state.parameters);
    ApplyAdamW(step, static_cast<float>(rule.weight_decay), trained(gradients), trained(state.moment1), trained(state.moment2),
               parameters);
    for (float& parameter : parameters) parameter = std::max(parameter, rule.lower_bound);
  });
  ++state.step;
  return results;
}

}  // namespace longreach::trainer
