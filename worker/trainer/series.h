// What a member measured in more numbers than measurements hold: tensors in a safetensors file, the job's artifact "series".
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "worker/trainer/torch.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

struct Series {
  std::map<std::string, std::string> header;
  std::map<std::string, Tensor> tensors;  // Float32, float64 or int32; contiguous and on the CPU.
};

// With the header's fields that say what it is of: kind, job, experiment, task, encoding and step.
Series BeginSeries(const std::string& kind, const PackSettings& settings, const std::string& job, int step);

// Apart from computing, because a full disk may ask for it again and again.
absl::Status WriteSeriesFile(const std::filesystem::path& file, const Series& series);

}  // namespace longreach::trainer
