#include "worker/trainer/series.h"

#include <string_view>
#include <vector>

#include "proto/catalog/encoding_name.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::trainer {

namespace {

std::string_view BytesOf(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), static_cast<size_t>(tensor.nbytes())};
}

std::string TypeOf(const Tensor& tensor) {
  if (tensor.scalar_type() == at::kDouble) return "F64";
  return tensor.scalar_type() == at::kFloat ? "F32" : "I32";
}

}  // namespace

Series BeginSeries(const std::string& kind, const PackSettings& settings, const std::string& job, int step) {
  Series series;
  series.header = {{"format", "longreach"},
                   {"kind", kind},
                   {"job", job},
                   {"experiment", settings.experiment},
                   {"task", settings.task},
                   {"encoding", catalog::ToText({.name = settings.encoding, .randomized = settings.randomized})},
                   {"step", std::to_string(step)}};
  return series;
}

absl::Status WriteSeriesFile(const std::filesystem::path& file, const Series& series) {
  std::vector<SafetensorsPart> parts;
  for (const auto& [name, tensor] : series.tensors) {
    parts.push_back({.name = name, .dtype = TypeOf(tensor), .shape = tensor.sizes().vec(), .bytes = BytesOf(tensor)});
  }
  return WriteSafetensors(file, series.header, parts);
}

}  // namespace longreach::trainer
