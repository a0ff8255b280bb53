// The two splits of a text that a job reads, or random bytes in place of them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "worker/data/text_corpus.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

class TextSplits {
 public:
  // `data` null: random bytes. INVALID_ARGUMENT: the settings want windows with `more` bytes beyond a length that a split is too short
  // for. Errors of TextCorpus::Open().
  static absl::StatusOr<TextSplits> Open(const PackSettings& settings, const DataSource* data, int more);

  std::span<const uint8_t> train() const { return corpus_ ? corpus_->train() : std::span<const uint8_t>(stand_in_); }
  std::span<const uint8_t> test() const { return corpus_ ? corpus_->test() : std::span<const uint8_t>(stand_in_); }

 private:
  std::optional<data::TextCorpus> corpus_;
  std::vector<uint8_t> stand_in_;
};

}  // namespace longreach::trainer
