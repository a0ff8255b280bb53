// What a LLaMA decoder reads: ids to train on, of one data set or a mixture, and documents of them to test on. The bytes of a text are one
// document.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "worker/data/token_corpus.h"
#include "worker/trainer/problems/mixture.h"
#include "worker/trainer/problems/text_splits.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

class LlamaTexts {
 public:
  // `data` null: random bytes, from no mixture. INVALID_ARGUMENT: tokens of another vocabulary than the model's; lengths that no text is long enough for,
  // or no text at all. Errors of TextCorpus::Open(), TokenCorpus::Open() and Mixture::Open().
  static absl::StatusOr<LlamaTexts> Open(const PackSettings& settings, const DataSource* data);

  // Where block `block` of update `step` is from: 0 without a mixture.
  size_t SourceOf(uint64_t step, uint64_t block) const { return mixture_ ? mixture_->SourceOf(step, block) : 0; }
  int64_t training_size(size_t source) const;
  int64_t test_documents() const { return corpus_ ? corpus_->test_documents() : 1; }
  int64_t test_size(int64_t document) const;

  // Ids [begin, begin + count) of a source that is trained on, or of a document.
  void AppendTraining(size_t source, int64_t begin, int64_t count, std::vector<uint16_t>& to) const;
  void AppendTest(int64_t document, int64_t begin, int64_t count, std::vector<uint16_t>& to) const;

 private:
  std::optional<TextSplits> splits_;  // One of the two.
  std::optional<data::TokenCorpus> corpus_;
  std::optional<Mixture> mixture_;  // What is trained on in their place.
};

}  // namespace longreach::trainer
