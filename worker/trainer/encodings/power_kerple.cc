#include "worker/trainer/encodings/kerple.h"

namespace longreach::trainer {

namespace {

// bias = -a |distance|^p.
// Source: ParallelKerplePower of chijames/KERPLE (megatron/mpu/layers.py), variant kerple_power_ap_: bias only.
class PowerKerple final : public Encoding {
 public:
  explicit PowerKerple(const EncodingConfig& config) : break_symmetry_(config.break_symmetry), parameters_(config, "power") {}

  PositionUse Use() const override { return PositionUse::kDistances; }
  bool Trained() const override { return true; }
  void Declare(ParameterLayout& layout) override { parameters_.Declare(layout); }
  void Clamp(const ParameterSet& set) const override { parameters_.Clamp(set, 2.0); }

  Tensor BiasTable(const Distances& distances, const ParameterSet& set, int layer) const override {
    const Tensor distance_R = PenaltyDistance(distances.values(), break_symmetry_);
    // At distance 0 the value and its gradients are 0: LibTorch defines d(0^p)/dp as 0.
    return -parameters_.A(set, layer) * at::pow(distance_R, parameters_.P(set, layer));
  }

 private:
  bool break_symmetry_;
  KerpleParameters parameters_;
};

}  // namespace

std::unique_ptr<Encoding> Make_power_kerple(const EncodingConfig& config) { return std::make_unique<PowerKerple>(config); }

}  // namespace longreach::trainer
