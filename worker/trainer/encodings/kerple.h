// What Power KERPLE and Log KERPLE have in common: two positive parameters per head, of a layer or of all
// layers.
#pragma once

#include <string>
#include <vector>

#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/encodings/layer_sets.h"

namespace longreach::trainer {

// |distance|; with `break_symmetry`, half a position nearer for keys before the query, as the reference does
// for ALiBi.
Tensor PenaltyDistance(const Tensor& distances, bool break_symmetry);

class KerpleParameters {
 public:
  // `kind`: "power" or "log", for the parameters' names.
  KerpleParameters(const EncodingConfig& config, std::string kind)
      : num_heads_(config.num_heads), kind_(std::move(kind)), sets_(config.layers, config.none_every, config.kerple_shared) {}

  // a ~ U(0, 1), p ~ U(0, 2).
  void Declare(ParameterLayout& layout);
  // a >= 0.01 and p >= 0.01; p <= p_max where that is positive.
  void Clamp(const ParameterSet& parameters, double p_max) const;

  // What Encoding::AddBiasGradient() does, given d(bias)/da and d(bias)/dp at (a, p, distance).
  struct Slopes {
    double a, p;
  };
  void AddGradient(const Tensor& penalty_R, const ParameterSet& parameters, int layer,
                   const Tensor& table_gradient, const ParameterSet& gradients,
                   Slopes (*slopes)(double a, double p, double distance)) const;

  // As [H, 1] or [E, H, 1].
  Tensor A(const ParameterSet& parameters, int layer) const { return Column(parameters, a_, layer); }
  Tensor P(const ParameterSet& parameters, int layer) const { return Column(parameters, p_, layer); }

 private:
  Tensor Column(const ParameterSet& parameters, const std::vector<int>& indices, int layer) const;

  int num_heads_;
  std::string kind_;
  LayerSets sets_;
  std::vector<int> a_;  // By set.
  std::vector<int> p_;
};

}  // namespace longreach::trainer
