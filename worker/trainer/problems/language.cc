// Text, byte by byte: each predicted from those before it, the first from a begin token.
//
// Trained on windows that begin anywhere in the training split; tested on windows of the test split that do not overlap and
// are the same for all jobs.
#include <algorithm>
#include <limits>
#include <numbers>

#include "proto/base/text.h"
#include "worker/trainer/engine/batch.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/problems/text_splits.h"
#include "worker/trainer/random/random_stream.h"
#include "worker/trainer/random/sampling.h"

namespace longreach::trainer {

namespace {

constexpr uint16_t kBegin = 256;
// Bytes of a test part: each has positions of its own, as each batch of training has.
constexpr int64_t kTestBytesAtATime = 1 << 16;

class Language final : public Problem {
 public:
  Language(const PackSettings& settings, TextSplits splits)
      : settings_(settings), splits_(std::move(splits)), train_(splits_.train()), test_(splits_.test()) {}

  Batch TrainingBatch(PositionUse use, uint64_t step) const override {
    const PackSettings::Training& training = settings_.training;
    const int64_t length = TrainingLength(training, step);
    const RandomStream begins{.key = training.data_seed, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = step};
    const uint32_t places = static_cast<uint32_t>(static_cast<int64_t>(train_.size()) - length + 1);
    Batch batch;
    for (int b = 0; b < training.batch_size; ++b) {
      AddWindow(train_.subspan(begins.Below(static_cast<uint64_t>(b), places), static_cast<size_t>(length)), batch);
    }
    return Finish(std::move(batch), use, length, {.key = training.data_seed, .step = step, .test = false});
  }

  int TestParts(int length) const override {
    return static_cast<int>((Windows(length) + WindowsAtATime(length) - 1) / WindowsAtATime(length));
  }

  Batch TestBatch(PositionUse use, int length, int part) const override {
    const int64_t there = static_cast<int64_t>(test_.size()) / length, windows = Windows(length);
    const int64_t first = part * WindowsAtATime(length), end = std::min(windows, first + WindowsAtATime(length));
    Batch batch;
    for (int64_t w = first; w < end; ++w) {
      // Where fewer are wanted than there are, they lie evenly over the split.
      const int64_t window = w * there / windows;
      AddWindow(test_.subspan(static_cast<size_t>(window * length), static_cast<size_t>(length)), batch);
    }
    return Finish(std::move(batch), use, length, TestSource(settings_, length, part));
  }

  std::vector<Score> Scores(int length, const Tested& tested) const override {
    return {{"accuracy", tested.accuracy}, {"bits_per_byte", tested.loss / std::numbers::ln2}, {"cross_entropy", tested.loss * length}};
  }

 private:
  int64_t Windows(int length) const {
    const int64_t there = static_cast<int64_t>(test_.size()) / length;
    const int64_t wanted = settings_.evaluation.examples;
    return wanted == 0 ? there : std::min(there, wanted);
  }
  static int64_t WindowsAtATime(int length) { return std::max<int64_t>(1, kTestBytesAtATime / length); }

  static void AddWindow(std::span<const uint8_t> bytes, Batch& batch) {
    batch.tokens.push_back(kBegin);
    batch.tokens.insert(batch.tokens.end(), bytes.begin(), bytes.end() - 1);
    batch.targets.insert(batch.targets.end(), bytes.begin(), bytes.end());
    ++batch.size;
  }

  Batch Finish(Batch batch, PositionUse use, int64_t length, const PassSource& source) const {
    batch.tape = length;
    batch.outputs = length;
    batch.valid.assign(static_cast<size_t>(batch.size), static_cast<int32_t>(length));
    batch.positions = DrawPositions(settings_, use, length, batch.size, source);
    batch.source = source;
    return batch;
  }

  PackSettings settings_;
  TextSplits splits_;
  std::span<const uint8_t> train_, test_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Problem>> MakeLanguage(const PackSettings& settings, const DataSource* data) {
  ASSIGN_OR_RETURN(TextSplits splits, TextSplits::Open(settings, data, 0));
  // Where a window to train on begins is drawn from one word.
  if (!settings.training.lengths.empty() && splits.train().size() > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        Text("data: '", settings.data, "' has ", splits.train().size(), " bytes to train on; at most 4 GiB, so import less of it"));
  }
  return std::make_unique<Language>(settings, std::move(splits));
}

}  // namespace longreach::trainer
