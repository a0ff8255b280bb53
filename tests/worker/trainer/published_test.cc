// Jobs that begin with a published model: what they begin with, what they measure, and what is refused.
#include <gmock/gmock.h>

#include <functional>

#include "tests/worker/trainer/llama/tiny.h"
#include "tests/worker/trainer/pack_fixture.h"
#include "worker/data/import_model.h"
#include "worker/data/import_tokens.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/memory.h"
#include "worker/trainer/llama/published.h"
#include "worker/trainer/llama/windows.h"

namespace longreach::trainer {

namespace {

using testing::HasSubstr;

// A text is its bytes, as ids below 50.
class Letters final : public tokenizer::Tokenizer {
 public:
  absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) override {
    std::vector<int64_t> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c) % 47 + 3);
    return ids;
  }
  absl::StatusOr<std::string> Decode(std::span<const int64_t>) override { return absl::UnimplementedError("there is no way back"); }
  int64_t vocabulary() const override { return 50; }
  std::optional<int64_t> bos() const override { return 1; }
  std::optional<int64_t> eos() const override { return 2; }
};

class PublishedTest : public PackTest {
 protected:
  void SetUp() override {
    PackTest::SetUp();
    LlamaModel model = TinyModel();
    model.head_factors = at::arange(8, at::kFloat).view({2, 4}) * 0.1 + 1;
    Publish("scaled", model, false);
    model.head_factors = Tensor();
    model.parameters = model.parameters.to(at::kBFloat16);
    Publish("plain", model, false);
    Publish("nope", model, true);
    unsigned next = 1;
    for (const int size : {400, 90, 30, 200}) {
      std::string text;
      for (int i = 0; i < size; ++i) text += static_cast<char>('a' + ((next = next * 1103515245u + 12345u) >> 16) % 20);
      std::ofstream(Folder("texts") / std::to_string(texts_.size())) << text;
      texts_.push_back(text);
    }
    Letters letters;
    data::NoProgress quiet;
    const auto made = data::ImportTokens({.folder = Folder("data"), .name = "letters", .sources = {Folder("texts")}, .split = {50, 50}}, &letters, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_EQ(made->train.end, 1);
  }

  void Publish(const std::string& name, const LlamaModel& model, bool nope) {
    ASSERT_TRUE(WriteLlama(Folder("published") / name, model).ok());
    const absl::StatusOr<ModelFolder> checked = CheckModelFolder(Folder("published") / name);
    ASSERT_TRUE(checked.ok()) << checked.status();
    data::NoProgress quiet;
    const auto made = data::ImportModel({.folder = Folder("data"), .name = name, .source = Folder("published") / name, .files = checked->files,
                                         .description = checked->description, .nope = nope}, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  PackRequest RequestOf(const std::string& model, const std::string& folder) {
    PackSettings settings;
    settings.experiment = "llama";
    settings.task = "tokens";
    settings.data = "letters";
    settings.encoding = model == "nope" ? "none" : "rope";
    settings.model = {.layers = 0, .embedding_dim = 0, .heads = 0, .mlp_dim = 0, .dropout = 0, .kv_heads = 0, .rope_theta = 0, .folder = model};
    settings.training.steps = 0;
    settings.evaluation = {.lengths = {12, 24}, .examples = 0, .stride = 5};
    PackRequest request = Request(settings, 1, folder);
    request.data.folder = Folder("data");
    return request;
  }

  PackResult Run(const PackRequest& request) {
    RecordingObserver observer;
    absl::StatusOr<PackResult> result = Train(request, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : PackResult{};
  }
  std::string Refusal(const PackRequest& request) {
    RecordingObserver observer;
    const absl::StatusOr<PackResult> result = Train(request, observer);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
    return std::string(result.status().message());
  }

  static double LossOf(const PackResult& result, int length) {
    for (const Measurement& one : result.results.at(0).measurements) {
      if (one.metric == "loss" && one.length == length) return one.value;
    }
    ADD_FAILURE() << "no loss at " << length;
    return 0;
  }

  // What the decoder itself says of windows of 24 ids over the test documents, each with BOS in front.
  double Expected(const std::string& name, bool nope = false) {
    const LlamaModel model = *LoadLlama(Folder("published") / name, {.type = at::kFloat, .nope = nope});
    const LlamaDecoder decoder(model.config);
    const ParameterSet parameters = ViewParameters(decoder.layout(), model.parameters);
    std::vector<std::vector<int64_t>> documents;
    std::vector<int64_t> lengths;
    Letters letters;
    for (size_t i = 1; i < texts_.size(); ++i) {
      documents.push_back(*letters.EncodeWithBos(texts_[i]));
      lengths.push_back(static_cast<int64_t>(documents.back().size()));
    }
    const std::vector<Window> windows = NopeWindows(lengths, {.length = 24, .stride = 5});
    double sum = 0;
    for (const Window& window : windows) {
      sum += *WindowLoss({.decoder = &decoder, .parameters = &parameters, .head_factors = model.head_factors},
                         documents[static_cast<size_t>(window.document)], window, -1);
    }
    return sum / static_cast<double>(windows.size());
  }

  std::vector<std::string> texts_;
};

TEST_F(PublishedTest, ItsLossIsThatOfTheDecoderWithItsWeights) {
  const PackResult plain = Run(RequestOf("plain", "plain"));
  EXPECT_NEAR(LossOf(plain, 24), Expected("plain"), 1e-5);
  EXPECT_NEAR(LossOf(Run(RequestOf("nope", "nope")), 24), Expected("plain", true), 1e-5);
  // With its own head scales, or with one that a sweep sets in place of them.
  EXPECT_NEAR(LossOf(Run(RequestOf("scaled", "scaled")), 24), Expected("scaled"), 1e-5);
  EXPECT_NE(LossOf(Run(RequestOf("scaled", "again")), 24), LossOf(plain, 24));
}

TEST_F(PublishedTest, WeightsOfAnotherJobComeBeforeTheFolders) {
  PackRequest training = RequestOf("plain", "training");
  training.settings.training = {.steps = 8, .batch_size = 4, .lengths = {24}, .warmup_steps = 1};
  training.members[0].learning_rate = 0.02;
  const PackResult trained = Run(training);
  EXPECT_LT(LossOf(trained, 24), LossOf(Run(RequestOf("plain", "plain")), 24));
  PackRequest evaluation = RequestOf("plain", "evaluation");
  evaluation.members[0].weights = MemberFile{trained.weights, 0};
  EXPECT_EQ(LossOf(Run(evaluation), 24), LossOf(trained, 24));
}

TEST_F(PublishedTest, HeadScalesAreTunedWithTheWeightsAsTheyAre) {
  PackRequest request = RequestOf("nope", "heads");
  request.settings.training = {.steps = 6, .batch_size = 4, .lengths = {24}, .warmup_steps = 1, .weight_decay = 0,
                               .trainable = PackSettings::Training::Trainable::kHeadScales};
  request.members[0].learning_rate = 0.1;
  request.members[0].attention_scale = 1.5;
  const PackResult tuned = Run(request);
  // They are all that is kept of the model.
  const SafetensorsFile weights = *SafetensorsFile::Read(tuned.weights);
  EXPECT_EQ(weights.entries().size(), 1u);
  const std::vector<float> scales = *weights.Floats("param/attn.scales");
  for (const float scale : scales) {
    EXPECT_NE(scale, 1.5f);
    EXPECT_GE(scale, 1.0f);
  }
  // Another job has the folder's weights with these scales.
  PackRequest evaluation = RequestOf("nope", "evaluation");
  evaluation.members[0].weights = MemberFile{tuned.weights, 0};
  EXPECT_EQ(LossOf(Run(evaluation), 24), LossOf(tuned, 24));
  EXPECT_NE(LossOf(tuned, 24), LossOf(Run(RequestOf("nope", "plain")), 24));

  // Stopped and gone on with, from a checkpoint that has them alone: the same bits.
  RecordingObserver observer;
  observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 3, .dropped = {}}; };
  request.folder = Folder("stopped");
  const absl::StatusOr<PackResult> stopped = Train(request, observer);
  ASSERT_TRUE(stopped.ok() && stopped->stopped) << stopped.status();
  EXPECT_EQ(SafetensorsFile::Read(observer.checkpoints.back())->Find("param/embed.w"), nullptr);
  request.members[0].checkpoints = {{observer.checkpoints.back(), 0}};
  request.folder = Folder("resumed");
  ExpectSameMeasurements(Run(request).results.at(0), tuned.results.at(0));
}

TEST_F(PublishedTest, WhatTheFolderIsNotIsRefused) {
  PackRequest request = RequestOf("plain", "refused");
  request.settings.encoding = "none";
  EXPECT_THAT(Refusal(request), HasSubstr("import it with --nope"));
  request = RequestOf("nope", "refused");
  request.settings.encoding = "rope";
  EXPECT_THAT(Refusal(request), HasSubstr("take 'none'"));
  request = RequestOf("plain", "refused");
  request.settings.model.heads = 8;
  EXPECT_THAT(Refusal(request), HasSubstr("model.heads: 8, and config.json of 'plain' says 4"));
  request = RequestOf("plain", "refused");
  request.settings.task = "bytes";
  EXPECT_THAT(Refusal(request), HasSubstr("which reads tokens"));
  request = RequestOf("plain", "refused");
  request.settings.training = {.steps = 3, .batch_size = 1, .lengths = {500}, .warmup_steps = 1};
  EXPECT_THAT(Refusal(request), HasSubstr("501 tokens are more than the 401 of 'letters'"));
  request = RequestOf("plain", "refused");
  request.settings.evaluation.lengths = {24, 201};
  EXPECT_THAT(Refusal(request), HasSubstr("a window of 201 tokens needs a document of one more, and the longest test document of 'letters' has 201"));
  const auto not_that = [&](const std::function<void(PackRequest&)>& change) {
    PackRequest other = RequestOf("plain", "refused");
    change(other);
    RecordingObserver observer;
    const absl::Status status = Train(other, observer).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(not_that([](PackRequest& r) { r.data.model_sha256 = std::string(64, '0'); }), HasSubstr("has other bytes"));
  EXPECT_THAT(not_that([](PackRequest& r) { r.settings.data = "plain"; }), HasSubstr("'plain' is of the kind 'model', and 'tokens' is needed"));
  EXPECT_THAT(not_that([](PackRequest& r) { r.settings.model.folder = "letters"; }), HasSubstr("'letters' is of the kind 'tokens', and 'model' is needed"));
}

TEST_F(PublishedTest, MemoryIsCountedWithItsSizes) {
  PackRequest request = RequestOf("plain", "memory");
  ASSERT_TRUE(ReadPublished(request).ok());
  EXPECT_EQ(request.settings.model.vocabulary, 50);
  EXPECT_EQ(request.settings.model.layers, 2);
  request.settings.evaluation.lengths = {1 << 20};
  EXPECT_THAT(std::string(CheckMemory(request.settings, 1, 1, 1e6).message()), HasSubstr("evaluation.lengths: 1048576 takes at least"));
}

}  // namespace

}  // namespace longreach::trainer
