// The attention matrices that a job left, as the worker writes them: safetensors with "attention/N" [layers, T, T] of the length N,
// each matrix the maximum over a layer's heads. Files are not trusted: what does not fit together is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"

namespace longreach::client {

class AttentionSeries {
 public:
  // Of one length. DATA_LOSS with what is wrong; NOT_FOUND: it has no matrices of that length. Keeps `bytes`.
  static absl::StatusOr<AttentionSeries> Parse(std::string bytes, int length);

  int64_t layers() const { return layers_; }
  int64_t tape() const { return tape_; }
  // As the file's header has them.
  const std::string& heads() const { return heads_; }

  // What a query pays to a key, both below tape(); always a finite number from 0 to 1.
  float At(int64_t layer, int64_t query, int64_t key) const;

 private:
  AttentionSeries() = default;

  std::string bytes_;
  size_t begin_ = 0;  // Of the matrices.
  int64_t layers_ = 0;
  int64_t tape_ = 0;
  std::string heads_;
};

}  // namespace longreach::client
