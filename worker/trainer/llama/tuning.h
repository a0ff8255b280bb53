// Head-scale tuning: L x H factors are trained, everything else is frozen. Members of a pack differ in their factors and
// settings, share the weights and read the same batches.
#pragma once

#include <vector>

#include "worker/trainer/llama/decoder.h"
#include "worker/trainer/llama/head_scales.h"

namespace longreach::trainer {

struct TuningStep {
  double loss = 0;           // Mean over all predicted tokens of the batch, in nats.
  double gradient_norm = 0;  // Before clipping.
};

class HeadScaleTuner {
 public:
  // `decoder`, `parameters` and `pool` are borrowed for as long as it lives. One setting per member; factors [E, L, H] to begin
  // with.
  HeadScaleTuner(const LlamaDecoder& decoder, const ParameterSet& parameters, std::vector<HeadScaleSettings> settings,
                 const Tensor& initial_factors, ThreadPool* pool);

  // One update on a batch of blocks [B, T + 1]: T predictions each, as every token but the first is a label.
  std::vector<TuningStep> Step(const Tensor& tokens);

  // [E, L, H], as the parameters are: what attention uses is relu() of it where the bound is that.
  const Tensor& factors() const { return factors_; }

 private:
  const LlamaDecoder& decoder_;
  const ParameterSet& parameters_;
  std::vector<HeadScaleSettings> settings_;
  std::vector<HeadScaleOptimizer> optimizers_;
  Tensor factors_;
  ThreadPool* pool_;
};

}  // namespace longreach::trainer
