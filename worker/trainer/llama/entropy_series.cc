#include "worker/trainer/llama/entropy_series.h"

namespace longreach::trainer {

Series EntropySeries(const PackSettings& settings, const StudyResult& studied, const std::string& job, int step) {
  const int length = settings.evaluation.lengths.back();
  Series series = BeginSeries("attention_entropy", settings, job, step);
  series.header["metric"] = "attention_entropy";
  series.header["unit"] = "nats";
  series.header["length"] = std::to_string(length);
  series.header["bin_width"] = std::to_string(length / settings.evaluation.position_bins);
  series.tensors["attention_entropy"] = studied.entropy.contiguous();
  if (!studied.OwnScales()) return series;
  series.tensors["head_scale"] = studied.head_factors.contiguous();
  return series;
}

}  // namespace longreach::trainer
