#include "worker/trainer/engine/update.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/trainer/sent.h"

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

// Calls work(first, count) for columns [first, first + count) of all members' gradients, so many that what is computed of them has room beside a
// large model.
template <typename Work>
void InParts(const Tensor& gradients, const Work& work) {
  const int64_t columns = gradients.size(1), at_a_time = std::max<int64_t>(1, kUpdatedAtATime / gradients.size(0));
  for (int64_t first = 0; first < columns; first += at_a_time) work(first, std::min(at_a_time, columns - first));
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

UpdatesInOperations::UpdatesInOperations(const UpdateRule& rule, std::vector<double> learning_rates, PackState& state)
    : rule_(rule), learning_rates_(std::move(learning_rates)), state_(state) {
  Tensor rates = at::empty({state.size(), 1}, at::kFloat), live = at::empty({state.size(), 1}, at::kBool);
  for (int64_t m = 0; m < state.size(); ++m) {
    rates.data_ptr<float>()[m] = static_cast<float>(learning_rates_[static_cast<size_t>(m)]);
    live.data_ptr<bool>()[m] = state.members[static_cast<size_t>(m)].live;
  }
  rates_ = Sent(rates, state.parameters.device());
  live_ = Sent(live, state.parameters.device());
}

void UpdatesInOperations::Take(const Tensor& gradients, const Tensor& losses) {
  const torch::NoGradGuard no_grad;
  Tensor squares = at::zeros({state_.size()}, gradients.options().dtype(at::kDouble));
  InParts(gradients, [&](int64_t first, int64_t count) { squares += gradients.narrow(1, first, count).to(at::kDouble).square().sum(1); });
  const Tensor norms = squares.sqrt();
  numbers_.push_back(at::stack({losses, norms}));
  live_ = live_.logical_and((losses.isfinite().logical_and(norms.isfinite())).unsqueeze(1));
  // ClipFactor(), and what MakeAdamWStep() has of it.
  const Tensor clip = rule_.adamw ? (rule_.clip_norm / (norms + kClipEpsilon)).clamp_max(1)
                                  : at::where(norms >= rule_.clip_norm, rule_.clip_norm / norms, at::ones_like(norms));
  const int updates = state_.step + static_cast<int>(numbers_.size());
  const AdamStep step = rule_.adamw ? MakeAdamWStep(0, 1, 0, updates) : MakeAdamStep(0, 1, 0, updates);
  const Tensor factor = clip.to(at::kFloat).unsqueeze(1);
  InParts(gradients, [&](int64_t first, int64_t count) { Move(gradients.narrow(1, first, count) * factor, first, step); });
}

// Gradients and moments are of the last floats of a member, of which those up to rule.last are trained.
void UpdatesInOperations::Move(const Tensor& g, int64_t first, const AdamStep& step) {
  const int64_t columns = g.size(1), before = state_.parameters.size(1) - state_.moment1.size(1);
  const Tensor old1 = state_.moment1.narrow(1, first, columns), old2 = state_.moment2.narrow(1, first, columns);
  const double beta2 = rule_.adamw ? kBeta2OfAdamW : kBeta2;
  const Tensor moment1 = old1 * kBeta1 + g * (1 - kBeta1);
  const Tensor moment2 = old2 * beta2 + g.square() * (1 - beta2);
  const int64_t trained = std::clamp<int64_t>(rule_.last - before - first, 0, columns);
  if (trained > 0) {
    const Tensor way = rates_ * ((moment1 * step.correction1) / ((moment2 * step.correction2).sqrt() + kEpsilon));
    const Tensor old = state_.parameters.narrow(1, before + first, trained);
    Tensor next = (rule_.adamw ? old * (1 - rates_ * rule_.weight_decay) : old) - way.narrow(1, 0, trained);
    if (rule_.adamw) next = next.clamp_min(rule_.lower_bound);
    old.copy_(at::where(live_, next, old));
  }
  old1.copy_(at::where(live_, moment1, old1));
  old2.copy_(at::where(live_, moment2, old2));
}

void UpdatesInOperations::Wait() {
  if (!on_host_.defined()) on_host_ = Received(at::stack(numbers_));
}

void UpdatesInOperations::Settle(const std::function<void(const std::vector<StepResult>&)>& updated) {
  Wait();
  const int64_t members = state_.size();
  for (int64_t i = 0; i < on_host_.size(0); ++i) {
    const double* const losses = on_host_.const_data_ptr<double>() + i * 2 * members;
    const double* const norms = losses + members;
    std::vector<StepResult> results;
    MakeSteps({losses, norms}, {norms, norms + members}, learning_rates_, rule_, state_, results);
    ++state_.step;
    updated(results);
  }
}

}  // namespace longreach::trainer
