// Mixtures of data sets that jobs of the kind "llama" are trained on: how often each is drawn from, and that nothing else depends on it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "tests/worker/trainer/published_fixture.h"
#include "worker/data/import_text.h"
#include "worker/trainer/checkpoint/settings_hash.h"
#include "worker/trainer/problems/problem.h"
#include "worker/trainer/random/random_stream.h"

namespace longreach::trainer {

namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class MixtureTest : public PackTest {
 protected:
  void SetUp() override {
    PackTest::SetUp();
    // What a block is made of says where it is from.
    MakeText("as", std::string(4000, 'a'));
    MakeText("bs", std::string(6000, 'b'));
    std::string text;
    unsigned next = 1;
    for (int i = 0; i < 8000; ++i) text += static_cast<char>('a' + ((next = next * 1103515245u + 12345u) >> 16) % 20);
    MakeText("letters", text);
  }

  void MakeText(const std::string& name, const std::string& text) {
    std::ofstream(Folder("source") / name) << text;
    data::NoProgress quiet;
    const auto made = data::ImportText({.folder = Folder("data"), .name = name, .sources = {Folder("source") / name}}, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
  }

  static PackSettings Small(const std::vector<std::string>& mixture, const std::vector<double>& weights) {
    PackSettings settings;
    settings.experiment = "llama";
    settings.task = "bytes";
    settings.data = "letters";
    settings.encoding = "none";
    settings.model = {.layers = 1, .embedding_dim = 16, .heads = 2, .mlp_dim = 24, .dropout = 0, .kv_heads = 1};
    settings.training = {.steps = 5, .batch_size = 8, .lengths = {24}, .warmup_steps = 1, .mixture = mixture, .mixture_weights = weights};
    settings.evaluation = {.lengths = {16}, .examples = 8};
    return settings;
  }

  absl::StatusOr<std::unique_ptr<Problem>> Opened(const PackSettings& settings, const std::vector<std::string>& sha256 = {}) {
    return MakeProblem(settings, {.folder = Folder("data"), .sha256 = "", .mixture_sha256 = sha256});
  }
  std::unique_ptr<Problem> Open(const PackSettings& settings) {
    absl::StatusOr<std::unique_ptr<Problem>> problem = Opened(settings);
    EXPECT_TRUE(problem.ok()) << problem.status();
    return problem.ok() ? *std::move(problem) : nullptr;
  }
  absl::Status Refusal(const PackSettings& settings, const std::vector<std::string>& sha256 = {}) { return Opened(settings, sha256).status(); }

  PackRequest RequestOf(const PackSettings& settings, int members, const std::string& folder) {
    PackRequest request = Request(settings, members, folder);
    request.data.folder = Folder("data");
    return request;
  }

  static double LossOf(const MemberResult& result) { return ValueOf(result, "loss", 16); }
};

// The tokens of one block of a batch.
std::vector<uint16_t> Block(const Batch& batch, int64_t b) {
  return {batch.tokens.begin() + b * batch.tape, batch.tokens.begin() + (b + 1) * batch.tape};
}

TEST_F(MixtureTest, BlocksAreDrawnByWeight) {
  const std::unique_ptr<Problem> problem = Open(Small({"as", "bs"}, {1, 3}));
  ASSERT_NE(problem, nullptr);
  constexpr int kSteps = 500, kBatch = 8;
  int of_b = 0;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const Batch batch = problem->TrainingBatch(PositionUse::kNothing, step);
    ASSERT_EQ(batch.size, kBatch);
    // The same on every machine: the first quarter of all words is the first data set's.
    const RandomStream sources{.key = 0, .purpose = Purpose::kTrainingSource, .layer = 0, .step = step};
    for (int64_t b = 0; b < kBatch; ++b) {
      const bool first = sources.Word(static_cast<uint64_t>(b)) < uint32_t{1} << 30;
      ASSERT_THAT(Block(batch, b), Each(first ? 'a' : 'b')) << "block " << b << " of step " << step;
      of_b += !first;
    }
    ASSERT_EQ(batch.tokens[0], batch.targets[0]);
  }
  // Five standard deviations of that many independent draws: one seed in two million is beyond.
  const double share = 0.75, blocks = kSteps * kBatch;
  EXPECT_NEAR(of_b / blocks, share, 5 * std::sqrt(share * (1 - share) / blocks));
}

TEST_F(MixtureTest, WeightsCountAsSharesOfTheirSum) {
  const std::unique_ptr<Problem> one = Open(Small({"as", "bs"}, {1, 3})), other = Open(Small({"as", "bs"}, {0.25, 0.75}));
  ASSERT_TRUE(one != nullptr && other != nullptr);
  for (uint64_t step = 0; step < 50; ++step) {
    EXPECT_EQ(one->TrainingBatch(PositionUse::kNothing, step).tokens, other->TrainingBatch(PositionUse::kNothing, step).tokens);
  }
}

TEST_F(MixtureTest, ABatchIsAFunctionOfItsStepAlone) {
  const PackSettings settings = Small({"as", "bs", "letters"}, {0.5, 0.3, 0.2});
  const std::unique_ptr<Problem> forward = Open(settings), backward = Open(settings);
  ASSERT_TRUE(forward != nullptr && backward != nullptr);
  std::vector<std::vector<uint16_t>> batches;
  for (uint64_t step = 0; step < 20; ++step) batches.push_back(forward->TrainingBatch(PositionUse::kNothing, step).tokens);
  for (uint64_t step = 20; step-- > 0;) EXPECT_EQ(backward->TrainingBatch(PositionUse::kNothing, step).tokens, batches[step]);

  PackSettings reseeded = settings;
  reseeded.training.data_seed = 314;
  const std::unique_ptr<Problem> other = Open(reseeded);
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other->TrainingBatch(PositionUse::kNothing, 0).tokens, batches[0]);
}

TEST_F(MixtureTest, AMixtureOfOneDrawsTheBlocksOfThatDataSet) {
  PackSettings mixed = Small({"letters"}, {7});
  mixed.data = "as";
  const std::unique_ptr<Problem> plain = Open(Small({}, {})), of_one = Open(mixed);
  ASSERT_TRUE(plain != nullptr && of_one != nullptr);
  for (uint64_t step = 0; step < 20; ++step) {
    const Batch expected = plain->TrainingBatch(PositionUse::kNothing, step), batch = of_one->TrainingBatch(PositionUse::kNothing, step);
    EXPECT_EQ(batch.tokens, expected.tokens);
    EXPECT_EQ(batch.targets, expected.targets);
  }
  // Tests go on reading `data`.
  const Batch test = of_one->TestBatch(PositionUse::kNothing, 16, 0);
  EXPECT_EQ(test.size, 8);
  EXPECT_THAT(test.tokens, Each('a'));
}

TEST_F(MixtureTest, WhatIsOnlyTestedOnMayBeShort) {
  PackSettings settings = Small({"letters"}, {1});
  settings.data = "as";
  settings.training.lengths = {5000};
  const std::unique_ptr<Problem> problem = Open(settings);
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->TrainingBatch(PositionUse::kNothing, 0).tape, 5000);

  settings.training.mixture.clear();
  settings.training.mixture_weights.clear();
  EXPECT_THAT(std::string(Refusal(settings).message()), HasSubstr("5001 bytes are more than the 3600 of the training split of 'as'"));
}

TEST_F(MixtureTest, AJobIsTheSameInAPackOnAnyThreadsAndResumed) {
  const PackSettings settings = Small({"bs", "letters"}, {1, 2});
  const PackRequest pack = RequestOf(settings, 3, "pack");
  const PackResult of_pack = Run(pack);
  ASSERT_EQ(of_pack.results.size(), 3u);

  PackRequest request = pack;
  request.members = {pack.members[2]};
  request.threads = 1;
  request.folder = Folder("stopped");
  RecordingObserver observer;
  observer.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 2, .dropped = {}}; };
  const absl::StatusOr<PackResult> stopped = Train(request, observer);
  ASSERT_TRUE(stopped.ok() && stopped->stopped) << stopped.status();
  request.members[0].checkpoints = {{observer.checkpoints.back(), 0}};
  request.folder = Folder("resumed");
  const PackResult alone = Run(request);

  ASSERT_EQ(alone.results.size(), 1u);
  ASSERT_FALSE(alone.results[0].measurements.empty());
  ExpectSameMeasurements(of_pack.results[2], alone.results[0]);
  // Another mixture is another training.
  const PackResult other = Run(RequestOf(Small({"bs", "letters"}, {2, 1}), 3, "other"));
  ASSERT_EQ(other.results.size(), 3u);
  EXPECT_NE(LossOf(other.results[2]), LossOf(of_pack.results[2]));
}

TEST_F(MixtureTest, CheckpointsAreOfTheirMixtureAlone) {
  const std::string plain = SettingsHash(Small({}, {})), mixed = SettingsHash(Small({"as", "bs"}, {1, 3}));
  EXPECT_NE(mixed, plain);
  EXPECT_NE(SettingsHash(Small({"as", "bs"}, {1, 2})), mixed);
  EXPECT_NE(SettingsHash(Small({"as", "letters"}, {1, 3})), mixed);
}

TEST_F(MixtureTest, RandomBytesStandInForAMixtureToo) {
  const std::unique_ptr<Problem> problem = MakeStandIn(Small({"nowhere", "as"}, {1, 3}));
  EXPECT_EQ(problem->TrainingBatch(PositionUse::kNothing, 0).size, 8);
}

TEST_F(MixtureTest, RefusesWhatCannotBeDrawnFrom) {
  const auto refused = [](const std::vector<std::string>& mixture, const std::vector<double>& weights) {
    return std::string(Validate(Small(mixture, weights)).message());
  };
  EXPECT_EQ(refused({"as"}, {2}), "");
  EXPECT_THAT(refused(std::vector<std::string>(9, "as"), std::vector<double>(9, 1)), HasSubstr("training.mixture: 9 data sets; at most 8"));
  EXPECT_THAT(refused({"as", "bs"}, {1}), HasSubstr("training.mixture_weights: 1 weights for the 2 data sets"));
  EXPECT_THAT(refused({}, {1}), HasSubstr("training.mixture_weights: 1 weights for the 0 data sets"));
  EXPECT_THAT(refused({"as", "as"}, {1, 1}), HasSubstr("training.mixture: 'as' is there twice"));
  EXPECT_THAT(refused({"as", "bs"}, {1, 0}), HasSubstr("training.mixture_weights: 0 of 'bs' is not a finite number above 0"));
  EXPECT_THAT(refused({"as", "bs"}, {1, std::nan("")}), HasSubstr("training.mixture_weights: nan of 'bs'"));
  EXPECT_THAT(refused({"as", "bs"}, {1, 1e-10}), HasSubstr("nothing is drawn from 'bs'"));
}

TEST_F(MixtureTest, EachDataSetMustBeThereWithItsBytesAndBeLongEnough) {
  const absl::Status missing = Refusal(Small({"as", "elsewhere"}, {1, 1}));
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("training.mixture: there is no data set 'elsewhere'"));

  const absl::Status other = Refusal(Small({"as", "bs"}, {1, 1}), {"", std::string(64, '0')});
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()), HasSubstr("training.mixture: the data set 'bs'"));

  PackSettings settings = Small({"as", "letters"}, {1, 1});
  settings.training.lengths = {3600};
  EXPECT_THAT(std::string(Refusal(settings).message()),
              HasSubstr("training.lengths: 3601 bytes are more than the 3600 of 'as' in training.mixture that are for training"));
}

class MixtureOfTokensTest : public PublishedModelTest {
 protected:
  // Of one letter again and again, in documents to train on alone.
  void MakeTokens(const std::string& name, char letter, int64_t vocabulary = 0) {
    std::ofstream(Folder(name) / "text") << std::string(300, letter);
    Letters letters;
    data::NoProgress quiet;
    const auto made = data::ImportTokens(
        {.folder = Folder("data"), .name = name, .sources = {Folder(name)}, .split = {100, 0}, .vocabulary = vocabulary}, &letters, quiet);
    ASSERT_TRUE(made.ok()) << made.status();
  }
  PackRequest Mixed(const std::vector<std::string>& mixture, const std::vector<double>& weights) {
    PackRequest request = RequestOf("plain", "mixed");
    request.settings.training = {.steps = 4, .batch_size = 8, .lengths = {12}, .warmup_steps = 1, .mixture = mixture, .mixture_weights = weights};
    return request;
  }
};

TEST_F(MixtureOfTokensTest, BlocksAreOfOneCorpusEach) {
  MakeTokens("as", 'a');
  MakeTokens("bs", 'b');
  PackRequest request = Mixed({"as", "bs"}, {1, 1});
  ASSERT_TRUE(ReadPublished(request).ok());
  const absl::StatusOr<std::unique_ptr<Problem>> problem = MakeProblem(request.settings, request.data);
  ASSERT_TRUE(problem.ok()) << problem.status();
  Letters letters;
  const int64_t a = letters.Encode("a")->front(), b = letters.Encode("b")->front();
  int of_a = 0, of_b = 0;
  for (uint64_t step = 0; step < 10; ++step) {
    const Batch batch = (*problem)->TrainingBatch(PositionUse::kNothing, step);
    for (int64_t i = 0; i < batch.size; ++i) {
      const std::vector<uint16_t> block = Block(batch, i);
      const bool has_a = std::ranges::count(block, a) > 0, has_b = std::ranges::count(block, b) > 0;
      EXPECT_NE(has_a, has_b);
      (has_a ? of_a : of_b) += 1;
    }
  }
  EXPECT_GT(of_a, 0);
  EXPECT_GT(of_b, 0);
  // And it trains, and is tested on `data`.
  request.settings.training.mixture = {"as"};
  request.settings.training.mixture_weights = {1};
  EXPECT_GT(LossOf(Run(request), 24), 0);
}

TEST_F(MixtureOfTokensTest, TokensOfAnotherVocabularyAreRefused) {
  MakeTokens("as", 'a');
  MakeTokens("more", 'b', 60);
  EXPECT_THAT(Refusal(Mixed({"as", "more"}, {1, 1})),
              HasSubstr("training.mixture: the tokens of 'more' are of a vocabulary of 60, and the model of 'plain' has 50"));
}

}  // namespace

}  // namespace longreach::trainer
