// What a LLaMA decoder reads: ids to train on, and documents of them to test on. The bytes of a text are one document.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "worker/data/token_corpus.h"
#include "worker/trainer/problems/text_splits.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

class LlamaTexts {
 public:
  // `data` null: random bytes. INVALID_ARGUMENT: tokens of another vocabulary than the model's; lengths that no text is long enough for,
  // or no text at all. Errors of TextCorpus::Open() and TokenCorpus::Open().
  static absl::StatusOr<LlamaTexts> Open(const PackSettings& settings, const DataSource* data);

  int64_t training_size() const;
  int64_t test_documents() const { return corpus_ ? corpus_->test_documents() : 1; }
  int64_t test_size(int64_t document) const;

  // Ids [begin, begin + count) of what is trained on, or of a document.
  void AppendTraining(int64_t begin, int64_t count, std::vector<uint16_t>& to) const;
  void AppendTest(int64_t document, int64_t begin, int64_t count, std::vector<uint16_t>& to) const;

 private:
  std::optional<TextSplits> splits_;  // One of the two.
  std::optional<data::TokenCorpus> corpus_;
};

}  // namespace longreach::trainer
