#include "worker/trainer/encodings/sin_cos_table.h"
#include "worker/trainer/encodings/encoding.h"

namespace longreach::trainer {

namespace {

// Sines and cosines of the position, added to the embedding.
// Source: sinusoid_position_encoding() of google-deepmind/randomized_positional_encodings.
class SinCos final : public Encoding {
 public:
  explicit SinCos(const EncodingConfig& config) : table_(config.max_position, config.embedding_dim) {}

  PositionUse Use() const override { return PositionUse::kEmbedding; }

  Tensor Addition(const Tensor& positions, const ParameterSet&) const override {
    return table_.Rows(positions);
  }

 private:
  SinCosTable table_;
};

}  // namespace

std::unique_ptr<Encoding> Make_sin_cos(const EncodingConfig& config) {
  return std::make_unique<SinCos>(config);
}

}  // namespace longreach::trainer
