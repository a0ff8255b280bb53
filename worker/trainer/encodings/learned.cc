#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/sent.h"

namespace longreach::trainer {

namespace {

// A trained row for each position, added to the embedding. Positions past the end take the last row, as JAX
// clamps. Source: learned_position_encoding() of google-deepmind/randomized_positional_encodings.
class Learned final : public Encoding {
 public:
  explicit Learned(const EncodingConfig& config) : rows_(config.learned_rows), dim_(config.embedding_dim) {}

  PositionUse Use() const override { return PositionUse::kEmbedding; }
  bool Trained() const override { return true; }
  bool TrainsWithoutAutograd() const override { return true; }

  void Declare(ParameterLayout& layout) override {
    table_ = layout.Add("pos.table", {rows_, dim_}, {Initial::Kind::kTruncatedNormal, 1.0});
  }

  Tensor Addition(const Tensor& positions, const ParameterSet& parameters) const override {
    const Tensor& table = parameters[static_cast<size_t>(table_)];
    const Tensor row_T = Sent(positions.clamp_max(rows_ - 1), table.device());
    if (table.dim() == 2) return table.index_select(0, row_T);
    return table.index_select(1, row_T).unsqueeze(1);  // [E, 1, T, D].
  }

 private:
  int64_t rows_;
  int64_t dim_;
  int table_ = -1;
};

}  // namespace

std::unique_ptr<Encoding> Make_learned(const EncodingConfig& config) {
  return std::make_unique<Learned>(config);
}

}  // namespace longreach::trainer
