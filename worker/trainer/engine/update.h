// The second half of an update, the same for all engines: norm, clip, Adam, and who has diverged.
#pragma once

#include <functional>
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

// Floats of all members that UpdatesInOperations computes at a time: of each there are several intermediate values.
inline constexpr int64_t kUpdatedAtATime = 1 << 24;

// Some updates in LibTorch's operations, for all members at once, wherever their buffers lie. Nothing waits for the device before
// Wait() or Settle().
class UpdatesInOperations {
 public:
  // `state` is borrowed. Learning rates are those of all updates.
  UpdatesInOperations(const UpdateRule& rule, std::vector<double> learning_rates, PackState& state);

  // The next step of the members that are live: gradients [E, trained] and losses, float64 [E], lie where the state does.
  void Take(const Tensor& gradients, const Tensor& losses);
  // Until the device has done all of them.
  void Wait();
  // Counts them one after the other. `updated` gets the results of each.
  void Settle(const std::function<void(const std::vector<StepResult>&)>& updated);

 private:
  // Moments and parameters that belong to these gradients, [E, some], clipped, of which the first is that of column `first`.
  void Move(const Tensor& g, int64_t first, const AdamStep& step);

  const UpdateRule rule_;
  const std::vector<double> learning_rates_;
  PackState& state_;
  Tensor rates_;                 // [E, 1].
  Tensor live_;                  // bool [E, 1].
  std::vector<Tensor> numbers_;  // Of each update: float64 [2, E], losses and norms.
  Tensor on_host_;               // All of them, when they have been waited for: [updates, 2, E].
};

}  // namespace longreach::trainer
