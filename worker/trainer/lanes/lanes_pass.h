// A batch and its positions as the kernels read them: plain arrays, tile by tile.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/engine/batch.h"
#include "worker/trainer/lanes/kernels.h"
#include "worker/trainer/model/encoder.h"

namespace longreach::trainer {

// What all members share of a pass. Owns what `pass` and the tiles point to; not to be copied.
class LanesPass {
 public:
  // The settings can be trained by kernels. `layout` as in Model::table.
  LanesPass(const PackSettings& settings, const Encoder& encoder, const lanes::Kernels& kernels, const Batch& batch, bool dropout);
  LanesPass(const LanesPass&) = delete;
  LanesPass& operator=(const LanesPass&) = delete;

  const lanes::Pass& pass() const { return pass_; }
  const Batch& batch() const { return batch_; }
  int64_t tiles() const { return tiles_; }
  // Without keep-bits.
  lanes::Tile Tile(int64_t tile) const;

  // 16-bit words of a tile's keep-bits; 0: no dropout.
  int64_t KeepSize() const { return keep_size_; }
  // Fills the keep-bits of a tile: the same draws as DropoutFactors().
  void FillKeep(int64_t tile, uint16_t* keep) const;

  // The rows that an untrained encoding adds; else null.
  const float* addition() const { return addition_.defined() ? addition_.data_ptr<float>() : nullptr; }
  // Floats of all tables of biases of a member.
  int64_t BiasSize() const { return settings_.model.layers * settings_.model.heads * pass_.bias_stride; }
  // Puts the table of a layer, [H, R], where the kernels want it. `bias` has BiasSize() floats.
  void PutBias(const Tensor& table, int layer, float* bias) const;
  // The gradient of a layer's table as a view of `gradient`, which has BiasSize() floats.
  Tensor BiasGradient(float* gradient, int layer) const;
  // The tables of an untrained encoding; empty if it has none.
  const std::vector<float>& bias() const { return bias_; }

 private:
  void MakeTiles();
  void MakePositions();
  void MakeKeep();

  const PackSettings& settings_;
  const Encoder& encoder_;
  const lanes::Kernels& kernels_;
  const Batch& batch_;
  lanes::Pass pass_;
  int64_t tiles_ = 0;
  int64_t keep_size_ = 0;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> targets_;
  std::vector<float> rotation_;
  std::vector<int32_t> centers_;
  std::vector<int32_t> positions_;
  std::vector<int64_t> addition_row_;
  std::vector<int64_t> keep_offset_;
  std::vector<float> bias_;
  Tensor addition_;
};

}  // namespace longreach::trainer
