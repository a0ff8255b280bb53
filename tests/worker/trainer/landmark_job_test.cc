// Landmark attention's passkeys in LLaMA jobs through the trainer's door: what is counted as retrieved, and bits after interruptions.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/worker/trainer/answers_fixture.h"
#include "worker/trainer/llama/landmark_prompts.h"
#include "worker/trainer/llama/windows.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

constexpr int kLandmarkTests = 4;

class LandmarkJobTest : public AnswersTest {
 protected:
  void SetUp() override {
    AnswersTest::SetUp();
    // One of the keys, with digits of which each says which comes next.
    for (const int length : kLengths) {
      for (int test = 0; test < kLandmarkTests; ++test) {
        const int64_t key = DrawLandmark(0, length, test).key;
        const std::string digits = std::to_string(key);
        if (std::set<char>(digits.begin(), digits.end()).size() == digits.size()) known_ = key;
      }
    }
    ASSERT_NE(known_, 0);
    // Never at the same distance: nothing but the "s" announces it.
    ImportAnswers(std::to_string(known_), [](const Draw& draw) { return 2 + draw(17); });
  }

  static PackSettings Small() {
    PackSettings settings = LearnsAnswers(120, 352);
    settings.evaluation = {.lengths = {256}, .examples = 4, .passkey_lengths = kLengths, .passkey_tests = kLandmarkTests, .passkey_prompts = "landmark"};
    return settings;
  }

  // By length. There are no slices.
  static std::map<int, double> Retrieved(const MemberResult& result) {
    std::map<int, double> values;
    for (const Measurement& one : result.measurements) {
      if (one.metric != "passkey_accuracy") continue;
      EXPECT_EQ(one.slice, "");
      EXPECT_TRUE(values.emplace(one.length, one.value).second) << one.length;
    }
    return values;
  }

  // What a model retrieves that always says the one number that it has learnt: the prompts that hide it.
  std::map<int, double> Expected(uint32_t seed) const {
    std::map<int, double> shares;
    for (const int length : kLengths) {
      for (int test = 0; test < kLandmarkTests; ++test) shares[length] += DrawLandmark(seed, length, test).key == known_ ? 1.0 / kLandmarkTests : 0;
      shares[0] += shares[length] / static_cast<double>(kLengths.size());
    }
    return shares;
  }

  inline static const std::vector<int> kLengths = {260, 352};
  int64_t known_ = 0;
};

TEST_F(LandmarkJobTest, APromptCountsIfItsKeyIsTheFirstNumberOfTheAnswer) {
  const PackResult& result = Taught(Small());
  EXPECT_EQ(Retrieved(result.results[0]), Expected(0));
  EXPECT_GT(Expected(0)[0], 0);
  EXPECT_LT(Expected(0)[0], 1);

  // Under another seed other keys are asked for.
  PackSettings other = Small();
  other.training.steps = 0;
  other.evaluation.seed = 1;
  PackRequest request = RequestOf(other, 1, "other");
  request.members[0].weights = MemberFile{result.weights, 0};
  EXPECT_EQ(Retrieved(Run(request).results.at(0)), Expected(1));
}

TEST_F(LandmarkJobTest, InterruptedAnywhereItEndsWithTheSameBits) {
  const PackResult& undisturbed = Taught(Small());
  EXPECT_GT(Retrieved(undisturbed.results[1])[0], 0);

  // The second member alone, evaluated by another job on one thread: stopped between the answers of the first cell, then after it, then
  // between the answers of the second. That is the second sign of a cell: of its prompts, for which 40 and 17 texts are tried, there is none.
  PackRequest request = RequestOf(Small(), 2, "alone");
  request.settings.training.steps = 0;
  request.members.erase(request.members.begin());
  request.members[0].weights = MemberFile{undisturbed.weights, 1};
  request.threads = 1;
  for (const auto& moment : {std::pair(0, 2), std::pair(1, 1), std::pair(1, 2)}) {
    const int done = moment.first, sign = moment.second;
    request.folder = Folder("stopped" + std::to_string(done) + "-" + std::to_string(sign));
    RecordingObserver observer;
    int signs = 0, most = 0;
    observer.wish = [&](const Progress& progress) {
      if (progress.phase == Progress::Phase::kEvaluating) most = std::max(most, progress.passkey_cells_done);
      signs += progress.phase == Progress::Phase::kEvaluating && progress.lengths_done == 1 && progress.passkey_cells_done == done;
      return Observer::Wish{.stop = signs >= sign, .dropped = {}};
    };
    const absl::StatusOr<PackResult> stopped = Train(request, observer);
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    ASSERT_TRUE(stopped->stopped);
    EXPECT_EQ(most, done);
    request.members[0].checkpoints = {{observer.checkpoints.back(), 0}};
  }
  request.folder = Folder("last");
  const PackResult alone = Run(request);
  ASSERT_EQ(alone.results.size(), 1u);
  ExpectSameMeasurements(undisturbed.results[1], alone.results[0]);
}

TEST_F(LandmarkJobTest, ALongPromptIsReadByAllThreads) {
  PackSettings settings = Small();
  const PackResult& trained = Taught(settings);
  settings.training.steps = 0;
  settings.evaluation.passkey_lengths = {kSharedLength};
  settings.evaluation.passkey_tests = 1;
  std::vector<PackResult> results;
  for (const int threads : {1, 3}) {
    PackRequest request = RequestOf(settings, 1, "long" + std::to_string(threads));
    request.members[0].weights = MemberFile{trained.weights, 0};
    request.threads = threads;
    results.push_back(Run(request));
  }
  EXPECT_EQ(Retrieved(results[0].results.at(0)).size(), 2u);
  ExpectSameMeasurements(results[0].results.at(0), results[1].results.at(0));
}

TEST_F(LandmarkJobTest, ACheckpointOfOtherPromptsIsNotGoneOnWith) {
  PackSettings settings = Small();
  settings.training.steps = 2;
  settings.training.warmup_steps = 0;
  settings.evaluation.passkey_prompts = "nope";
  PackRequest request = RequestOf(settings, 1, "nope");
  RecordingObserver stopping;
  stopping.wish = [](const Progress& progress) { return Observer::Wish{.stop = progress.step == 1, .dropped = {}}; };
  ASSERT_TRUE(Train(request, stopping).ok());
  ASSERT_FALSE(stopping.checkpoints.empty());

  request.settings.evaluation.passkey_prompts = "landmark";
  request.folder = Folder("landmark");
  request.members[0].checkpoints = {{stopping.checkpoints.back(), 0}};
  int least = 2;
  RecordingObserver observer;
  observer.wish = [&](const Progress& progress) {
    if (progress.phase == Progress::Phase::kTraining) least = std::min(least, progress.step);
    return Observer::Wish{};
  };
  ASSERT_TRUE(Train(request, observer).ok());
  EXPECT_EQ(least, 0);  // Trained from its begin.
}

TEST_F(LandmarkJobTest, RefusesPromptsThatCannotBeMade) {
  const auto refused = [&](const std::function<void(PackSettings::Evaluation&)>& change) {
    PackSettings settings = Small();
    change(settings.evaluation);
    return std::string(Validate(settings).message());
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_EQ(refused([](auto& e) { e.passkey_depths = 0; }), "");  // There are none.
  EXPECT_THAT(refused([](auto& e) { e.passkey_lengths = {256}; }), HasSubstr("evaluation.passkey_lengths: 256 is not in 257.."));
  EXPECT_THAT(refused([](auto& e) { e.passkey_tests = 0; }), HasSubstr("evaluation.passkey_tests: 0"));
  EXPECT_THAT(refused([](auto& e) { e.passkey_prompts = "landmarks"; }), HasSubstr("evaluation.passkey_prompts: unknown name 'landmarks'"));
  EXPECT_THAT(refused([](auto& e) {
                e.passkey_lengths.clear();
                for (int length = 1000; length < 2000; ++length) e.passkey_lengths.push_back(length);
              }),
              HasSubstr("evaluation.passkey_lengths: 1000 lengths"));
}

}  // namespace

}  // namespace longreach::trainer
