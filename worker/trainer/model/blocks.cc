#include "worker/trainer/model/blocks.h"

#include <cmath>

namespace longreach::trainer {

Tensor Linear(const Tensor& x, const Tensor& w) { return w.dim() == 2 ? at::mm(x, w) : at::matmul(x, w); }
Tensor Linear(const Tensor& x, const Tensor& w, const Tensor& b) {
  return w.dim() == 2 ? at::addmm(b, x, w) : at::baddbmm(b, x, w);
}

Tensor LayerNorm(const Tensor& x, const Tensor& scale, const Tensor& offset) {
  constexpr double kEpsilon = 1e-5;
  if (x.dim() == 2) return at::layer_norm(x, {x.size(-1)}, scale, offset, kEpsilon);
  return at::addcmul(offset, at::layer_norm(x, {x.size(-1)}, {}, {}, kEpsilon), scale);
}

Tensor AddDropped(const Tensor& residual, const Tensor& x, const Feed& feed, int place) {
  if (feed.keep.empty()) return residual + x;
  return at::addcmul(residual, x, feed.keep[static_cast<size_t>(place)]);
}

Initial LinearInitial(int64_t fan_in) {
  return {Initial::Kind::kTruncatedNormal, 1.0 / std::sqrt(static_cast<double>(fan_in))};
}

NormParameters AddNorm(ParameterLayout& layout, const std::string& name, int64_t dim) {
  NormParameters norm{};
  norm.scale = layout.Add(name + ".scale", {dim}, {Initial::Kind::kOnes, 0});
  norm.offset = layout.Add(name + ".offset", {dim}, {Initial::Kind::kZeros, 0});
  return norm;
}

MlpParameters AddMlp(ParameterLayout& layout, const std::string& place, int64_t dim, int64_t mlp_dim) {
  MlpParameters mlp{};
  mlp.w1 = layout.Add(place + "ffn1.w", {dim, mlp_dim}, LinearInitial(dim));
  mlp.b1 = layout.Add(place + "ffn1.b", {mlp_dim}, {Initial::Kind::kZeros, 0});
  mlp.w2 = layout.Add(place + "ffn2.w", {mlp_dim, dim}, LinearInitial(mlp_dim));
  mlp.b2 = layout.Add(place + "ffn2.b", {dim}, {Initial::Kind::kZeros, 0});
  return mlp;
}

Tensor Norm(const ParameterSet& parameters, const NormParameters& norm, const Tensor& x) {
  return LayerNorm(x, parameters[static_cast<size_t>(norm.scale)], parameters[static_cast<size_t>(norm.offset)]);
}

Tensor Mlp(const ParameterSet& parameters, const MlpParameters& mlp, const Tensor& x) {
  const auto at_index = [&](int index) -> const Tensor& { return parameters[static_cast<size_t>(index)]; };
  const Tensor hidden = at::relu(Linear(x, at_index(mlp.w1), at_index(mlp.b1)));
  return Linear(hidden, at_index(mlp.w2), at_index(mlp.b2));
}

}  // namespace longreach::trainer
