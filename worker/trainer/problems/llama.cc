// Ids of texts as the LLaMA decoder reads them: blocks of one more than a length, each id but the first predicted from those before it.
// Blocks to train on begin anywhere, without a begin token, as in the pretraining of the NoPE paper's models; documents to test on
// begin with what their import gave them.
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <string_view>

#include "proto/base/text.h"
#include "worker/trainer/engine/batch.h"
#include "worker/trainer/llama/windows.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/problems/llama_texts.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/problems/yarn_tests.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

namespace {

// Ids of a test part: the sign of life comes between parts.
constexpr int64_t kTestIdsAtATime = 1 << 16;

std::string Count(int64_t count, std::string_view of) { return Text(count, " ", of, count == 1 ? "" : "s"); }

class Llama final : public Problem {
 public:
  Llama(const PackSettings& settings, LlamaTexts texts) : settings_(settings), texts_(std::move(texts)) {
    if (settings_.evaluation.stride > 0 && settings_.evaluation.perplexity_protocol == PerplexityProtocol::kYarn) {
      yarn_.emplace(settings_, texts_, kTestIdsAtATime);
      return;
    }
    for (const int length : settings_.evaluation.lengths) {
      std::vector<int64_t>& through = windows_through_[length];
      int64_t all = 0;
      for (int64_t i = 0; i < texts_.test_documents(); ++i) through.push_back(all += WindowsOf(texts_.test_size(i), length));
    }
  }

  Batch TrainingBatch(PositionUse, uint64_t step) const override {
    const PackSettings::Training& training = settings_.training;
    const int64_t length = TrainingLength(training, step);
    const RandomStream begins{.key = training.data_seed, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = step};
    Batch batch;
    batch.tape = batch.outputs = length;
    for (int b = 0; b < training.batch_size; ++b) {
      const uint64_t block = static_cast<uint64_t>(b);
      const size_t source = texts_.SourceOf(step, block);
      const int64_t begin = static_cast<int64_t>(begins.BelowAny(block, static_cast<uint64_t>(texts_.training_size(source) - length)));
      texts_.AppendTraining(source, begin, length, batch.tokens);
      texts_.AppendTraining(source, begin + 1, length, batch.targets);
      AddSequence(batch);
    }
    return batch;
  }

  int TestParts(int length) const override {
    if (yarn_) return yarn_->Parts(length);
    return static_cast<int>((Windows(length) + WindowsAtATime(length) - 1) / WindowsAtATime(length));
  }

  Batch TestBatch(PositionUse, int length, int part) const override {
    Batch batch = yarn_ ? yarn_->Part(length, part) : OwnPart(length, part);
    // The papers' scripts read a window whole and drop what its last token predicts.
    if (settings_.evaluation.stride > 0 && settings_.task == "tokens") batch.window = batch.tape + 1;
    return batch;
  }

  std::string BasisOf(int length) const override {
    int64_t windows = 0, scored = 0, too_short = 0;
    std::set<int64_t> documents;
    if (yarn_) {
      for (const Window& window : yarn_->Windows(length)) {
        ++windows;
        scored += yarn_->OutputsOf(window);
        documents.insert(window.document);
      }
    } else {
      windows = Windows(length);
      scored = windows * OutputsOf(length);
      for (int64_t w = 0; w < windows; ++w) documents.insert(DocumentOf(length, Chosen(length, w)));
      for (int64_t i = 0; i < texts_.test_documents(); ++i) too_short += WindowsOf(texts_.test_size(i), length) == 0 ? 1 : 0;
    }
    const std::string said = Text("perplexity at ", length, ": ", Count(windows, "window"), ", ", Count(scored, settings_.task == "tokens" ? "token" : "byte"),
                                  " scored, of ", Count(static_cast<int64_t>(documents.size()), "document"));
    if (too_short == 0) return said;
    return Text(said, "; ", Count(too_short, "document"), too_short == 1 ? " is too short and was left out" : " are too short and were left out");
  }

  std::vector<Score> Scores(int, const Tested& tested) const override {
    const auto& [accuracy, loss, exact_match] = tested;
    if (settings_.task == "tokens") return {{"accuracy", accuracy}, {"loss", loss}, {"perplexity", std::exp(loss)}};
    return {{"accuracy", accuracy}, {"bits_per_byte", loss / std::numbers::ln2}, {"loss", loss}, {"perplexity", std::exp(loss)}};
  }

 private:
  using PerplexityProtocol = PackSettings::Evaluation::PerplexityProtocol;

  // Of windows side by side, or of the authors' sliding ones.
  Batch OwnPart(int length, int part) const {
    const int64_t stride = settings_.evaluation.stride, windows = Windows(length);
    const int64_t first = part * WindowsAtATime(length), end = std::min(windows, first + WindowsAtATime(length));
    // A window of as many ids as the length says, of which the last are scored: the first has no prediction.
    Batch batch;
    batch.tape = stride > 0 ? length - 1 : length;
    batch.outputs = OutputsOf(length);
    const std::vector<int64_t>& through = windows_through_.at(length);
    const WindowRule sliding{.length = length, .stride = stride};
    const int64_t first_end = FirstEnd(length);
    for (int64_t w = first; w < end; ++w) {
      const int64_t window = Chosen(length, w);
      const int64_t document = DocumentOf(length, window);
      const int64_t of_document = window - (document == 0 ? 0 : through[static_cast<size_t>(document - 1)]);
      const int64_t begin = stride > 0 ? NopeWindow(document, of_document, sliding, first_end).begin : of_document * length;
      texts_.AppendTest(document, begin, batch.tape, batch.tokens);
      texts_.AppendTest(document, begin + 1 + batch.tape - batch.outputs, batch.outputs, batch.targets);
      AddSequence(batch);
    }
    return batch;
  }

  bool InOrder() const { return settings_.evaluation.perplexity_protocol == PerplexityProtocol::kNopeInOrder; }
  // Of sliding windows: where the first one ends. Unless the authors' order is asked for, those of all lengths end at the same ids, and score
  // the same ones.
  int64_t FirstEnd(int length) const { return InOrder() ? length : settings_.evaluation.lengths.back(); }
  int64_t WindowsOf(int64_t size, int length) const {
    const int64_t stride = settings_.evaluation.stride;
    if (stride > 0) return NopeWindowsIn(size, stride, FirstEnd(length));
    return std::max<int64_t>(0, (size - 1) / length);
  }
  int64_t OutputsOf(int length) const { return settings_.evaluation.stride > 0 ? settings_.evaluation.stride : length; }
  // The w-th of those that are wanted, among all that there are: where these are more, they lie evenly over all documents, or are the first.
  int64_t Chosen(int length, int64_t w) const { return InOrder() ? w : w * There(length) / Windows(length); }
  int64_t DocumentOf(int length, int64_t window) const {
    const std::vector<int64_t>& through = windows_through_.at(length);
    return std::ranges::upper_bound(through, window) - through.begin();
  }
  int64_t There(int length) const { return windows_through_.at(length).back(); }
  int64_t Windows(int length) const {
    const int64_t wanted = settings_.evaluation.examples;
    return wanted == 0 ? There(length) : std::min(There(length), wanted);
  }
  static int64_t WindowsAtATime(int length) { return std::max<int64_t>(1, kTestIdsAtATime / length); }

  static void AddSequence(Batch& batch) {
    batch.valid.push_back(static_cast<int32_t>(batch.outputs));
    ++batch.size;
  }

  PackSettings settings_;
  LlamaTexts texts_;
  std::optional<YarnTests> yarn_;
  std::map<int, std::vector<int64_t>> windows_through_;  // By length: of the documents up to each, itself included.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Problem>> MakeLlama(const PackSettings& settings, const DataSource* data) {
  ASSIGN_OR_RETURN(LlamaTexts texts, LlamaTexts::Open(settings, data));
  auto problem = std::make_unique<Llama>(settings, std::move(texts));
  for (const int length : settings.evaluation.lengths) {
    if (problem->TestParts(length) > 0) continue;
    return absl::InvalidArgumentError(Text("evaluation.lengths: no test document of '", settings.data, "' has anything to predict in a window of ", length,
                                           "; import one with longer texts to test on"));
  }
  return problem;
}

}  // namespace longreach::trainer
