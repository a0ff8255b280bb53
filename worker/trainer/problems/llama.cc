// Bytes of a text as the LLaMA decoder reads them: blocks of one byte more than a length, each byte but the first predicted from
// those before it. No begin token: blocks begin anywhere, as in the pretraining of the NoPE paper's models.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "worker/trainer/problems/problem.h"
#include "worker/trainer/problems/text_splits.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

namespace {

// Bytes of a test part: the sign of life comes between parts.
constexpr int64_t kTestBytesAtATime = 1 << 16;

class Llama final : public Problem {
 public:
  Llama(const PackSettings& settings, TextSplits splits)
      : settings_(settings), splits_(std::move(splits)), train_(splits_.train()), test_(splits_.test()) {}

  Batch TrainingBatch(PositionUse, uint64_t step) const override {
    const PackSettings::Training& training = settings_.training;
    const RandomStream lengths{.key = training.data_seed, .purpose = Purpose::kTrainingLength, .layer = 0, .step = step};
    const int64_t length = training.lengths[lengths.Below(0, static_cast<uint32_t>(training.lengths.size()))];
    const RandomStream begins{.key = training.data_seed, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = step};
    const uint32_t places = static_cast<uint32_t>(static_cast<int64_t>(train_.size()) - length);
    Batch batch;
    batch.tape = batch.outputs = length;
    for (int b = 0; b < training.batch_size; ++b) AddBlock(train_, begins.Below(static_cast<uint64_t>(b), places), batch);
    return batch;
  }

  int TestParts(int length) const override {
    return static_cast<int>((Windows(length) + WindowsAtATime(length) - 1) / WindowsAtATime(length));
  }

  Batch TestBatch(PositionUse, int length, int part) const override {
    const int64_t stride = settings_.evaluation.stride, there = There(length), windows = Windows(length);
    const int64_t first = part * WindowsAtATime(length), end = std::min(windows, first + WindowsAtATime(length));
    // A window of as many bytes as the length says, of which the last are scored: the first has no prediction.
    Batch batch;
    batch.tape = stride > 0 ? length - 1 : length;
    batch.outputs = stride > 0 ? stride : length;
    for (int64_t w = first; w < end; ++w) {
      // Where fewer are wanted than there are, they lie evenly over the split.
      const int64_t window = w * there / windows;
      // Windows of all lengths end at the same bytes: they score the same ones.
      AddBlock(test_, stride > 0 ? Longest() + window * stride - length : window * length, batch);
    }
    return batch;
  }

  std::vector<Score> Scores(int, double accuracy, double loss) const override {
    return {{"accuracy", accuracy}, {"bits_per_byte", loss / std::numbers::ln2}, {"loss", loss}, {"perplexity", std::exp(loss)}};
  }

 private:
  int64_t Longest() const { return settings_.evaluation.lengths.back(); }
  int64_t There(int length) const {
    const int64_t bytes = static_cast<int64_t>(test_.size()), stride = settings_.evaluation.stride;
    // The authors' windows end before the document does. Source: run_ppl.py of AntNLP/nope_head_scale.
    return stride > 0 ? (bytes - Longest() + stride - 1) / stride : (bytes - 1) / length;
  }
  int64_t Windows(int length) const {
    const int64_t wanted = settings_.evaluation.examples;
    return wanted == 0 ? There(length) : std::min(There(length), wanted);
  }
  static int64_t WindowsAtATime(int length) { return std::max<int64_t>(1, kTestBytesAtATime / length); }

  static void AddBlock(std::span<const uint8_t> bytes, int64_t begin, Batch& batch) {
    const std::span<const uint8_t> block = bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(batch.tape) + 1);
    batch.tokens.insert(batch.tokens.end(), block.begin(), block.end() - 1);
    batch.targets.insert(batch.targets.end(), block.end() - batch.outputs, block.end());
    batch.valid.push_back(static_cast<int32_t>(batch.outputs));
    ++batch.size;
  }

  PackSettings settings_;
  TextSplits splits_;
  std::span<const uint8_t> train_, test_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Problem>> MakeLlama(const PackSettings& settings, const DataSource* data) {
  ASSIGN_OR_RETURN(TextSplits splits, TextSplits::Open(settings, data, 1));
  return std::make_unique<Llama>(settings, std::move(splits));
}

}  // namespace longreach::trainer
