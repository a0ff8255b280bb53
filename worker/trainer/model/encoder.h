// A stack of post-norm blocks with no final norm: the encoder of the algorithmic tasks (both directions), and with a causal
// mask the decoder of language modelling and of algorithmic tasks with model.causal.
// Source: models/transformer.py of google-deepmind/randomized_positional_encodings; reference section 4.
// With model.norm "pre" (of algorithmic tasks alone) of pre-norm blocks, h + f(LN(h)), and a norm behind the last: arXiv:2002.04745, figure 1 (b).
//
// Shapes as in model.h.
#pragma once

#include <string_view>
#include <vector>

#include "worker/trainer/length_scaling.h"
#include "worker/trainer/model/blocks.h"

namespace longreach::trainer {

// The parameter that positions.data_rows adds: [rows, D].
inline constexpr std::string_view kGivenTable = "given_pos.table";

class Encoder : public Model {
 public:
  // The settings have been validated.
  Encoder(const PackSettings& settings, int input_vocabulary, int output_vocabulary);

  Tensor Forward(const ParameterSet& parameters, const Feed& feed) const override;

  const LengthScaling& length_scaling() const { return length_scaling_; }

  // Dropout places: 0 the embedding (only where something is added to it), 1 + 2 layer after attention, 2 + 2 layer
  // after the MLP.
  int DropoutPlaces() const override { return 1 + 2 * layers_; }
  bool DropsOut(int place) const override { return place > 0 || AddsToEmbedding(); }
  // The whole tape, or the outputs in the last layer.
  int64_t RowsAt(int place, int64_t tape, int64_t outputs) const override {
    return place > 2 * (layers_ - 1) ? outputs : tape;
  }

 protected:
  // The blocks alone, for a model that reads them: no head. To be followed by DeclareEncoding().
  struct WithoutHead {};
  Encoder(const PackSettings& settings, int input_vocabulary, int output_vocabulary, WithoutHead);

  // What comes out of the last block at the last `outputs` positions: [.., B outputs, D].
  Tensor Hidden(const ParameterSet& parameters, const Feed& feed, int64_t outputs) const;

 private:
  struct Layer {
    int q, k, v, o;
    NormParameters norm1;
    MlpParameters mlp;
    NormParameters norm2;
  };

  void AddBlocks(const PackSettings& settings);
  bool AddsToEmbedding() const { return encoding_->Use() == PositionUse::kEmbedding || given_table_ >= 0; }
  // Embedded tokens [.., N, D] and what is added to them: by the encoding, and by positions that the data brings with it.
  Tensor WithAdditions(const Tensor& embedded, const ParameterSet& parameters, const Feed& feed) const;
  // Queries [.., B queries, D] by how many keys each sees.
  Tensor ScaledByLength(const Tensor& queries, const AttentionShape& shape) const;

  bool causal_;
  bool pre_norm_;
  LengthScaling length_scaling_;
  int embed_ = -1;
  int given_table_ = -1;  // With positions.data_rows.
  int out_w_ = -1;
  int out_b_ = -1;
  std::vector<Layer> layer_parameters_;
  NormParameters final_norm_ = {};  // Of pre-norm blocks.
};

}  // namespace longreach::trainer
