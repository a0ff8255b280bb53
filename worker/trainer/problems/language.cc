// Text, byte by byte: each predicted from those before it, the first from a begin token.
//
// Trained on windows that begin anywhere in the training split; tested on windows of the test split that do not overlap and
// are the same for all jobs.
#include <algorithm>
#include <numbers>
#include <optional>

#include "proto/base/text.h"
#include "worker/data/text_corpus.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/random/random_stream.h"
#include "worker/trainer/random/sampling.h"

namespace longreach::trainer {

namespace {

constexpr uint16_t kBegin = 256;
// Bytes of a test part: each has positions of its own, as each batch of training has.
constexpr int64_t kTestBytesAtATime = 1 << 16;
constexpr int64_t kStandInBytes = 1 << 22;

class Language final : public Problem {
 public:
  Language(const PackSettings& settings, std::optional<data::TextCorpus> corpus)
      : settings_(settings), corpus_(std::move(corpus)) {
    if (corpus_) {
      train_ = corpus_->train();
      test_ = corpus_->test();
      return;
    }
    std::vector<uint32_t> words(kStandInBytes);
    FillWords({.key = 0, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = 0}, 0, words);
    for (const uint32_t word : words) stand_in_.push_back(static_cast<uint8_t>(word));
    train_ = test_ = stand_in_;
  }

  absl::Status Check() const {
    for (const auto& [field, split, bytes, lengths] :
         {std::tuple("training.lengths", "training", train_.size(), &settings_.training.lengths),
          std::tuple("evaluation.lengths", "test", test_.size(), &settings_.evaluation.lengths)}) {
      for (const int length : *lengths) {
        if (static_cast<size_t>(length) <= bytes) continue;
        return absl::InvalidArgumentError(Text(field, ": ", length, " bytes are more than the ", bytes, " of the ", split,
                                               " split of '", settings_.data, "'"));
      }
    }
    // Where a window begins is drawn from one word.
    if (train_.size() > std::numeric_limits<uint32_t>::max()) {
      return absl::InvalidArgumentError(Text("data: '", settings_.data, "' has ", train_.size(), " bytes to train on; at most 4 GiB"));
    }
    return absl::OkStatus();
  }

  Batch TrainingBatch(PositionUse use, uint64_t step) const override {
    const PackSettings::Training& training = settings_.training;
    const RandomStream lengths{.key = training.data_seed, .purpose = Purpose::kTrainingLength, .layer = 0, .step = step};
    const int64_t length = training.lengths[lengths.Below(0, static_cast<uint32_t>(training.lengths.size()))];
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
    return Finish(std::move(batch), use, length,
                  {.key = EvaluationKey(settings_.evaluation.seed),
                   .step = static_cast<uint64_t>(part) << 32 | static_cast<uint64_t>(length),
                   .test = true});
  }

  std::vector<Score> Scores(int length, double accuracy, double loss) const override {
    return {{"accuracy", accuracy}, {"bits_per_byte", loss / std::numbers::ln2}, {"cross_entropy", loss * length}};
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
  std::optional<data::TextCorpus> corpus_;
  std::vector<uint8_t> stand_in_;
  std::span<const uint8_t> train_, test_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Problem>> MakeLanguage(const PackSettings& settings, const DataSource* data) {
  std::optional<data::TextCorpus> corpus;
  if (data != nullptr) {
    ASSIGN_OR_RETURN(corpus, data::TextCorpus::Open(data->folder, settings.data, data->sha256));
  }
  auto problem = std::make_unique<Language>(settings, std::move(corpus));
  RETURN_IF_ERROR(problem->Check());
  return problem;
}

}  // namespace longreach::trainer
