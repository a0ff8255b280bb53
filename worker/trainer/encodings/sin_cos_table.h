// Rows of sines and cosines, the sines first, made in float64. Used by sin/cos, SHAPE and Transformer-XL.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/torch.h"

namespace longreach::trainer {

// [dim / 2]: 10000^(-2 i / dim).
std::vector<double> SinCosFrequencies(int64_t dim);

class SinCosTable {
 public:
  static constexpr int64_t kMaxRows = 1 << 14;

  // Rows for positions 0 to rows - 1 are kept, at most kMaxRows; others are made when asked for.
  SinCosTable(int64_t rows, int64_t dim);

  // positions: int64 or float of any shape, whole numbers, maybe negative. Returns float of that shape +
  // [dim]: row p is [sin(p f_0) .. sin(p f_{dim/2-1}), cos(p f_0) .. cos(p f_{dim/2-1})].
  // Source: sinusoid_position_encoding() of google-deepmind/randomized_positional_encodings.
  Tensor Rows(const Tensor& positions) const;

 private:
  void MakeRow(int64_t position, float* row) const;

  int64_t rows_;
  int64_t dim_;
  std::vector<double> frequencies_;
  Tensor table_;
};

}  // namespace longreach::trainer
