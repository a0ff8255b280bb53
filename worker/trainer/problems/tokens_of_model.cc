#include "worker/trainer/problems/tokens_of_model.h"

#include "proto/base/text.h"

namespace longreach::trainer {

absl::Status CheckTokensOfModel(const PackSettings& settings, const data::TokenCorpus& corpus, std::string_view setting, const std::string& name) {
  const PackSettings::Model& model = settings.model;
  if (corpus.vocabulary() != model.vocabulary) {
    return absl::InvalidArgumentError(Text(setting, ": the tokens of '", name, "' are of a vocabulary of ", corpus.vocabulary(), ", and the model of '", model.folder,
                                           "' has ", model.vocabulary, ": they are another tokenizer's"));
  }
  if (!corpus.tokenizer().empty() && !model.tokenizer_sha256.empty() && corpus.tokenizer() != model.tokenizer_sha256) {
    return absl::InvalidArgumentError(Text(setting, ": the tokens of '", name, "' were made with the tokenizer.model ", corpus.tokenizer().substr(0, 8),
                                           " (SHA-256), and the model of '", model.folder, "' has ", model.tokenizer_sha256.substr(0, 8),
                                           ": the same ids are other words; import the texts anew with --tokenizer ", model.folder));
  }
  return absl::OkStatus();
}

}  // namespace longreach::trainer
