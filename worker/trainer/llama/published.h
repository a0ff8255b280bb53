// Published models that jobs begin with: data sets that hold the folder of one.
#pragma once

#include <memory>

#include "proto/base/status.h"
#include "worker/tokenizer/tokenizer.h"
#include "worker/trainer/engine/state.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// Where a data set of that name lies for these jobs.
std::filesystem::path DataSetPlace(const PackRequest& request, const std::string& name);

// Fills in what the settings leave to model.folder; nothing where there is none. The settings have been validated.
// NOT_FOUND, FAILED_PRECONDITION, DATA_LOSS: the data set cannot be used. INVALID_ARGUMENT: sizes that are not the folder's, an encoding
// that the model was not trained with, a scaling on top of another.
absl::Status ReadPublished(PackRequest& request);

// INVALID_ARGUMENT: its folder has no tokenizer. `request` as above.
absl::Status CheckTokenizer(const PackRequest& request);
// Its tokenizer, null where there is no settings.model.folder. Errors of tokenizer::TokenizerOfFolder(). `request` as above.
absl::StatusOr<std::unique_ptr<tokenizer::Tokenizer>> PublishedTokenizer(const PackRequest& request);

// The weights and head scales of the folder. `request` has gone through ReadPublished().
absl::Status LoadPublished(const PackRequest& request, const ParameterLayout& layout, PackState& state);

}  // namespace longreach::trainer
