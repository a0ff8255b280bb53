// The LLaMA decoder (llama/decoder.h) over bytes or tokens as a model that engines train, with a scale for each attention head.
#pragma once

#include "worker/trainer/llama/decoder.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

// The configuration that valid settings of the experiment "llama" stand for; of a folder's model, whose config.json was read.
LlamaConfig LlamaConfigOf(const PackSettings& settings);

// Logits of a member that a thread, or a GPU, has at a time when no gradient is wanted.
inline constexpr int64_t kLlamaLogitsAtATime = 1 << 24;

class LlamaNetwork final : public Model {
 public:
  // The settings have been validated.
  LlamaNetwork(const PackSettings& settings);

  Tensor TokenRows(const std::vector<uint16_t>& tokens, int64_t first, int64_t count) const override;
  Tensor Forward(const ParameterSet& parameters, const Feed& feed) const override;
  void ForwardInParts(const ParameterSet& parameters, const Feed& feed, const LogitsUse& use) const override;
  // Logits of rows of the decoder's Hidden() in parts, [.., rows, vocabulary], to `use` in order; on a CPU's pool as many parts at a time as it has threads, after which
  // `between` is called. The bits are the same.
  void LogitsInParts(const ParameterSet& parameters, const Tensor& hidden, ThreadPool* pool, const std::function<void()>& between,
                     const LogitsUse& use) const;
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
  // Of the outputs, after the last norm.
  Tensor Hidden(const ParameterSet& parameters, const Feed& feed) const;

  LlamaDecoder decoder_;
  int scales_ = -1;
  PackSettings::Training training_;
};

}  // namespace longreach::trainer
