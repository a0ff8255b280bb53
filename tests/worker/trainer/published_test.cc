// Jobs that begin with a published model: what they begin with, what they measure, and what is refused.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "proto/base/sha256.h"
#include "tests/worker/trainer/published_fixture.h"
#include "worker/data/data_folder.h"
#include "worker/data/files.h"
#include "worker/data/manifest.h"
#include "worker/data/token_corpus.h"
#include "worker/trainer/checkpoint/safetensors.h"
#include "worker/trainer/llama/evaluation.h"
#include "worker/trainer/llama/memory.h"
#include "worker/trainer/llama/windows.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

class PublishedTest : public PublishedModelTest {
 protected:
  // What the decoder itself says of windows over the test documents, each with BOS in front; of the first so many, or of all.
  double Expected(const std::string& name, bool nope = false, int64_t length = 24, int64_t most_windows = 0) {
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
    const std::vector<Window> windows = NopeWindows(lengths, {.length = length, .stride = 5, .most_scored = 5 * most_windows});
    double sum = 0;
    for (const Window& window : windows) {
      sum += *WindowLoss({.decoder = &decoder, .parameters = &parameters, .head_factors = model.head_factors},
                         documents[static_cast<size_t>(window.document)], window, -1);
    }
    return sum / static_cast<double>(windows.size());
  }
};

TEST_F(PublishedTest, ItsLossIsThatOfTheDecoderWithItsWeights) {
  const PackResult plain = Run(RequestOf("plain", "plain"));
  EXPECT_NEAR(LossOf(plain, 24), Expected("plain"), 1e-5);
  EXPECT_NEAR(LossOf(Run(RequestOf("nope", "nope")), 24), Expected("plain", true), 1e-5);
  // With its own head scales, or with one that a sweep sets in place of them.
  EXPECT_NEAR(LossOf(Run(RequestOf("scaled", "scaled")), 24), Expected("scaled"), 1e-5);
  EXPECT_NE(LossOf(Run(RequestOf("scaled", "again")), 24), LossOf(plain, 24));
}

TEST_F(PublishedTest, InTheAuthorsOrderEachLengthBeginsByItselfAndTheFirstWindowsCount) {
  PackRequest request = RequestOf("plain", "in_order");
  request.settings.evaluation.perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kNopeInOrder;
  const PackResult all = Run(request);
  for (const int length : {12, 24}) EXPECT_NEAR(LossOf(all, length), Expected("plain", false, length), 1e-5) << length;
  // Windows of 12 ids that end where those of 24 do are fewer.
  EXPECT_GT(std::abs(LossOf(all, 12) - LossOf(Run(RequestOf("plain", "same_ends")), 12)), 1e-4);

  request.settings.evaluation.examples = 7;
  request.folder = Folder("first");
  const PackResult first = Run(request);
  for (const int length : {12, 24}) EXPECT_NEAR(LossOf(first, length), Expected("plain", false, length, 7), 1e-5) << length;
  request.settings.evaluation.perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kNope;
  request.folder = Folder("spread");
  EXPECT_GT(std::abs(LossOf(first, 24) - LossOf(Run(request), 24)), 1e-4);
}

TEST_F(PublishedTest, AScaleByPositionIsThatOfAFoldersModelToo) {
  const PackResult plain = Run(RequestOf("nope", "plain"));
  PackRequest request = RequestOf("nope", "by_position");
  request.settings.model.attention_scale = 2;
  request.settings.model.attention_scale_from = 12;
  const PackResult scaled = Run(request);
  EXPECT_EQ(LossOf(scaled, 12), LossOf(plain, 12));
  EXPECT_NE(LossOf(scaled, 24), LossOf(plain, 24));
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
  const SafetensorsFile weights = *SafetensorsFile::Open(tuned.weights);
  EXPECT_EQ(weights.entries().size(), 1u);
  const std::vector<float> scales = *weights.Floats("param/attn.scales");
  EXPECT_FALSE(scales.empty());
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
  EXPECT_EQ(SafetensorsFile::Open(observer.checkpoints.back())->Find("param/embed.w"), nullptr);
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
  EXPECT_EQ(CheckPublished(request.settings, request.data).message(), Refusal(request)) << "known without training";
  request.settings.model.heads = 0;
  EXPECT_TRUE(CheckPublished(request.settings, request.data).ok());
  request = RequestOf("plain", "refused");
  request.settings.task = "bytes";
  EXPECT_THAT(Refusal(request), HasSubstr("which reads tokens"));
  request = RequestOf("plain", "refused");
  request.settings.training = {.steps = 3, .batch_size = 1, .lengths = {500}, .warmup_steps = 1};
  EXPECT_THAT(Refusal(request), HasSubstr("501 tokens are more than the 401 of 'letters'"));
  EXPECT_EQ(CheckPublished(request.settings, request.data, Known::kBytes).message(), Refusal(request));
  request.settings.training.lengths = {};  // Not said, as far as whoever asks knows.
  EXPECT_TRUE(CheckPublished(request.settings, request.data).ok());
  request = RequestOf("plain", "refused");
  request.settings.evaluation.lengths = {24, 201};
  EXPECT_THAT(Refusal(request), HasSubstr("a window of 201 tokens needs a document of one more, and the longest test document of 'letters' has 201"));
  EXPECT_EQ(CheckPublished(request.settings, request.data, Known::kBytes).message(), Refusal(request)) << "in every machine's bytes";
  request.settings.evaluation.perplexity_protocol = PackSettings::Evaluation::PerplexityProtocol::kYarn;  // Short documents count.
  EXPECT_TRUE(CheckPublished(request.settings, request.data).ok());
  const auto not_that = [&](const std::function<void(PackRequest&)>& change) {
    PackRequest other = RequestOf("plain", "refused");
    change(other);
    RecordingObserver observer;
    const absl::Status status = Train(other, observer).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  };
  std::ofstream(Folder("data") / "plain" / "tokenizer.model") << "another model's";
  EXPECT_THAT(not_that([](PackRequest&) {}), HasSubstr("tokenizer.model: was not imported with the data set 'plain'"));
  std::filesystem::remove(Folder("data") / "plain" / "tokenizer.model");
  EXPECT_THAT(not_that([](PackRequest& r) { r.data.model_sha256 = std::string(64, '0'); }), HasSubstr("has other bytes"));
}

TEST_F(PublishedTest, ADataSetOfAnotherKindIsRefusedAsAnyWorkerWould) {
  const auto refused = [this](const std::function<void(PackRequest&)>& change) {
    PackRequest other = RequestOf("plain", "refused");
    change(other);
    const std::string said = Refusal(other);
    for (const Known known : {Known::kAll, Known::kBytes}) EXPECT_EQ(CheckPublished(other.settings, other.data, known), absl::InvalidArgumentError(said));
    return said;
  };
  EXPECT_EQ(refused([](PackRequest& r) { r.settings.data = "plain"; }), "data: the data set 'plain' is of the kind 'model', and 'tokens' is needed");
  EXPECT_EQ(refused([](PackRequest& r) { r.settings.model.folder = "letters"; }), "model.folder: the data set 'letters' is of the kind 'tokens', and 'model' is needed");
  EXPECT_EQ(refused([](PackRequest& r) {
              r.settings.training = {.steps = 3, .batch_size = 1, .lengths = {12}, .warmup_steps = 1, .mixture = {"letters", "plain"}, .mixture_weights = {1, 1}};
            }),
            "training.mixture: the data set 'plain' is of the kind 'model', and 'tokens' is needed");
  PackRequest other_bytes = RequestOf("plain", "refused");
  other_bytes.settings.data = "plain";
  other_bytes.data.sha256 = std::string(64, '0');
  EXPECT_EQ(CheckPublished(other_bytes.settings, other_bytes.data, Known::kBytes).code(), absl::StatusCode::kFailedPrecondition)
      << "what a lease asks for by its hash may be of the kind elsewhere";
}

// Vocabularies of one size are many, and the ids of one are other words in another.
// Else a disk that damages a file would fail the jobs of a whole sweep at their first try, and blame none.
TEST_F(PublishedTest, WhatIsDamagedOnThisMachineIsSaidOfNoOther) {
  PackRequest request = RequestOf("plain", "damaged");
  request.settings.model.heads = 8;
  const auto by_bytes = [&] { return CheckPublished(request.settings, request.data, Known::kBytes).code(); };
  EXPECT_EQ(by_bytes(), absl::StatusCode::kInvalidArgument) << "what the job asks is not in the bytes";
  // As a disk does it: neither the size of the file nor its time changes.
  const auto overwrite = [this](const char* name, const std::string& text) {
    const std::filesystem::path file = Folder("data") / "plain" / name;
    const auto written = std::filesystem::last_write_time(file);
    std::ofstream(file.string() + ".new") << text;
    std::filesystem::rename(file.string() + ".new", file);
    std::filesystem::last_write_time(file, written);
  };
  const std::string config = *data::ReadFile(Folder("data") / "plain" / "config.json", 1 << 20);

  std::string other_heads = config;
  const size_t heads = config.find("\"num_attention_heads\"");
  ASSERT_NE(heads, std::string::npos);
  other_heads[other_heads.find('4', heads)] = '2';
  overwrite("config.json", other_heads);
  EXPECT_EQ(CheckPublished(request.settings, request.data).code(), absl::StatusCode::kInvalidArgument) << "here it is refused all the same";
  EXPECT_EQ(by_bytes(), absl::StatusCode::kDataLoss);
  overwrite("config.json", std::string(config.size(), '{'));
  EXPECT_EQ(by_bytes(), absl::StatusCode::kDataLoss);

  overwrite("config.json", config);
  EXPECT_EQ(by_bytes(), absl::StatusCode::kInvalidArgument);
  overwrite("manifest.json", "{}");
  EXPECT_EQ(by_bytes(), absl::StatusCode::kDataLoss);
}

TEST_F(PublishedTest, TokensOfAnotherTokenizerAreRefused) {
  std::filesystem::copy(Folder("published") / "plain", Folder("published") / "spoken");
  std::ofstream(Folder("published") / "spoken" / "tokenizer.model") << "pieces";
  std::vector<std::string> files = CheckModelFolder(Folder("published") / "plain")->files;
  files.emplace_back("tokenizer.model");
  data::NoProgress quiet;
  ASSERT_TRUE(data::ImportModel({.folder = Folder("data"), .name = "spoken", .source = Folder("published") / "spoken", .files = files, .description = "small"}, quiet).ok());
  Letters letters;
  for (const auto& [name, text] : {std::pair("same", "pieces"), std::pair("other", "other pieces")}) {
    const auto made = data::ImportTokens(
        {.folder = Folder("data"), .name = name, .sources = {Folder("texts")}, .split = {50, 50}, .tokenizer_sha256 = Sha256Of(text)}, &letters, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->tokenizer, Sha256Of(text));
    EXPECT_EQ(made->Identity(), data::ReadDataSet(Folder("data"), "letters")->Identity()) << "which is of the tokens alone";
  }
  PackRequest request = RequestOf("spoken", "spoken");
  request.settings.data = "other";
  EXPECT_THAT(Refusal(request), HasSubstr("data: the tokens of 'other' were made with the tokenizer.model " + Sha256Of("other pieces").substr(0, 8)));
  EXPECT_EQ(CheckPublished(request.settings, request.data).message(), Refusal(request));
  EXPECT_TRUE(CheckPublished(request.settings, request.data, Known::kBytes).ok()) << "the same bytes may be another tokenizer's elsewhere, as far as is known there";
  request.settings.training = {.steps = 3, .batch_size = 1, .lengths = {12}, .warmup_steps = 1, .mixture = {"same", "other"}, .mixture_weights = {0.5, 0.5}};
  request.settings.data = "same";
  EXPECT_THAT(Refusal(request), HasSubstr("training.mixture: the tokens of 'other' were made with the tokenizer.model "));
  EXPECT_EQ(CheckPublished(request.settings, request.data).message(), Refusal(request));
  EXPECT_TRUE(CheckPublished(request.settings, request.data, Known::kBytes).ok());
  request.settings.training = {};
  request.settings.training.steps = 0;
  Run(request);
  request.settings.data = "letters";  // Of an older build, which did not write it down.
  request.folder = Folder("letters");
  Run(request);
}

TEST_F(PublishedTest, ATestOfTunedHeadScalesStoresThemAlone) {
  PackRequest tuning = RequestOf("nope", "tuning");
  tuning.settings.training = {.steps = 4, .batch_size = 2, .lengths = {8}, .warmup_steps = 1, .weight_decay = 0,
                              .trainable = PackSettings::Training::Trainable::kHeadScales};
  tuning.members[0].learning_rate = 0.1;
  const PackResult tuned = Run(tuning);
  const std::vector<float> scales = *SafetensorsFile::Open(tuned.weights)->Floats("param/attn.scales");
  PackRequest request = RequestOf("nope", "tested");
  request.members[0].weights = MemberFile{tuned.weights, 0};
  const PackResult tested = Run(request);

  // Stopped on the way, and gone on with.
  request.folder = Folder("stopped");
  RecordingObserver observer;
  observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.lengths_done == 1, .dropped = {}}; };
  ASSERT_TRUE(Train(request, observer)->stopped);
  request.members[0].checkpoints = {{observer.checkpoints.back(), 0}};
  request.folder = Folder("resumed");
  const PackResult resumed = Run(request);

  for (const std::filesystem::path& file : {tested.weights, observer.checkpoints.back(), resumed.weights}) {
    const absl::StatusOr<SafetensorsFile> stored = SafetensorsFile::Open(file);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(*stored->Floats("param/attn.scales"), scales);
    EXPECT_EQ(stored->Find("param/embed.w"), nullptr) << file;
  }
  ExpectSameMeasurements(tested.results.at(0), resumed.results.at(0));
  EXPECT_NE(LossOf(tested, 24), LossOf(Run(RequestOf("nope", "untuned")), 24));
  // What goes on from the test's weights finds the same.
  request.members[0].checkpoints.clear();
  request.members[0].weights = MemberFile{tested.weights, 0};
  request.folder = Folder("again");
  EXPECT_EQ(LossOf(Run(request), 24), LossOf(tested, 24));
}

TEST_F(PublishedTest, MoreTokensThanAWordCountsAreAllDrawnFrom) {
  // A file with a hole: of its tokens only those are written that the first batch is to find.
  constexpr int64_t kTokens = int64_t{3} << 31, kTest = 100;
  constexpr int kLength = 8;
  PackRequest request = RequestOf("nope", "large");
  request.settings.data = "large";
  request.settings.training = {.steps = 1, .batch_size = 8, .lengths = {kLength}, .warmup_steps = 0};
  std::filesystem::copy(Folder("data") / "letters", Folder("data") / "large");
  const std::filesystem::path tokens = Folder("data") / "large" / data::kTokensFile;
  std::filesystem::resize_file(tokens, 0);
  std::filesystem::resize_file(tokens, 2 * (kTokens + kTest));
  const uint64_t ends[] = {kTokens, kTokens + kTest};
  std::ofstream(Folder("data") / "large" / data::kDocumentsFile, std::ios::binary).write(reinterpret_cast<const char*>(ends), sizeof(ends));
  data::Manifest manifest = *data::ParseManifest(Bytes(Folder("data") / "letters" / "manifest.json"));
  manifest.train = {0, 1};
  manifest.test = {1, 2};
  manifest.tokens = kTokens + kTest;
  for (data::FileEntry& file : manifest.files) file.bytes = static_cast<int64_t>(std::filesystem::file_size(Folder("data") / "large" / file.name));
  const RandomStream begins{.key = request.settings.training.data_seed, .purpose = Purpose::kTrainingBatch, .layer = 0, .step = 0};
  std::fstream file(tokens, std::ios::in | std::ios::out | std::ios::binary);
  int behind = 0;
  for (uint64_t block = 0; block < 8; ++block) {
    const int64_t begin = static_cast<int64_t>(begins.BelowAny(block, kTokens - kLength));
    behind += begin >= int64_t{1} << 32;
    const uint16_t id = static_cast<uint16_t>(block + 3);
    file.seekp(2 * begin).write(reinterpret_cast<const char*>(&id), sizeof(id));
  }
  file.close();
  std::ofstream(Folder("data") / "large" / "manifest.json") << data::ToJson(manifest);
  ASSERT_GT(behind, 0);
  ASSERT_TRUE(ReadPublished(request).ok());

  const absl::StatusOr<std::unique_ptr<Problem>> problem = MakeProblem(request.settings, request.data);

  ASSERT_TRUE(problem.ok()) << problem.status();
  const Batch batch = (*problem)->TrainingBatch(PositionUse::kNothing, 0);
  for (size_t block = 0; block < 8; ++block) EXPECT_EQ(batch.tokens[block * kLength], block + 3);
}

TEST_F(PublishedTest, MemoryIsCountedWithItsSizes) {
  PackRequest request = RequestOf("plain", "memory");
  ASSERT_TRUE(ReadPublished(request).ok());
  EXPECT_EQ(request.settings.model.vocabulary, 50);
  EXPECT_EQ(request.settings.model.layers, 2);
  request.settings.evaluation.lengths = {1 << 20};
  EXPECT_THAT(std::string(ThreadsThatFit(request.settings, 1, 1, 1e3).status().message()), HasSubstr("bytes of memory at any length"));
  EXPECT_THAT(std::string(ThreadsThatFit(request.settings, 1, 1, 1e6).status().message()), HasSubstr("evaluation.lengths: 1048576 takes at least"));
}

}  // namespace

}  // namespace longreach::trainer
