// The experiment kind "sequences": a user's own task, as a data set of pairs of sequences.
#pragma once

#include "proto/base/status.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// Fills in what settings leave to their data set of pairs (settings.model.pairs), and checks them by it; nothing of other experiments. The settings have been
// validated. INVALID_ARGUMENT: the data set has no pairs of a length, or tapes that the settings leave no room for. Others as MakeProblem().
absl::Status ReadPairs(PackSettings& settings, const DataSource& data);

}  // namespace longreach::trainer
