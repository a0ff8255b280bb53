// Sets of an encoding's parameters: one for each layer, or one that all layers share.
#pragma once

#include <string>

namespace longreach::trainer {

class LayerSets {
 public:
  LayerSets(int layers, bool shared) : layers_(layers), shared_(shared) {}

  int count() const { return shared_ ? 1 : layers_; }
  // Which of them a layer has.
  int Of(int layer) const { return shared_ ? 0 : layer; }
  // What names of its parameters begin with: "layer0.attn.", or "attn." of one that is shared.
  std::string Place(int set) const { return shared_ ? "attn." : "layer" + std::to_string(set) + ".attn."; }

 private:
  int layers_;
  bool shared_;
};

}  // namespace longreach::trainer
