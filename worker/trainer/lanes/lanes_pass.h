// A batch and its positions as the kernels read them: plain arrays, tile by tile.
#pragma once

#include <cstdint>
#include <functional>
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

  // Floats of the widest register.
  static constexpr int64_t kRegister = 16;

  const lanes::Pass& pass() const { return pass_; }
  const Batch& batch() const { return batch_; }
  int64_t tiles() const { return tiles_; }
  // Without keep-bits.
  lanes::Tile Tile(int64_t tile) const;
  // Those that a tile is laid out for.
  const lanes::Kernels& KernelsOf(const lanes::Tile& tile) const { return tile.lanes == kernels_.lanes ? kernels_ : *kernels_.half(); }

  // 16-bit words of a tile's keep-bits; 0: no dropout.
  int64_t KeepSize() const { return keep_size_; }
  // Fills the keep-bits of a tile, of one place of the model or of all: the same draws as DropoutFactors().
  void FillKeep(int64_t tile, int place, uint16_t* keep) const;
  void FillKeep(int64_t tile, uint16_t* keep) const;

  // The rows that an untrained encoding adds; else null.
  const float* addition() const { return addition_.defined() ? addition_.data_ptr<float>() : nullptr; }
  // Floats of all tables of a member: biases; with keys of distances these and the queries' biases. What a layer has of each
  // begins and ends at multiples of kRegister.
  int64_t TablesSize() const {
    const int64_t content_biases = int64_t{settings_.model.layers} * settings_.model.embedding_dim;
    return BiasSize() + KeysSize() + (pass_.distance_keys ? content_biases : 0);
  }
  // Where they, or their gradients, lie in so many floats.
  lanes::TableGradients Tables(float* tables) const;
  // What of them is a layer's.
  struct Part {
    int64_t first = 0;
    int64_t size = 0;
  };
  std::vector<Part> LayerTables(int layer) const;
  // Puts the table of a layer, [H, R], where the kernels want it. Of a decoder R ends with distance 0, and keys behind it are hidden.
  void PutBias(const Tensor& table, int layer, float* tables) const;
  // The gradient of a layer's table as a view of the gradients of tables.
  Tensor BiasGradient(float* gradients, int layer) const;
  // The same of biases by pair, [H, queries, T], of consecutive queries.
  void PutPairBias(const Tensor& bias, int layer, int64_t first_query, float* tables) const;
  Tensor PairBiasGradient(float* gradients, int layer, int64_t first_query, int64_t queries) const;
  // The queries that ask in a layer, so many at a time that what an encoding makes of their pairs stays in the second cache.
  void ForQueries(int layer, const std::function<void(int64_t first, int64_t queries)>& use) const;
  // The same of Transformer-XL's term. (q + u) k + (q + v) r is (q + u) (k + r) + (v - u) r: keys that belong to distances
  // alone, and a table of biases.
  void PutContent(const ContentTerm& content, int layer, float* tables) const;
  ContentTerm ContentGradient(const ContentTerm& content, int layer, float* gradients) const;
  // The tables of an untrained encoding; empty if it has none.
  const std::vector<float>& bias() const { return bias_; }

 private:
  int64_t BiasSize() const { return settings_.model.layers * settings_.model.heads * pass_.bias_stride; }
  int64_t KeysSize() const { return pass_.distance_keys ? BiasSize() * lanes::kHeadDim : 0; }
  int64_t LanesOf(int64_t tile) const;
  void MakeTiles();
  void MakePositions();
  void ScaleQueries();
  void HideLaterKeys();
  void RoundUpBiasStride();
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
  std::vector<float> query_rotation_;  // Where it is not that of keys.
  std::vector<int32_t> centers_;
  std::vector<int32_t> positions_;
  std::vector<int64_t> addition_row_;
  std::vector<int64_t> given_row_;
  std::vector<int64_t> keep_offset_;
  std::vector<float> bias_;
  Tensor addition_;
};

}  // namespace longreach::trainer
