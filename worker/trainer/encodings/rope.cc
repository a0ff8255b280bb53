#include <cmath>

#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/rope_frequencies.h"

namespace longreach::trainer {

namespace {

// Rotary: adjacent pairs of a head's features turn by position times frequency, in queries and keys.
// Source: compute_rotary_encodings() of google-deepmind/randomized_positional_encodings; angles in float64
// here.
class Rope final : public Encoding {
 public:
  explicit Rope(const EncodingConfig& config)
      : plain_{.theta = config.rope_theta, .head_dim = config.head_dim()},
        scaled_{.theta = config.rope_theta, .head_dim = config.head_dim(), .scaling = config.rope_scaling, .trained_length = config.trained_length},
        scaled_in_training_(config.rope_scaled_in_training) {}

  PositionUse Use() const override { return PositionUse::kRotation; }

  Tensor Rotation(const Tensor& positions, bool test, int) const override {
    const Tensor position_T = positions.to(at::kLong).contiguous();
    const int64_t tape = position_T.numel();
    const RopeFrequencies frequencies = FrequenciesOf(test || scaled_in_training_ ? scaled_ : plain_, tape);
    const auto pairs = static_cast<int64_t>(frequencies.of_pairs.size());
    Tensor rotation = at::empty({2, tape, pairs}, at::kFloat);
    float* cosine = rotation.data_ptr<float>();
    float* sine = cosine + tape * pairs;
    for (int64_t t = 0; t < tape; ++t) {
      const double position = static_cast<double>(position_T.data_ptr<int64_t>()[t]);
      for (int64_t i = 0; i < pairs; ++i) {
        const double angle = position * frequencies.of_pairs[static_cast<size_t>(i)];
        *cosine++ = static_cast<float>(std::cos(angle) * frequencies.magnitude);
        *sine++ = static_cast<float>(std::sin(angle) * frequencies.magnitude);
      }
    }
    return rotation;
  }

 private:
  RopeSettings plain_;
  RopeSettings scaled_;
  bool scaled_in_training_;
};

}  // namespace

std::unique_ptr<Encoding> Make_rope(const EncodingConfig& config) { return std::make_unique<Rope>(config); }

}  // namespace longreach::trainer
