// The data sets that training blocks are drawn from by weight, where those are others than the one that is tested on.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "worker/data/text_corpus.h"
#include "worker/data/token_corpus.h"
#include "worker/trainer/train.h"

namespace longreach::trainer {

// What makes no sense whatever the data sets hold.
absl::Status ValidateMixture(const PackSettings::Training& training);

class Mixture {
 public:
  // Those of settings.training.mixture, which has been validated. INVALID_ARGUMENT: tokens of another vocabulary than the model's, or
  // fewer ids to train on than a block has. Errors of TextCorpus::Open() and TokenCorpus::Open().
  static absl::StatusOr<Mixture> Open(const PackSettings& settings, const DataSource& data);

  // Where block `block` of update `step` is from: an index into training.mixture. Pure, and the same on every machine.
  size_t SourceOf(uint64_t step, uint64_t block) const;
  // Ids to train on.
  int64_t size(size_t source) const;
  void Append(size_t source, int64_t begin, int64_t count, std::vector<uint16_t>& to) const;

 private:
  uint64_t key_ = 0;
  std::vector<uint64_t> shares_through_;  // Of each source and those before it, in 2^-32.
  std::vector<std::variant<data::TextCorpus, data::TokenCorpus>> sources_;
};

// Ids [begin, begin + count), whatever their width.
template <typename Ids>
void AppendIds(const Ids& ids, int64_t begin, int64_t count, std::vector<uint16_t>& to) {
  const auto some = ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
  to.insert(to.end(), some.begin(), some.end());
}

}  // namespace longreach::trainer
