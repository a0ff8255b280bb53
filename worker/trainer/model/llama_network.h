// The LLaMA decoder (llama/decoder.h) over bytes as a model that engines train, with a scale for each attention head.
#pragma once

#include "worker/trainer/llama/decoder.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

// The configuration that valid settings of the experiment "llama" stand for.
LlamaConfig LlamaConfigOf(const PackSettings& settings);

class LlamaNetwork final : public Model {
 public:
  // The settings have been validated.
  LlamaNetwork(const PackSettings& settings, at::Device device);

  Tensor Forward(const ParameterSet& parameters, const Feed& feed) const override;
  // All parameters but the scales, or they alone.
  UpdateRule Rule() const override;

  int DropoutPlaces() const override { return 0; }
  bool DropsOut(int) const override { return false; }
  int64_t RowsAt(int, int64_t tape, int64_t) const override { return tape; }

  const LlamaDecoder& decoder() const { return decoder_; }
  // The scales as attention has them, [.., L, H]; and as a parameter.
  Tensor HeadFactors(const ParameterSet& parameters) const;
  const Parameter& HeadScales() const { return layout_.parameters()[static_cast<size_t>(scales_)]; }

 private:
  LlamaDecoder decoder_;
  int scales_ = -1;
  PackSettings::Training training_;
};

}  // namespace longreach::trainer
