#include "worker/trainer/problems/llama_texts.h"

#include <algorithm>

#include "proto/base/text.h"
#include "worker/trainer/problems/named_by.h"
#include "worker/trainer/problems/tokens_of_model.h"

namespace longreach::trainer {

namespace {

// YaRN's protocol scores short documents too; only what is measured against position needs whole windows.
bool WantsWholeWindows(const PackSettings::Evaluation& tests) {
  return tests.perplexity_protocol != PackSettings::Evaluation::PerplexityProtocol::kYarn || tests.stride == 0 || tests.position_bins > 0;
}

absl::Status CheckTokens(const PackSettings& settings, const data::TokenCorpus& corpus) {
  const std::string& name = settings.data;
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(Text(parts...)); };
  RETURN_IF_ERROR(CheckTokensOfModel(settings, corpus.vocabulary(), corpus.tokenizer(), "data", name));
  const int64_t training = static_cast<int64_t>(corpus.train().size());
  if (settings.training.steps > 0) {
    for (const int length : settings.training.lengths) {
      if (length < training) continue;
      return refuse("training.lengths: ", length + 1, " tokens are more than the ", training, " of '", name, "' that are for training");
    }
  }
  if (!WantsWholeWindows(settings.evaluation)) return absl::OkStatus();
  int64_t longest = 0;
  for (int64_t i = 0; i < corpus.test_documents(); ++i) longest = std::max(longest, static_cast<int64_t>(corpus.test(i).size()));
  for (const int length : settings.evaluation.lengths) {
    if (length < longest) continue;
    return refuse("evaluation.lengths: a window of ", length, " tokens needs a document of one more, and the longest test document of '", name, "' has ", longest);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LlamaTexts> LlamaTexts::Open(const PackSettings& settings, const DataSource* data) {
  LlamaTexts texts;
  PackSettings of_data = settings;
  if (data != nullptr && settings.training.steps > 0 && !settings.training.mixture.empty()) {
    ASSIGN_OR_RETURN(texts.mixture_, Mixture::Open(settings, *data));
    // Nothing is trained on it.
    of_data.training.steps = 0;
    of_data.training.lengths.clear();
  }
  if (settings.task != "tokens" || data == nullptr) {
    if (!WantsWholeWindows(settings.evaluation)) of_data.evaluation.lengths.clear();
    ASSIGN_OR_RETURN(texts.splits_, TextSplits::Open(of_data, data, 1));
    return texts;
  }
  ASSIGN_OR_RETURN(texts.corpus_, NamedBy("data", data::TokenCorpus::Open(data->folder, settings.data, data->sha256)));
  RETURN_IF_ERROR(CheckTokens(of_data, *texts.corpus_));
  return texts;
}

int64_t LlamaTexts::training_size(size_t source) const {
  if (mixture_) return mixture_->size(source);
  return static_cast<int64_t>(corpus_ ? corpus_->train().size() : splits_->train().size());
}

int64_t LlamaTexts::test_size(int64_t document) const {
  return static_cast<int64_t>(corpus_ ? corpus_->test(document).size() : splits_->test().size());
}

void LlamaTexts::AppendTraining(size_t source, int64_t begin, int64_t count, std::vector<uint16_t>& to) const {
  if (mixture_) return mixture_->Append(source, begin, count, to);
  if (corpus_) return AppendIds(corpus_->train(), begin, count, to);
  AppendIds(splits_->train(), begin, count, to);
}

void LlamaTexts::AppendTest(int64_t document, int64_t begin, int64_t count, std::vector<uint16_t>& to) const {
  if (corpus_) return AppendIds(corpus_->test(document), begin, count, to);
  AppendIds(splits_->test(), begin, count, to);
}

}  // namespace longreach::trainer
