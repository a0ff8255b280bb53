// What all blocks are made of. Shapes as in model.h; matrices are [in, out] or [E, in, out].
#pragma once

#include <string>
#include <vector>

#include "worker/trainer/model/model.h"

namespace longreach::trainer {

// x W, or x W + b: [.., N, in] to [.., N, out].
Tensor Linear(const Tensor& x, const Tensor& w);
Tensor Linear(const Tensor& x, const Tensor& w, const Tensor& b);

// Over the features; epsilon inside of the root, biased variance.
Tensor LayerNorm(const Tensor& x, const Tensor& scale, const Tensor& offset);

// residual + dropout(x).
Tensor AddDropped(const Tensor& residual, const Tensor& x, const Feed& feed, int place);

// Indices of a layout's parameters.
struct NormParameters {
  int scale, offset;
};
struct MlpParameters {
  int w1, b1, w2, b2;
};

// How they are drawn: Haiku's default for linear layers is sigma = 1/sqrt(fan_in), truncated at two sigma.
Initial LinearInitial(int64_t fan_in);
NormParameters AddNorm(ParameterLayout& layout, const std::string& name, int64_t dim);
MlpParameters AddMlp(ParameterLayout& layout, const std::string& place, int64_t dim, int64_t mlp_dim);

Tensor Norm(const ParameterSet& parameters, const NormParameters& norm, const Tensor& x);
Tensor Mlp(const ParameterSet& parameters, const MlpParameters& mlp, const Tensor& x);

}  // namespace longreach::trainer
