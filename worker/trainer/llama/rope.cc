#include "worker/trainer/llama/rope.h"

namespace longreach::trainer {

RopeTable MakeRopeTable(const LlamaConfig& config, int64_t length) {
  const RopeFrequencies exact = FrequenciesOf(
      {.theta = config.rope_theta, .head_dim = config.head_dim, .scaling = config.rope_scaling, .trained_length = config.max_positions}, length);
  RopeTable table{.frequencies = {}, .magnitude = exact.magnitude};
  table.frequencies.assign(exact.of_pairs.begin(), exact.of_pairs.end());
  return table;
}

}  // namespace longreach::trainer
