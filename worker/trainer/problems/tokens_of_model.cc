#include "worker/trainer/problems/tokens_of_model.h"

#include "proto/base/text.h"

namespace longreach::trainer {

absl::Status CheckTokensOfModel(const PackSettings& settings, int64_t vocabulary, const std::string& tokenizer, std::string_view setting, const std::string& name) {
  const PackSettings::Model& model = settings.model;
  if (vocabulary != model.vocabulary) {
    return absl::InvalidArgumentError(Text(setting, ": the tokens of '", name, "' are of a vocabulary of ", vocabulary, ", and the model of '", model.folder,
                                           "' has ", model.vocabulary, ": they are another tokenizer's"));
  }
  if (!tokenizer.empty() && !model.tokenizer_sha256.empty() && tokenizer != model.tokenizer_sha256) {
    return absl::InvalidArgumentError(Text(setting, ": the tokens of '", name, "' were made with the tokenizer.model ", tokenizer.substr(0, 8),
                                           " (SHA-256), and the model of '", model.folder, "' has ", model.tokenizer_sha256.substr(0, 8),
                                           ": the same ids are other words; import the texts anew with --tokenizer ", model.folder));
  }
  return absl::OkStatus();
}

}  // namespace longreach::trainer
