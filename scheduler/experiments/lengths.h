// Lengths of training and tests are sets: their order makes neither another job nor another sweep.
#pragma once

#include <algorithm>

#include "longreach/v1/spec.pb.h"

namespace longreach::experiments {

inline void PutLengthsInOrder(v1::Training& training, v1::Evaluation& evaluation) {
  std::ranges::sort(*training.mutable_lengths());
  std::ranges::sort(*evaluation.mutable_lengths());
  std::ranges::sort(*evaluation.mutable_attention_lengths());
  std::ranges::sort(*evaluation.mutable_curve_lengths());
  std::ranges::sort(*evaluation.mutable_output_lengths());
  std::ranges::sort(*evaluation.mutable_passkey_lengths());
}

}  // namespace longreach::experiments
