#include "worker/trainer/encodings/sin_cos_table.h"

#include <algorithm>
#include <cmath>

namespace longreach::trainer {

std::vector<double> SinCosFrequencies(int64_t dim) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < dim / 2; ++i) frequencies.push_back(std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim)));
  return frequencies;
}

SinCosTable::SinCosTable(int64_t rows, int64_t dim)
    : rows_(std::min(rows, kMaxRows)), dim_(dim), frequencies_(SinCosFrequencies(dim)), table_(at::empty({rows_, dim}, at::kFloat)) {
  for (int64_t p = 0; p < rows_; ++p) MakeRow(p, table_.data_ptr<float>() + p * dim);
}

void SinCosTable::MakeRow(int64_t position, float* row) const {
  for (int64_t i = 0; i < dim_ / 2; ++i) {
    const double angle = static_cast<double>(position) * frequencies_[static_cast<size_t>(i)];
    row[i] = static_cast<float>(std::sin(angle));
    row[dim_ / 2 + i] = static_cast<float>(std::cos(angle));
  }
}

Tensor SinCosTable::Rows(const Tensor& positions) const {
  const Tensor flat = positions.to(at::kLong).contiguous().view({-1});
  Tensor result = at::empty({flat.numel(), dim_}, at::kFloat);
  const int64_t* position = flat.data_ptr<int64_t>();
  float* row = result.data_ptr<float>();
  for (int64_t n = 0; n < flat.numel(); ++n, row += dim_) {
    const int64_t p = std::abs(position[n]);
    if (p < rows_) {
      std::copy_n(table_.data_ptr<float>() + p * dim_, dim_, row);
    } else {
      MakeRow(p, row);
    }
    if (position[n] < 0) {
      for (int64_t i = 0; i < dim_ / 2; ++i) row[i] = -row[i];
    }
  }
  std::vector<int64_t> shape = positions.sizes().vec();
  shape.push_back(dim_);
  return result.view(shape);
}

}  // namespace longreach::trainer
