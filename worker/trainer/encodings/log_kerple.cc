#include <cmath>

#include "worker/trainer/encodings/kerple.h"
#include "worker/trainer/sent.h"

namespace longreach::trainer {

namespace {

// bias = -p log(1 + a |distance|).
// Source: ParallelKerpleLog of chijames/KERPLE (megatron/mpu/layers.py). p has no upper bound there (issue
// 3).
class LogKerple final : public Encoding {
 public:
  explicit LogKerple(const EncodingConfig& config)
      : break_symmetry_(config.break_symmetry), parameters_(config, "log") {}

  PositionUse Use() const override { return PositionUse::kDistances; }
  bool Trained() const override { return true; }
  bool TrainsWithoutAutograd() const override { return true; }
  void Declare(ParameterLayout& layout) override { parameters_.Declare(layout); }
  void Clamp(const ParameterSet& set) const override { parameters_.Clamp(set, 0); }

  Tensor BiasTable(const Distances& distances, const ParameterSet& set, int layer) const override {
    const Tensor p = parameters_.P(set, layer), a = parameters_.A(set, layer);
    return -p * at::log1p(a * Sent(PenaltyDistance(distances.values(), break_symmetry_), a.device()));
  }

  void AddBiasGradient(const Distances& distances, const ParameterSet& set, int layer,
                       const Tensor& table_gradient, const ParameterSet& gradients) const override {
    parameters_.AddGradient(PenaltyDistance(distances.values(), break_symmetry_), set, layer, table_gradient,
                            gradients, [](double a, double p, double distance) -> KerpleParameters::Slopes {
                              return {.a = -p * distance / (1 + a * distance),
                                      .p = -std::log1p(a * distance)};
                            });
  }

 private:
  bool break_symmetry_;
  KerpleParameters parameters_;
};

}  // namespace

std::unique_ptr<Encoding> Make_log_kerple(const EncodingConfig& config) {
  return std::make_unique<LogKerple>(config);
}

}  // namespace longreach::trainer
