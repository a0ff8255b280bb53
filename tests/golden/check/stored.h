// Tensors of a golden file, for the checks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/golden/check/report.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/torch.h"

namespace longreach::golden {

using trainer::SafetensorsFile;
using trainer::Tensor;

// A float tensor, or nothing when there is none of that name and type.
std::optional<Tensor> Floats(const SafetensorsFile& file, const std::string& name);
std::optional<std::vector<int64_t>> Integers(const SafetensorsFile& file, const std::string& name);

// The largest difference, less what the rounding of stored numbers to float32 explains (2^-20 of the value).
// Tensors of different shapes differ without limit.
void CompareTensors(std::string_view what, const Tensor& ours, const Tensor& stored, double tolerance,
                    FileCheck& check);

}  // namespace longreach::golden
