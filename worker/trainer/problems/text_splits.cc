#include "worker/trainer/problems/text_splits.h"

#include <tuple>

#include "proto/base/text.h"
#include "worker/trainer/problems/named_by.h"
#include "worker/trainer/random/sampling.h"

namespace longreach::trainer {

namespace {

constexpr int64_t kStandInBytes = 1 << 22;

}  // namespace

absl::StatusOr<TextSplits> TextSplits::Open(const PackSettings& settings, const DataSource* data, int more) {
  TextSplits splits;
  if (data != nullptr) {
    ASSIGN_OR_RETURN(splits.corpus_, NamedBy("data", data::TextCorpus::Open(data->folder, settings.data, data->sha256)));
  } else {
    std::vector<uint32_t> words(kStandInBytes);
    FillWords({.key = 0, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = 0}, 0, words);
    for (const uint32_t word : words) splits.stand_in_.push_back(static_cast<uint8_t>(word));
  }
  for (const auto& [field, split, bytes, lengths] :
       {std::tuple("training.lengths", "training", splits.train().size(), &settings.training.lengths),
        std::tuple("evaluation.lengths", "test", splits.test().size(), &settings.evaluation.lengths)}) {
    for (const int length : *lengths) {
      if (static_cast<size_t>(length) + static_cast<size_t>(more) <= bytes) continue;
      return absl::InvalidArgumentError(Text(field, ": ", length + more, " bytes are more than the ", bytes, " of the ", split, " split of '",
                                             settings.data, "'"));
    }
  }
  return splits;
}

}  // namespace longreach::trainer
