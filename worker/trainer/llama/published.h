// Published models that jobs begin with: data sets that hold the folder of one.
#pragma once

#include "proto/base/status.h"
#include "worker/trainer/engine/state.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// Fills in what the settings leave to model.folder; nothing where there is none. The settings have been validated.
// NOT_FOUND, FAILED_PRECONDITION, DATA_LOSS: the data set cannot be used. INVALID_ARGUMENT: sizes that are not the folder's, an encoding
// that the model was not trained with, a scaling on top of another.
absl::Status ReadPublished(PackRequest& request);

// The weights and head scales of the folder. `request` has gone through ReadPublished().
absl::Status LoadPublished(const PackRequest& request, const ParameterLayout& layout, PackState& state);

}  // namespace longreach::trainer
