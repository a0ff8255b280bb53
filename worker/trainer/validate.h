#pragma once

#include "worker/trainer/train.h"

namespace longreach::trainer {

// Validate() of the settings, and of what a request adds to them.
absl::Status ValidateRequest(const PackRequest& request);

}  // namespace longreach::trainer
