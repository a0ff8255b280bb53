// How fast the pairs of a head's features turn under rotary positions, and the extensions of that beyond the training length. Without torch.
//
// Sources: transformers 4.57, modeling_rope_utils.py (linear, dynamic, yarn); jquesnelle/yarn (static NTK).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace longreach::trainer {

// How positions beyond the training length are brought back into reach of the rotation.
struct RopeScaling {
  enum class Kind {
    kNone,
    kLinear,   // Position interpolation: positions divided by the factor.
    kNtk,      // A larger base, the same at all lengths. Has no name in Hugging Face files: written as rope_theta.
    kDynamic,  // A base that grows with the current length, beyond the trained one.
    kYarn,
  };
  Kind kind = Kind::kNone;
  double factor = 1;
  // YaRN. original_length 0: the trained one. attention_factor 0: 0.1 ln(factor) + 1.
  int64_t original_length = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  double attention_factor = 0;
};

// By its name in positions.rope_scaling; kNone of any other.
RopeScaling::Kind RopeScalingKind(std::string_view word);

// Those of a head of `head_dim` features, an even number, and what they depend on.
struct RopeSettings {
  double theta = 10000;
  int64_t head_dim = 0;
  RopeScaling scaling = {};
  int64_t trained_length = 0;  // In tokens.
};

struct RopeFrequencies {
  // Radians per position of each pair, [head_dim / 2].
  std::vector<double> of_pairs;
  // What cosine and sine are multiplied by: logits grow by its square.
  double magnitude = 1;
};

// base * alpha^(d / (d - 2)).
double NtkBase(double base, double alpha, int64_t head_dim);

// At a current length of `length` tokens; only the dynamic kind depends on it, and it alone on nothing but it: no earlier, longer input is remembered.
RopeFrequencies FrequenciesOf(const RopeSettings& rope, int64_t length);

}  // namespace longreach::trainer
