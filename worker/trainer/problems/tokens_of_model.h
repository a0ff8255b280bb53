// Whether a corpus of tokens is one of the model that shall read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/status.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// INVALID_ARGUMENT, with the setting that names it: the ids of the data set `name` are those of another vocabulary, or of another tokenizer than
// the one in the model's folder, as far as both are known (data::Manifest). settings.model is known (ReadPublished()).
absl::Status CheckTokensOfModel(const PackSettings& settings, int64_t vocabulary, const std::string& tokenizer, std::string_view setting, const std::string& name);

}  // namespace longreach::trainer
