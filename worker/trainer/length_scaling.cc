#include "worker/trainer/length_scaling.h"

#include <algorithm>
#include <cmath>

#include "worker/trainer/problems/kinds.h"

namespace longreach::trainer {

LengthScaling::LengthScaling(const PackSettings& settings) : kind_(settings.model.length_scaling) {
  if (IsNone()) return;
  const int64_t given = settings.model.length_scaling_from;
  const int64_t from = given > 0 ? given : LongestTape(settings, settings.training.lengths);
  log_from_ = std::log(static_cast<double>(std::max<int64_t>(from, 2)));
}

double LengthScaling::Of(int64_t keys) const { return Of(at::scalar_tensor(static_cast<double>(keys), at::kDouble)).item<double>(); }

Tensor LengthScaling::Of(const Tensor& keys) const {
  if (IsNone()) return at::ones_like(keys);
  const Tensor factor = keys.log() / log_from_;
  return kind_ == PackSettings::Model::LengthScaling::kLogBeyond ? factor.clamp_min(1) : factor;
}

}  // namespace longreach::trainer
