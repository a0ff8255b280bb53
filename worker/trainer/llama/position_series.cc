#include "worker/trainer/llama/position_series.h"

namespace longreach::trainer {

Series PositionSeries(const PackSettings& settings, const StudyResult& studied, const std::string& job, int step) {
  const int length = settings.evaluation.lengths.back();
  Series series = BeginSeries("attention_entropy", settings, job, step);
  series.header["metric"] = "attention_entropy";
  series.header["unit"] = "nats";
  series.header["length"] = std::to_string(length);
  series.header["bin_width"] = std::to_string(length / settings.evaluation.position_bins);
  series.tensors["attention_entropy"] = studied.entropy.contiguous();
  if (studied.OwnScales()) series.tensors["head_scale"] = studied.head_factors.contiguous();
  if (studied.scale_losses.defined()) {
    series.tensors["position_loss"] = studied.scale_losses.contiguous();
    series.tensors["attention_scale"] = at::tensor(settings.evaluation.attention_scales, at::kDouble);
  }
  return series;
}

}  // namespace longreach::trainer
