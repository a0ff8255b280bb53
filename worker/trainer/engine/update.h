// The second half of an update, the same for all engines: norm, clip, Adam, and who has diverged.
#pragma once

#include <vector>

#include "worker/trainer/engine/engine.h"
#include "worker/trainer/engine/optimizer.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/engine/update_rule.h"

namespace longreach::trainer {

// The step of each live member, from its loss and the norm of its gradient. A member of which one is not
// finite is marked as diverged instead.
std::vector<AdamStep> MakeSteps(const std::vector<double>& losses, const std::vector<double>& norms,
                                const std::vector<double>& learning_rates, const UpdateRule& rule, PackState& state,
                                std::vector<StepResult>& results);

// StepEngine::Update() for gradients in memory. Bits do not depend on the threads: sums go over
// fixed chunks.
std::vector<StepResult> UpdateOnCpu(ThreadPool& pool, const Tensor& gradients,
                                    const std::vector<double>& losses,
                                    const std::vector<double>& learning_rates, const UpdateRule& rule,
                                    PackState& state);

// The same in LibTorch's operations, for all members at once, wherever the buffers lie.
std::vector<StepResult> UpdateInOperations(const Tensor& gradients, const std::vector<double>& losses, const std::vector<double>& learning_rates,
                                           const UpdateRule& rule, PackState& state);

}  // namespace longreach::trainer
