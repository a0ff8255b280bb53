// How much of an attention matrix is there at a time where no gradient needs all of it.
#pragma once

#include "worker/trainer/torch.h"

namespace longreach::trainer {

// Logits. 2^20 floats stay in a CPU's cache; a GPU wants so much work at a time that starting it is nothing beside it.
inline int64_t LogitsAtATime(at::Device device) { return device.is_cpu() ? 1 << 20 : 1 << 26; }

}  // namespace longreach::trainer
