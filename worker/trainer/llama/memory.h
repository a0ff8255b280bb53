// How much memory the jobs of a LLaMA decoder take, before anything is computed. Without torch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/status.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

struct LlamaMemory {
  double model_bytes = 0;  // Of its parameters and what their training keeps, whatever the lengths.
  double bytes = 0;
  std::string field;  // The setting that most of it is for, and its value.
  int length = 0;
};

// Floats that an update on a GPU leaves behind for the backward pass, where its sequences can be cut so. Fixed, as the order of sums is part of
// the result.
inline constexpr double kGpuFloatsAtATime = 1LL << 32;

// Sequences of so many tokens that a GPU trains each member of a pack on at a time: as many as leave `most` floats behind, and at least one.
int64_t SequencesAtATime(const PackSettings& settings, int64_t members, int64_t length, double most = kGpuFloatsAtATime);

// Whose memory: where all is computed; a GPU's, where all is computed too; or beside it the machine's, on which parameters are made and sent on.
enum class MemoryOf { kCpu, kGpu, kBesideGpu };

// Of `members` jobs of a pack with so many threads: parameters, moments and gradients, and the activations of the sequences that
// are computed at a time. An estimate from below.
LlamaMemory EstimateMemory(const PackSettings& settings, int members, int threads, MemoryOf where = MemoryOf::kCpu);

// The most threads, of `threads`, for which the `there` bytes that `owner` has suffice: each has a sequence of its own in work. Results do
// not depend on it. INVALID_ARGUMENT: one takes more; says how much, which length it is for, and what to change.
absl::StatusOr<int> ThreadsThatFit(const PackSettings& settings, int members, int threads, double there, std::string_view owner = "this machine",
                                   MemoryOf where = MemoryOf::kCpu);

}  // namespace longreach::trainer
