#include "worker/trainer/engine/cut.h"

#include <algorithm>

#include "worker/trainer/llama/memory.h"
#include "worker/trainer/problems/kinds.h"

namespace longreach::trainer {

namespace {

// Sequences of an algorithmic batch that a unit computes: enough for the products, few enough to keep two threads busy
// with one job.
constexpr int64_t kSequencesPerGroup = 32;
// Tokens of a group of long sequences: activations of a layer stay in the cache.
constexpr int64_t kTokensPerGroup = 1024;
// Units that the groups of long sequences are dealt to: each has a gradient of the model's size.
constexpr int64_t kMostUnits = 8;

}  // namespace

Cut CutOf(const PackSettings& settings, const Batch& batch) {
  if (FindExperimentKind(settings.experiment)->needs_data) {
    const int64_t sequences = std::max<int64_t>(1, kTokensPerGroup / batch.tape);
    const int64_t groups = std::min(batch.size, std::max<int64_t>(2, (batch.size + sequences - 1) / sequences));
    return {.groups = groups, .units = std::min(groups, kMostUnits)};
  }
  const int64_t groups =
      std::min(batch.size, std::max<int64_t>(2, (batch.size + kSequencesPerGroup - 1) / kSequencesPerGroup));
  return {.groups = groups, .units = groups};
}

Cut WholePackCut(const PackSettings& settings, const Batch& batch, int64_t members, double most_floats) {
  if (!IsLarge(settings)) return {};
  const int64_t sequences = SequencesAtATime(settings, members, batch.tape, most_floats);
  return {.groups = (batch.size + sequences - 1) / sequences, .units = 1};
}

}  // namespace longreach::trainer
