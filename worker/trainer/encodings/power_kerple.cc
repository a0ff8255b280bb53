#include <cmath>

#include "worker/trainer/encodings/kerple.h"
#include "worker/trainer/sent.h"

namespace longreach::trainer {

namespace {

// bias = -a |distance|^p.
// Source: ParallelKerplePower of chijames/KERPLE (megatron/mpu/layers.py), variant kerple_power_ap_: bias
// only.
class PowerKerple final : public Encoding {
 public:
  explicit PowerKerple(const EncodingConfig& config)
      : break_symmetry_(config.break_symmetry), parameters_(config, "power") {}

  PositionUse Use() const override { return PositionUse::kDistances; }
  bool Trained() const override { return true; }
  bool TrainsWithoutAutograd() const override { return true; }
  void Declare(ParameterLayout& layout) override { parameters_.Declare(layout); }
  void Clamp(const ParameterSet& set) const override { parameters_.Clamp(set, 2.0); }

  Tensor BiasTable(const Distances& distances, const ParameterSet& set, int layer) const override {
    // In float64: biases go into the millions, where a float32 power is several units off.
    const Tensor p = parameters_.P(set, layer).to(at::kDouble), a = parameters_.A(set, layer).to(at::kDouble);
    // At distance 0 the value and its gradients are 0: LibTorch defines d(0^p)/dp as 0.
    const Tensor power = at::pow(Sent(PenaltyDistance(distances.values().to(at::kDouble), break_symmetry_), p.device()), p);
    return (-a * power).to(at::kFloat);
  }

  void AddBiasGradient(const Distances& distances, const ParameterSet& set, int layer,
                       const Tensor& table_gradient, const ParameterSet& gradients) const override {
    parameters_.AddGradient(PenaltyDistance(distances.values(), break_symmetry_), set, layer, table_gradient,
                            gradients, [](double a, double p, double distance) -> KerpleParameters::Slopes {
                              if (distance == 0) return {0, 0};
                              const double power = std::pow(distance, p);
                              return {.a = -power, .p = -a * power * std::log(distance)};
                            });
  }

 private:
  bool break_symmetry_;
  KerpleParameters parameters_;
};

}  // namespace

std::unique_ptr<Encoding> Make_power_kerple(const EncodingConfig& config) {
  return std::make_unique<PowerKerple>(config);
}

}  // namespace longreach::trainer
