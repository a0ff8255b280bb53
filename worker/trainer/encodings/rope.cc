#include <cmath>

#include "worker/trainer/encodings/sin_cos_table.h"
#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

namespace {

// Rotary: adjacent pairs of a head's features turn by position times frequency, in queries and keys.
// Source: compute_rotary_encodings() of google-deepmind/randomized_positional_encodings; angles in float64
// here.
class Rope final : public Encoding {
 public:
  explicit Rope(const EncodingConfig& config) : frequencies_(SinCosFrequencies(config.head_dim())) {}

  PositionUse Use() const override { return PositionUse::kRotation; }

  Tensor Rotation(const Tensor& positions) const override {
    const Tensor position_T = positions.to(at::kLong).contiguous();
    const int64_t tape = position_T.numel();
    const auto pairs = static_cast<int64_t>(frequencies_.size());
    Tensor rotation = at::empty({2, tape, pairs}, at::kFloat);
    float* cosine = rotation.data_ptr<float>();
    float* sine = cosine + tape * pairs;
    for (int64_t t = 0; t < tape; ++t) {
      const double position = static_cast<double>(position_T.data_ptr<int64_t>()[t]);
      for (int64_t i = 0; i < pairs; ++i) {
        const double angle = position * frequencies_[static_cast<size_t>(i)];
        *cosine++ = static_cast<float>(std::cos(angle));
        *sine++ = static_cast<float>(std::sin(angle));
      }
    }
    return rotation;
  }

 private:
  std::vector<double> frequencies_;  // Of the pairs.
};

}  // namespace

std::unique_ptr<Encoding> Make_rope(const EncodingConfig& config) { return std::make_unique<Rope>(config); }

}  // namespace longreach::trainer
