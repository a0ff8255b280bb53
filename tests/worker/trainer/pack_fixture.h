// Small packs for tests of the trainer: what to train, and an observer that remembers.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "worker/trainer/train.h"

namespace longreach::trainer {

// Remembers what it is told; asks to stop or drops members when the test says so.
class RecordingObserver : public Observer {
 public:
  void OnProgress(const Progress& progress) override {
    last = progress;
    std::vector<LossPoint>& told = progress.phase == Progress::Phase::kWriting ? points_at_the_end : points;
    told.insert(told.end(), progress.points.begin(), progress.points.end());
  }
  void OnCheckpoint(const std::filesystem::path& file, int step) override {
    checkpoints.push_back(file);
    checkpoint_steps.push_back(step);
  }
  bool MakeRoom() override {
    ++asked_for_room;
    return makes_room;
  }
  Wish Poll() override { return wish ? wish(last) : Wish{}; }

  std::function<Wish(const Progress&)> wish;
  bool makes_room = false;
  int asked_for_room = 0;
  Progress last;
  std::vector<LossPoint> points;             // While it trained.
  std::vector<LossPoint> points_at_the_end;  // All points once more.
  std::vector<std::filesystem::path> checkpoints;
  std::vector<int> checkpoint_steps;
};

class PackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/trainer_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A folder of its own for a run.
  std::filesystem::path Folder(const std::string& name) const {
    std::filesystem::create_directories(folder_ / name);
    return folder_ / name;
  }

  // Two layers, a few steps, everything that draws random numbers switched on.
  static PackSettings SmallSettings(const std::string& task, const std::string& encoding, bool randomized) {
    PackSettings settings;
    settings.task = task;
    settings.encoding = encoding;
    settings.randomized = randomized;
    settings.model = {.layers = 2, .embedding_dim = 32, .heads = 4, .mlp_dim = 64, .dropout = 0.1};
    settings.positions.max_position = 64;
    settings.model.learned_rows = 64;
    settings.training.steps = 12;
    settings.training.batch_size = 36;  // Two groups.
    settings.training.lengths = {1, 2, 3, 4, 5, 6, 7};
    settings.evaluation.lengths = {8, 9, 13};
    settings.evaluation.examples = 40;
    return settings;
  }

  PackRequest Request(const PackSettings& settings, int members, const std::string& folder) const {
    PackRequest request;
    request.settings = settings;
    for (int m = 0; m < members; ++m) {
      request.members.push_back({.job = "job" + std::to_string(m),
                                 .learning_rate = 1e-3 * (m + 1),
                                 .seed = static_cast<uint32_t>(m),
                                 .checkpoints = {},
                                 .weights = {},
                                 .attention_scale = {}});
    }
    request.folder = Folder(folder);
    request.threads = 2;
    request.checkpoint_every_s = 0;
    return request;
  }

  // To its end, without a word on the way.
  static PackResult Run(const PackRequest& request) {
    RecordingObserver observer;
    absl::StatusOr<PackResult> result = Train(request, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : PackResult{};
  }

  static std::string Bytes(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path folder_;
};

// What a member measured; over all lengths at length 0.
inline double ValueOf(const MemberResult& result, const std::string& metric, int length, const std::string& slice = "") {
  for (const Measurement& one : result.measurements) {
    if (one.metric == metric && one.length == length && one.slice == slice) return one.value;
  }
  ADD_FAILURE() << "no " << metric << " at " << length << " '" << slice << "'";
  return 0;
}

// Bit for bit.
inline void ExpectSameMeasurements(const MemberResult& a, const MemberResult& b) {
  ASSERT_EQ(a.measurements.size(), b.measurements.size());
  for (size_t i = 0; i < a.measurements.size(); ++i) {
    EXPECT_EQ(a.measurements[i].metric, b.measurements[i].metric);
    EXPECT_EQ(a.measurements[i].length, b.measurements[i].length);
    EXPECT_EQ(a.measurements[i].slice, b.measurements[i].slice);
    EXPECT_EQ(a.measurements[i].value, b.measurements[i].value)
        << a.measurements[i].metric << " at " << a.measurements[i].length;
  }
}

}  // namespace longreach::trainer
