// How far rounded operands may bring a model from what float32 makes of it. Next to zero a hidden feature falls on either side of ReLU's kink, and in
// a batch as small as the golden ones that changes a whole gradient now and then by a tenth: how much is each model's own, so it is measured.
#pragma once

#include <map>
#include <vector>

#include "worker/trainer/engine/engine.h"

namespace longreach::golden {

struct RoundingSpread {
  std::vector<double> loss, norm;  // By update: of the loss, and of the gradient's norm.
  std::vector<double> size;        // By parameter, in the order of the layout: of the norm of its gradient in the first update.
};

// Of one model and its batches, by the bits of the operands.
class RoundingSpreads {
 public:
  RoundingSpreads(const trainer::PackSettings& settings, const std::vector<trainer::Batch>& batches, double learning_rate)
      : settings_(settings), batches_(batches), learning_rate_(learning_rate) {}

  // The largest differences among models whose parameters are each off those by at most 2^-bits of itself, which is twice what rounding does, and those
  // themselves. parameters: [stride], before the first update, on the CPU.
  const RoundingSpread& Of(int bits, const at::Tensor& parameters);

 private:
  const trainer::PackSettings& settings_;
  const std::vector<trainer::Batch>& batches_;
  const double learning_rate_;
  std::map<int, RoundingSpread> by_bits_;
};

}  // namespace longreach::golden
