// Keys and values of the tokens that a decoder has read, so that the next ones need not be computed from all.
//
// Shapes: N sequences, V key-value heads, K features per head.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/trainer/torch.h"

namespace longreach::trainer {

class KeyValueCache {
 public:
  enum class Rotation {
    // All keys are rotated by the frequencies of the current length.
    kFresh,
    // Keys stay rotated by the frequencies of their own time, as transformers keeps them. The two differ with dynamic NTK only;
    // and from reading all tokens at once both do, as upper layers keep what they made of the lower ones' earlier rotations.
    kOfTheirTime,
  };

  explicit KeyValueCache(Rotation rotation = Rotation::kFresh) : rotation_(rotation) {}

  Rotation rotation() const { return rotation_; }
  // Tokens of each sequence that all layers have read.
  int64_t length() const { return layers_.empty() ? 0 : layers_.back().length; }
  // The same of one layer, in the middle of a pass.
  int64_t LengthOf(size_t layer) const { return layer < layers_.size() ? layers_[layer].length : 0; }

  struct Read {
    Tensor keys;    // [N, V, tokens so far, K]: a view, until the next call.
    Tensor values;
  };
  // Adds the next tokens of a layer, [N, V, tokens, K]; layers come in order. There is room for some more, so that few calls copy what is there.
  Read Append(size_t layer, const Tensor& keys, const Tensor& values);

  // Sequence i goes on from what was sequence parents[i]. Only what they do not have in common is copied, where there is room for as many.
  void Reorder(std::span<const int64_t> parents);

 private:
  struct Layer {
    Tensor keys;    // [N, V, room, K].
    Tensor values;
    int64_t length = 0;
  };

  Rotation rotation_;
  std::vector<Layer> layers_;
  int64_t common_ = 0;  // The first so many tokens are the same in all sequences.
};

}  // namespace longreach::trainer
