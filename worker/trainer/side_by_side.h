// How fast several packs are trained at the same time in one process.
#pragma once

#include <vector>

#include "worker/trainer/train.h"

namespace longreach::trainer {

// That of `settings`, then those beside it.
std::vector<const PackSettings*> AllPacks(const BenchRequest& request);

// Processor time of this process, all threads together.
double CpuMs();

// FLOP of matrix products in an update of each training length, of one member.
double FlopsOfRound(const PackSettings& settings);

// Each pack by a thread of its own, from a common begin until all have been measured. Statuses as of Bench(), the first one of any pack.
absl::StatusOr<BenchResult> MeasureSideBySide(const BenchRequest& request);

}  // namespace longreach::trainer
