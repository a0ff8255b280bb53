// Perplexity in YaRN's protocol as an evaluation: which windows there are, what they score, and what their losses make.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/worker/trainer/published_fixture.h"
#include "worker/data/import_text.h"
#include "worker/data/text_corpus.h"
#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/windows.h"
#include "worker/trainer/problems/problem.h"

namespace longreach::trainer {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PerplexityJobTest : public PublishedModelTest {
 protected:
  PackRequest YarnRequest(const std::string& model, const std::string& folder) {
    PackRequest request = RequestOf(model, folder);
    request.settings.evaluation.perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kYarn;
    return request;
  }

  // By the decoder itself, window by window: the mean over `wanted` windows that lie evenly (0: all), in nats.
  double Expected(const LlamaConfig& config, const LlamaModel& model, int length, int64_t wanted) {
    const LlamaDecoder decoder(config);
    const ParameterSet parameters = ViewParameters(decoder.layout(), model.parameters);
    std::vector<std::vector<int64_t>> documents;
    std::vector<int64_t> lengths;
    Letters letters;
    for (size_t i = 1; i < texts_.size(); ++i) {
      documents.push_back(*letters.Encode(texts_[i]));
      lengths.push_back(static_cast<int64_t>(documents.back().size()));
    }
    const std::vector<Window> windows = YarnWindows(lengths, {.length = length, .stride = 5, .bos = true});
    const int64_t there = static_cast<int64_t>(windows.size()), count = wanted == 0 ? there : wanted;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Window& window = windows[static_cast<size_t>(i * there / count)];
      sum += *WindowLoss({.decoder = &decoder, .parameters = &parameters, .head_factors = model.head_factors},
                         documents[static_cast<size_t>(window.document)], window, *letters.bos());
    }
    return sum / static_cast<double>(count);
  }

  LlamaModel Loaded(const std::string& name) { return *LoadLlama(Folder("published") / name, {.type = at::kFloat, .nope = name == "nope"}); }
};

TEST_F(PerplexityJobTest, ItsLossIsTheMeanOverWindowsShortOnesToo) {
  for (const std::string name : {"plain", "scaled", "nope"}) {
    const LlamaModel model = Loaded(name);
    const PackResult result = Run(YarnRequest(name, name));
    for (const int length : {12, 24}) EXPECT_NEAR(LossOf(result, length), Expected(model.config, model, length, 0), 1e-5) << name << " " << length;
  }
  PackRequest some = YarnRequest("plain", "some");
  some.settings.evaluation.examples = 7;
  const LlamaModel model = Loaded("plain");
  EXPECT_NEAR(LossOf(Run(some), 24), Expected(model.config, model, 24, 7), 1e-5);
}

TEST_F(PerplexityJobTest, ItIsAnotherNumberThanTheAuthorsAndTheSameOnAnyThreads) {
  PackRequest request = YarnRequest("plain", "two");
  request.threads = 2;
  const PackResult two = Run(request);
  request.threads = 1;
  request.folder = Folder("one");
  ExpectSameMeasurements(Run(request).results.at(0), two.results.at(0));
  EXPECT_GT(std::abs(LossOf(two, 24) - LossOf(Run(RequestOf("plain", "authors")), 24)), 1e-4);
}

TEST_F(PerplexityJobTest, DynamicNtkTakesTheWholeWindowForTheLength) {
  PackRequest request = YarnRequest("plain", "dynamic");
  request.settings.positions = {.rope_scaling = "dynamic", .rope_factor = 2, .original_length = 8};
  const LlamaModel model = Loaded("plain");
  LlamaConfig config = model.config;
  config.rope_scaling = {.kind = RopeScaling::Kind::kDynamic, .factor = 2};
  config.max_positions = 8;
  EXPECT_NEAR(LossOf(Run(request), 24), Expected(config, model, 24, 0), 1e-5);
}

TEST_F(PerplexityJobTest, EveryByteButTheFirstIsPredictedOnce) {
  std::string text;
  for (int i = 0; i < 2003; ++i) text += static_cast<char>('a' + i * i % 23);
  std::ofstream(Folder("source") / "text") << text;
  data::NoProgress quiet;
  const auto made = data::ImportText({.folder = Folder("data"), .name = "bytes", .sources = {Folder("source") / "text"}, .split = {49, 1, 50}}, quiet);
  ASSERT_TRUE(made.ok()) << made.status();
  const absl::StatusOr<data::TextCorpus> corpus = data::TextCorpus::Open(Folder("data"), "bytes", "");
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  const std::string test(corpus->test().begin(), corpus->test().end());
  PackSettings settings;
  settings.experiment = "llama";
  settings.task = "bytes";
  settings.data = "bytes";
  settings.encoding = "none";
  settings.model = {.layers = 1, .embedding_dim = 8, .heads = 2, .mlp_dim = 8, .dropout = 0, .kv_heads = 1};
  settings.training.steps = 0;
  settings.evaluation = {.lengths = {12, 24}, .examples = 0, .stride = 7, .perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kYarn};
  const absl::StatusOr<std::unique_ptr<Problem>> problem = MakeProblem(settings, {.folder = Folder("data"), .sha256 = ""});
  ASSERT_TRUE(problem.ok()) << problem.status();

  for (const int length : {12, 24}) {
    std::string predicted;
    for (int part = 0; part < (*problem)->TestParts(length); ++part) {
      const Batch batch = (*problem)->TestBatch(PositionUse::kNothing, length, part);
      EXPECT_LT(batch.tape, length);
      for (int64_t w = 0; w < batch.size; ++w) {
        for (int64_t t = 0; t < batch.outputs; ++t) {
          predicted += static_cast<char>(batch.targets[static_cast<size_t>(w * batch.outputs + t)]);
          if (t == 0) continue;
          // Each from the one before it.
          EXPECT_EQ(batch.tokens[static_cast<size_t>(w * batch.tape + batch.tape - batch.outputs + t)],
                    batch.targets[static_cast<size_t>(w * batch.outputs + t - 1)]);
        }
      }
    }
    EXPECT_EQ(predicted, test.substr(1)) << length;
  }
}

TEST_F(PerplexityJobTest, DocumentsShorterThanAWindowAreScoredWhole) {
  // All are shorter than 512 tokens.
  PackRequest request = YarnRequest("plain", "short");
  request.settings.evaluation.lengths = {24, 512};
  const LlamaModel model = Loaded("plain");
  const PackResult result = Run(request);
  for (const int length : {24, 512}) EXPECT_NEAR(LossOf(result, length), Expected(model.config, model, length, 0), 1e-5) << length;

  // The authors' protocol has no window there, nor is there one for what is measured against position.
  PackRequest others = RequestOf("plain", "authors");
  others.settings.evaluation.lengths = {24, 512};
  EXPECT_THAT(Refusal(others), HasSubstr("a window of 512 tokens needs a document of one more"));
  request.settings.evaluation.position_bins = 8;
  EXPECT_THAT(Refusal(request), HasSubstr("a window of 512 tokens needs a document of one more"));
}

TEST_F(PerplexityJobTest, TheLogSaysWhatAPerplexityRestsOn) {
  class Lines final : public RecordingObserver {
   public:
    void OnLine(const std::string& line) override {
      if (line.starts_with("perplexity at ")) lines.push_back(line);
    }
    std::vector<std::string> lines;
  };
  const auto told = [](const PackRequest& request) {
    Lines observer;
    const absl::StatusOr<PackResult> result = Train(request, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    return observer.lines;
  };
  // Documents of 91, 31 and 201 tokens, each with its BOS: windows end at 40, 45, ... and the second document has none.
  PackRequest request = RequestOf("plain", "sliding");
  request.settings.evaluation.lengths = {12, 40};
  EXPECT_THAT(told(request), ElementsAre("perplexity at 12: 44 windows, 220 tokens scored, of 2 documents; 1 document is too short and was left out",
                                         "perplexity at 40: 44 windows, 220 tokens scored, of 2 documents; 1 document is too short and was left out"));
  request.settings.evaluation.examples = 1;
  request.folder = Folder("one");
  EXPECT_THAT(told(request), Contains("perplexity at 40: 1 window, 5 tokens scored, of 1 document; 1 document is too short and was left out"));
  // Side by side, each length has windows of its own.
  request.settings.evaluation = {.lengths = {12, 40}, .examples = 0, .stride = 0};
  request.folder = Folder("beside");
  EXPECT_THAT(told(request), ElementsAre("perplexity at 12: 25 windows, 300 tokens scored, of 3 documents",
                                         "perplexity at 40: 7 windows, 280 tokens scored, of 2 documents; 1 document is too short and was left out"));
  // Every token once: 90, 30 and 200, as the BOS is nobody's prediction.
  PackRequest yarn = YarnRequest("plain", "yarn");
  yarn.settings.evaluation.lengths = {24};
  const std::vector<std::string> lines = told(yarn);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr(" windows, 320 tokens scored, of 3 documents"));
}

TEST_F(PerplexityJobTest, DocumentsWithNothingToPredictAreRefused) {
  std::ofstream(Folder("source") / "text") << std::string(10, 'a');
  data::NoProgress quiet;
  ASSERT_TRUE(data::ImportText({.folder = Folder("data"), .name = "bytes", .sources = {Folder("source") / "text"}, .split = {80, 10, 10}}, quiet).ok());
  PackSettings settings;
  settings.experiment = "llama";
  settings.task = "bytes";
  settings.data = "bytes";
  settings.encoding = "none";
  settings.model = {.layers = 1, .embedding_dim = 8, .heads = 2, .mlp_dim = 8, .dropout = 0, .kv_heads = 1};
  settings.training.steps = 0;
  settings.training.lengths = {};
  settings.evaluation = {.lengths = {12}, .examples = 0, .stride = 7, .perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kYarn};
  const absl::Status refused = MakeProblem(settings, {.folder = Folder("data"), .sha256 = ""}).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no test document of 'bytes' has anything to predict in a window of 12"));
}

TEST_F(PerplexityJobTest, WindowsThatDoNotSlideAreRefused) {
  PackRequest request = YarnRequest("plain", "refused");
  request.settings.evaluation.stride = 0;
  EXPECT_THAT(Refusal(request), HasSubstr("evaluation.perplexity_protocol: is one of sliding windows"));
}

}  // namespace

}  // namespace longreach::trainer
