// Reads pixels with an encoder, and a begin token with a decoder that attends to them: the token's output is the class.
// Docs: docs/models.md says which of this the paper leaves open.
#pragma once

#include <vector>

#include "worker/trainer/model/encoder.h"

namespace longreach::trainer {

class EncoderDecoder final : public Encoder {
 public:
  EncoderDecoder(const PackSettings& settings);

  Tensor TokenRows(const std::vector<uint16_t>& tokens, int64_t first, int64_t count) const override;
  Tensor Forward(const ParameterSet& parameters, const Feed& feed) const override;

  // Those of the encoder's blocks, then for each decoder block: after its own attention, after the crossing one, after
  // the MLP.
  int DropoutPlaces() const override { return EncoderPlaces() + 3 * static_cast<int>(blocks_.size()); }
  int64_t RowsAt(int place, int64_t tape, int64_t) const override { return place < EncoderPlaces() ? tape : 1; }

 private:
  struct Block {
    int self_q, self_k, self_v, self_o;
    NormParameters norm1;
    int cross_q, cross_k, cross_v, cross_o;
    NormParameters norm2;
    MlpParameters mlp;
    NormParameters norm3;
  };

  int EncoderPlaces() const { return Encoder::DropoutPlaces(); }

  bool linear_pixels_;
  int begin_ = -1;
  int class_w_ = -1;
  int class_b_ = -1;
  std::vector<Block> blocks_;
};

}  // namespace longreach::trainer
