// What an engine trains: a function from tokens to logits, its parameters, and the encoding in it.
//
// Shapes: E member of the pack (no such axis for one member alone), B sequence, T position, N = B T, D features, V tokens.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/engine/update_rule.h"
#include "worker/trainer/model/attention.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// What an encoding without parameters makes of a pass: the same for all members, so made once.
struct PassTerms {
  const PassPositions* positions = nullptr;
  Tensor addition;
  std::vector<Tensor> rotation;     // By layer.
  std::vector<Tensor> bias_tables;  // By layer.
  Tensor given_positions;           // PassPositions::given.
};

// What a forward pass is fed: some sequences of a batch.
struct Feed {
  int64_t batch = 0;
  int64_t tape = 0;
  int64_t outputs = 0;  // Logits wanted of a sequence.
  int64_t window = 0;   // As Batch has it.
  Tensor tokens;        // As Model::TokenRows() makes them.
  PassTerms terms;
  // By dropout place, [rows, D]: 0 or 1/(1-p). Empty: no dropout.
  std::vector<Tensor> keep;
  // Called with what each layer over the tape attends to, layer by layer, as AttentionMaxima() has it. Of one sequence and member,
  // with an output at each token.
  std::function<void(const Tensor&)> on_attention = nullptr;
  // Of a LLaMA decoder: threads that compute it together, without a gradient; and what is called after each block, forward and backward,
  // from the thread that computes it.
  ThreadPool* pool = nullptr;
  std::function<void()> between = nullptr;
};

// Thread-safe: a forward pass changes nothing.
class Model {
 public:
  virtual ~Model() = default;

  const ParameterLayout& layout() const { return layout_; }
  const Encoding& encoding() const { return *encoding_; }
  // Those that the encoding has declared.
  std::span<const Parameter> EncodingParameters() const {
    return layout_.parameters().subspan(own_parameters_, encoding_parameters_);
  }
  int64_t embedding_dim() const { return dim_; }
  int input_vocabulary() const { return input_vocabulary_; }
  int output_vocabulary() const { return output_vocabulary_; }

  // `positions` stay with the caller; what the encoding makes of them is sent to the device that computes.
  PassTerms Prepare(const PassPositions& positions, at::Device device = at::kCPU) const;
  // Tokens for Feed::tokens: of a small vocabulary float [N, V_in + 1] with sqrt(D) at the token, so that a product looks up
  // and scales; else int64 [N].
  virtual Tensor TokenRows(const std::vector<uint16_t>& tokens, int64_t first, int64_t count) const;

  // Logits of the outputs: [.., B outputs, V_out].
  virtual Tensor Forward(const ParameterSet& parameters, const Feed& feed) const = 0;
  // The same in some parts, where all logits at once would take too much memory: `first` is the first output of a part.
  using LogitsUse = std::function<void(int64_t first, const Tensor& logits)>;
  virtual void ForwardInParts(const ParameterSet& parameters, const Feed& feed, const LogitsUse& use) const { use(0, Forward(parameters, feed)); }

  // How parameters are updated, and which.
  virtual UpdateRule Rule() const { return {.clip_norm = clip_norm_}; }

  // Dropout happens at numbered places; a place sees the last rows of a sequence.
  virtual int DropoutPlaces() const = 0;
  virtual bool DropsOut(int place) const = 0;
  virtual int64_t RowsAt(int place, int64_t tape, int64_t outputs) const = 0;

 protected:
  Model(const PackSettings& settings, int input_vocabulary, int output_vocabulary);

  // To be called by a subclass when its own parameters are there.
  void DeclareEncoding();
  // What the encoding gives to a layer's attention.
  LayerTerms TermsOf(const ParameterSet& parameters, const PassTerms& terms, int layer) const;
  // Rows of a table [.., R, D] by their numbers, int64 [N], times a factor: [.., N, D].
  static Tensor Rows(const Tensor& table, const Tensor& numbers, double factor);
  // The scaled embedding of the tokens: [.., N, D].
  Tensor Embed(const ParameterSet& parameters, const Tensor& tokens, int embedding) const;

  int layers_;
  double clip_norm_;
  int64_t dim_;
  int64_t heads_;
  int input_vocabulary_;
  int output_vocabulary_;
  ParameterLayout layout_;
  std::unique_ptr<Encoding> encoding_;

 private:
  // An earlier layer that the encoding gives the same: it has the same positions, and acts in both or in neither.
  std::optional<size_t> Before(size_t layer, const std::function<bool(size_t)>& same_positions) const;

  size_t own_parameters_ = 0;  // The encoding's come after them.
  size_t encoding_parameters_ = 0;
};

// The model of the settings' experiment, which are valid.
std::unique_ptr<Model> MakeModel(const PackSettings& settings);

}  // namespace longreach::trainer
