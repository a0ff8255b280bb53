// Passkey retrieval of LLaMA jobs through the trainer's door: what is counted as retrieved, and bits after interruptions.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/worker/trainer/answers_fixture.h"
#include "worker/trainer/llama/memory.h"
#include "worker/trainer/llama/passkey_prompts.h"
#include "worker/trainer/llama/windows.h"

namespace longreach::trainer {

namespace {

using ::testing::HasSubstr;

constexpr int kShort = 256, kLong = 352, kDepths = 2, kTests = 3;

class PasskeyJobTest : public AnswersTest {
 protected:
  void SetUp() override {
    AnswersTest::SetUp();
    cells_ = PasskeyTasks({.seed = 42, .lengths = {kShort, kLong}, .depths = kDepths, .tests = kTests});
    ASSERT_EQ(cells_.size(), 4u);
    // One of the keys, with digits of which each says which comes next.
    for (const PasskeyCell& cell : cells_) {
      for (const std::string& key : cell.keys) {
        if (std::set<char>(key.begin(), key.end()).size() == key.size()) known_ = key;
      }
    }
    ASSERT_NE(known_, "");
    ImportAnswers(known_, [](const Draw&) { return 10; });
  }

  static PackSettings Small() {
    PackSettings settings = LearnsAnswers(80, 256);
    settings.evaluation = {.lengths = {256}, .examples = 4, .passkey_lengths = {kShort, kLong}, .passkey_depths = kDepths, .passkey_tests = kTests};
    return settings;
  }

  // By length and slice.
  static std::map<std::pair<int, std::string>, double> Retrieved(const MemberResult& result) {
    std::map<std::pair<int, std::string>, double> values;
    for (const Measurement& one : result.measurements) {
      if (one.metric != "passkey_accuracy") continue;
      EXPECT_TRUE(values.emplace(std::pair(one.length, one.slice), one.value).second) << one.slice;
    }
    return values;
  }

  std::vector<PasskeyCell> cells_;
  std::string known_;
};

TEST_F(PasskeyJobTest, APromptCountsIfAllOfItsKeyFollows) {
  const PackResult& result = Taught(Small());

  // The model has learnt to say one number, so the prompts that hide this one are the right ones.
  std::map<std::pair<int, std::string>, double> expected;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const double share = static_cast<double>(std::ranges::count(cells_[i].keys, known_)) / kTests;
    const std::string slice = i % kDepths == 0 ? "depth=0" : "depth=0.5";
    const int length = static_cast<int>(cells_[i].length);
    expected[{length, slice}] = share;
    expected[{length, ""}] += share / 2;
    expected[{0, slice}] += share / 2;
    expected[{0, ""}] += share / 4;
  }
  EXPECT_GT((expected[{0, ""}]), 0);
  EXPECT_LT((expected[{0, ""}]), 1);
  EXPECT_EQ(Retrieved(result.results[0]), expected);
}

TEST_F(PasskeyJobTest, InterruptedAtAnyCellItEndsWithTheSameBits) {
  const PackResult& undisturbed = Taught(Small());
  EXPECT_GT(Retrieved(undisturbed.results[1])[std::pair(0, std::string())], 0);

  // The second member alone, evaluated by another job on one thread, and stopped after every cell.
  PackRequest request = RequestOf(Small(), 2, "alone");
  request.settings.training.steps = 0;
  request.members.erase(request.members.begin());
  request.members[0].weights = MemberFile{undisturbed.weights, 1};
  request.threads = 1;
  for (int cells = 1; cells <= 3; ++cells) {
    request.folder = Folder("stopped" + std::to_string(cells));
    RecordingObserver observer;
    int least = 1 << 20;
    observer.wish = [&](const Progress& progress) {
      if (progress.phase == Progress::Phase::kEvaluating && progress.lengths_done == 1) least = std::min(least, progress.passkey_cells_done);
      return Observer::Wish{.stop = progress.passkey_cells_done == cells, .dropped = {}};
    };
    const absl::StatusOr<PackResult> stopped = Train(request, observer);
    ASSERT_TRUE(stopped.ok()) << stopped.status();
    ASSERT_TRUE(stopped->stopped);
    EXPECT_EQ(least, cells - 1);  // What was done is not done again.
    request.members[0].checkpoints = {{observer.checkpoints.back(), 0}};
  }
  request.folder = Folder("last");
  const PackResult alone = Run(request);
  ASSERT_EQ(alone.results.size(), 1u);
  ExpectSameMeasurements(undisturbed.results[1], alone.results[0]);
}

TEST_F(PasskeyJobTest, ALongPromptIsReadByAllThreadsWithASignOfLifeAfterEachBlock) {
  PackSettings settings = Small();
  const PackResult& trained = Taught(settings);
  settings.training.steps = 0;
  settings.evaluation.passkey_lengths = {kSharedLength};
  settings.evaluation.passkey_depths = 1;
  settings.evaluation.passkey_tests = 2;
  std::vector<PackResult> results;
  for (const int threads : {1, 3}) {
    PackRequest request = RequestOf(settings, 1, "long" + std::to_string(threads));
    request.members[0].weights = MemberFile{trained.weights, 0};
    request.threads = threads;
    RecordingObserver observer;
    int signs = 0;
    observer.wish = [&](const Progress& progress) {
      signs += progress.phase == Progress::Phase::kEvaluating && progress.lengths_done == 1 && progress.passkey_cells_done == 0;
      return Observer::Wish{};
    };
    absl::StatusOr<PackResult> result = Train(request, observer);
    ASSERT_TRUE(result.ok()) << result.status();
    // Two prompts, each read and gone on with four times, by two blocks; and before the first.
    EXPECT_EQ(signs, 2 * 5 * 2 + 1);
    results.push_back(*std::move(result));
  }
  EXPECT_EQ(Retrieved(results[0].results[0]).size(), 4u);
  ExpectSameMeasurements(results[0].results[0], results[1].results[0]);
}

TEST_F(PasskeyJobTest, RefusesPromptsThatCannotBeMade) {
  const auto refused = [&](const std::function<void(PackSettings::Evaluation&)>& change) {
    PackSettings settings = Small();
    change(settings.evaluation);
    return std::string(Validate(settings).message());
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_THAT(refused([](auto& e) { e.passkey_lengths = {251}; }), HasSubstr("evaluation.passkey_lengths: 251 is not in 252.."));
  EXPECT_THAT(refused([](auto& e) { e.passkey_lengths = {300, 300}; }), HasSubstr("300 does not follow 300"));
  EXPECT_THAT(refused([](auto& e) { e.passkey_depths = 0; }), HasSubstr("evaluation.passkey_depths: 0"));
  EXPECT_THAT(refused([](auto& e) { e.passkey_tests = 0; }), HasSubstr("evaluation.passkey_tests: 0"));

  PackSettings large = Small();
  large.evaluation.passkey_lengths = {kShort, 1 << 20};
  EXPECT_THAT(std::string(ThreadsThatFit(large, 1, 2, 1e9).status().message()), HasSubstr("evaluation.passkey_lengths: 1048576 takes at least "));
}

}  // namespace

}  // namespace longreach::trainer
