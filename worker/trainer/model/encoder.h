// The encoder of the algorithmic tasks: 5 post-norm layers by default, both directions, no final norm.
// Source: models/transformer.py of google-deepmind/randomized_positional_encodings; reference section 4.
//
// Shapes: E member of the pack (no such axis for one member alone), B sequence, T position, N = B T, D
// features, V tokens.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "worker/trainer/encodings/encoding.h"
#include "worker/trainer/model/attention.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// What an encoding without parameters makes of a pass: the same for all members, so made once.
struct PassTerms {
  const PassPositions* positions = nullptr;
  Tensor addition;
  std::vector<Tensor> rotation;     // By layer.
  std::vector<Tensor> bias_tables;  // By layer.
};

// What a forward pass is fed: some sequences of a batch.
struct Feed {
  int64_t batch = 0;
  int64_t tape = 0;
  int64_t outputs = 0;       // Positions at the end of the tape whose logits are wanted.
  Tensor tokens;  // Float [N, V_in + 1]: sqrt(D) at the token, else 0, so that a product looks up and scales.
  PassTerms terms;
  std::vector<Tensor>
      keep;  // By dropout place, [N, D] (the last layer's: [B outputs, D]): 0 or 1/(1-p). Empty: no dropout.
};

class Encoder {
 public:
  // The settings have been validated.
  Encoder(const PackSettings& settings, int input_vocabulary, int output_vocabulary, at::Device device);

  const ParameterLayout& layout() const { return layout_; }
  const Encoding& encoding() const { return *encoding_; }
  // Those that the encoding has declared.
  std::span<const Parameter> EncodingParameters() const { return layout_.parameters().subspan(own_parameters_); }
  int input_vocabulary() const { return input_vocabulary_; }
  int output_vocabulary() const { return output_vocabulary_; }

  PassTerms Prepare(const PassPositions& positions) const;
  // One-hot rows for Feed::tokens; the id of empty output positions is V_in.
  Tensor TokenRows(const std::vector<uint8_t>& tokens, int64_t first, int64_t count) const;

  // Logits of the last `outputs` positions: [.., B outputs, V_out].
  Tensor Forward(const ParameterSet& parameters, const Feed& feed) const;

  // Dropout places: 0 the embedding (only of additive encodings), 1 + 2 layer after attention, 2 + 2 layer
  // after the MLP.
  int DropoutPlaces() const { return 1 + 2 * layers_; }
  bool DropsOut(int place) const { return place > 0 || encoding_->Use() == PositionUse::kEmbedding; }
  // Rows of a sequence that a place sees: the whole tape, or the outputs in the last layer.
  int64_t RowsAt(int place, int64_t tape, int64_t outputs) const {
    return place > 2 * (layers_ - 1) ? outputs : tape;
  }
  int64_t embedding_dim() const { return dim_; }

 private:
  struct Layer {
    int q, k, v, o;
    int norm1_scale, norm1_offset, norm2_scale, norm2_offset;
    int mlp1_w, mlp1_b, mlp2_w, mlp2_b;
  };

  LayerTerms TermsOf(const ParameterSet& parameters, const PassTerms& terms, int layer) const;

  int layers_;
  int64_t dim_;
  int64_t heads_;
  int input_vocabulary_;
  int output_vocabulary_;
  ParameterLayout layout_;
  size_t own_parameters_ = 0;  // The encoding's come after them.
  std::unique_ptr<Encoding> encoding_;
  int embed_;
  int out_w_;
  int out_b_;
  std::vector<Layer> layer_parameters_;
};

}  // namespace longreach::trainer
