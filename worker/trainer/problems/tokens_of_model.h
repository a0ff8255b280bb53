// Whether a corpus of tokens is one of the model that shall read it.
#pragma once

#include <string>
#include <string_view>

#include "proto/base/status.h"
#include "worker/data/token_corpus.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// INVALID_ARGUMENT, with the setting that names it: the ids of `corpus`, the data set `name`, are those of another vocabulary, or of another tokenizer than
// the one in the model's folder, as far as both are known. settings.model is known (ReadPublished()).
absl::Status CheckTokensOfModel(const PackSettings& settings, const data::TokenCorpus& corpus, std::string_view setting, const std::string& name);

}  // namespace longreach::trainer
