// Sets of an encoding's parameters: one for each layer that it acts in, or one that all of them share.
#pragma once

#include <string>
#include <vector>

#include "proto/catalog/position_layers.h"

namespace longreach::trainer {

class LayerSets {
 public:
  LayerSets(int layers, int none_every, bool shared) : shared_(shared) {
    for (int layer = 0; layer < layers; ++layer) {
      const bool has = catalog::HasPositions(none_every, layer);
      set_of_.push_back(has ? static_cast<int>(layers_.size()) : -1);
      if (has) layers_.push_back(layer);
    }
  }

  int count() const { return shared_ ? 1 : static_cast<int>(layers_.size()); }
  // Which of them a layer has that the encoding acts in.
  int Of(int layer) const { return shared_ ? 0 : set_of_[static_cast<size_t>(layer)]; }
  // What names of its parameters begin with: "layer0.attn.", or "attn." of one that is shared.
  std::string Place(int set) const { return shared_ ? "attn." : "layer" + std::to_string(layers_[static_cast<size_t>(set)]) + ".attn."; }

 private:
  bool shared_;
  std::vector<int> layers_;  // By set.
  std::vector<int> set_of_;  // By layer.
};

}  // namespace longreach::trainer
