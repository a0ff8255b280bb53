#include "worker/trainer/llama/tuning.h"

namespace longreach::trainer {

HeadScaleTuner::HeadScaleTuner(const LlamaDecoder& decoder, const ParameterSet& parameters,
    std::vector<HeadScaleSettings> settings,
                               const Tensor& initial_factors, ThreadPool* pool)
    : decoder_(decoder),
      parameters_(parameters),
      settings_(std::move(settings)),
      factors_(initial_factors.to(at::kFloat).clone().contiguous()),
      pool_(pool) {
  for (const HeadScaleSettings& one : settings_) optimizers_.emplace_back(one, static_cast<size_t>(factors_[0].numel()));
}

std::vector<TuningStep> HeadScaleTuner::Step(const Tensor& tokens) {
  std::vector<TuningStep> results;
  // A member at a time: its graph is gone before the next one's is made.
  for (size_t e = 0; e < settings_.size(); ++e) {
    const Tensor own = factors_[static_cast<int64_t>(e)];
    const Tensor leaf = own.clone().requires_grad_(true);
    LlamaFeed feed;
    feed.batch = tokens.size(0);
    feed.length = tokens.size(1);
    feed.tokens = tokens.reshape({-1}).to(parameters_.front().device());
    feed.head_factors = settings_[e].bound == HeadScaleSettings::Bound::kRelu ? at::relu(leaf) : leaf;
    feed.pool = pool_;
    const Tensor loss = decoder_.TokenLosses(parameters_, feed).mean();
    const Tensor gradient = torch::autograd::grad({loss}, {leaf})[0].to(at::kFloat).cpu().contiguous();
    const size_t count = static_cast<size_t>(gradient.numel());
    const double norm = optimizers_[e].Step({gradient.const_data_ptr<float>(), count}, {own.data_ptr<float>(), count});
    results.push_back({.loss = loss.item<double>(), .gradient_norm = norm});
  }
  return results;
}

}  // namespace longreach::trainer
