#include "tests/golden/check/stored.h"

#include <limits>

namespace longreach::golden {

std::optional<Tensor> Floats(const SafetensorsFile& file, const std::string& name) {
  const absl::StatusOr<std::vector<float>> values = file.Floats(name);
  if (!values.ok()) return std::nullopt;
  return at::tensor(*values, at::kFloat).view(file.Find(name)->shape);
}

std::optional<std::vector<int64_t>> Integers(const SafetensorsFile& file, const std::string& name) {
  const absl::StatusOr<std::vector<int32_t>> values = file.Integers(name);
  if (!values.ok()) return std::nullopt;
  return std::vector<int64_t>(values->begin(), values->end());
}

void CompareTensors(std::string_view what, const Tensor& ours, const Tensor& stored, double tolerance,
                    FileCheck& check) {
  if (ours.sizes() != stored.sizes()) {
    check.Require(false, std::string(what) + ": has another shape than the stored one");
    return;
  }
  const Tensor difference = (ours.to(at::kCPU).to(at::kDouble) - stored.to(at::kDouble)).abs();
  // Inputs and results are stored rounded to float32. Power KERPLE's biases go into the millions: the
  // rounding of a stored exponent p alone, times ln(2047), moves them by 4e-7 of themselves; computed in
  // float64 they differ as much.
  const Tensor rounding = stored.to(at::kDouble).abs() * 0x1p-20;
  check.Compare(what, (difference - rounding).clamp_min(0).max().item<double>(), tolerance);
}

}  // namespace longreach::golden
