// The entropies of attention heads by position that a job left, as the worker writes them: safetensors with "attention_entropy", F64
// [layers, heads, bins], and the width of a bin in the header. Files are not trusted: what does not fit together is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/base/status.h"

namespace longreach::client {

class EntropySeries {
 public:
  // DATA_LOSS with what is wrong; NOT_FOUND: it has no entropies. Keeps `bytes`.
  static absl::StatusOr<EntropySeries> Parse(std::string bytes);

  int64_t layers() const { return layers_; }
  int64_t heads() const { return heads_; }
  int64_t bins() const { return bins_; }
  // In positions; the first bin begins at position 0.
  int64_t bin_width() const { return bin_width_; }

  // In nats. A model that computes no numbers has none here, either.
  double At(int64_t layer, int64_t head, int64_t bin) const;

 private:
  EntropySeries() = default;

  std::string bytes_;
  size_t begin_ = 0;  // Of the entropies.
  int64_t layers_ = 0;
  int64_t heads_ = 0;
  int64_t bins_ = 0;
  int64_t bin_width_ = 0;
};

}  // namespace longreach::client
