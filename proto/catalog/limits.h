// Bounds that the scheduler checks before a job begins, and the trainer again.
#pragma once

#include <cstdint>

namespace longreach::catalog {

// Values of one job's attention matrices together: 256 MiB.
inline constexpr int64_t kMaxAttentionValues = int64_t{1} << 26;

}  // namespace longreach::catalog
