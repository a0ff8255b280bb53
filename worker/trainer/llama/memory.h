// How much memory the jobs of a LLaMA decoder take, before anything is computed. Without torch.
#pragma once

#include <string>
#include <string_view>

#include "proto/base/status.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

struct LlamaMemory {
  double bytes = 0;
  std::string field;  // The setting that most of it is for, and its value.
  int length = 0;
};

// Of `members` jobs of a pack with so many threads: parameters, moments and gradients, and the activations of the sequences that
// are computed at a time. An estimate from below.
LlamaMemory EstimateMemory(const PackSettings& settings, int members, int threads);

// The most threads, of `threads`, for which the `there` bytes that `owner` has suffice: each has a sequence of its own in work. Results do
// not depend on it. INVALID_ARGUMENT: one takes more; says how much, which length it is for, and what to change.
absl::StatusOr<int> ThreadsThatFit(const PackSettings& settings, int members, int threads, double there, std::string_view owner = "this machine");

}  // namespace longreach::trainer
