// What a model asks of the second half of an update.
#pragma once

#include <cstdint>
#include <limits>

namespace longreach::trainer {

// How parameters follow their gradients.
struct UpdateRule {
  double clip_norm = 1;
  bool adamw = false;         // Else Adam, without decay.
  double weight_decay = 0;    // AdamW's.
  // Of a member's floats, those that are trained: [first, last). The others stay as they are. Those before have no gradient and
  // no moments; those behind have them, all zero, because they are few.
  int64_t first = 0;
  int64_t last = std::numeric_limits<int64_t>::max();
  // Whether one of the floats [begin, end) is.
  bool Trains(int64_t begin, int64_t end) const { return begin < last && first < end; }
  // What trained parameters do not fall below.
  float lower_bound = -std::numeric_limits<float>::infinity();
};

}  // namespace longreach::trainer
