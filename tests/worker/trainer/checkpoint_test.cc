// Checkpoints that are damaged, strange or of other jobs: never a crash, never another result.
#include <random>

#include "tests/worker/trainer/pack_fixture.h"
#include "worker/trainer/checkpoint/safetensors.h"

namespace longreach::trainer {

namespace {

// Cuts a file off when it has heard of so many checkpoints that are skipped: the file was found whole before, and is not read into the pack yet.
class CuttingObserver : public RecordingObserver {
 public:
  CuttingObserver(std::filesystem::path file, int after) : file_(std::move(file)), left_(after) {}
  void OnLine(const std::string& line) override {
    if (!line.starts_with("checkpoint skipped: ") || --left_ != 0) return;
    std::filesystem::resize_file(file_, std::filesystem::file_size(file_) / 2);
  }

 private:
  const std::filesystem::path file_;
  int left_;
};

class CheckpointTest : public PackTest {
 protected:
  // A run that was stopped at updates 4 and 8: two checkpoints, and what the whole run would have given.
  void SetUp() override {
    PackTest::SetUp();
    request_ = Request(SmallSettings("even_pairs", "log_kerple", true), 2, "straight");
    request_.settings.model.layers = 1;
    RecordingObserver straight;
    absl::StatusOr<PackResult> result = Train(request_, straight);
    ASSERT_TRUE(result.ok()) << result.status();
    expected_ = Bytes(result->weights);
    RecordingObserver first;
    first.wish = [](const Progress& progress) {
      return Observer::Wish{.stop = progress.step == 4, .dropped = {}};
    };
    request_.folder = Folder("first");
    ASSERT_TRUE(Train(request_, first).ok());
    older_ = first.checkpoints.at(0);
    Use({older_});
    RecordingObserver second;
    second.wish = [](const Progress& progress) {
      return Observer::Wish{.stop = progress.step == 8, .dropped = {}};
    };
    request_.folder = Folder("second");
    ASSERT_TRUE(Train(request_, second).ok());
    newer_ = second.checkpoints.at(0);
  }

  void Use(const std::vector<std::filesystem::path>& files) {
    for (size_t m = 0; m < request_.members.size(); ++m) {
      request_.members[m].checkpoints.clear();
      for (const std::filesystem::path& file : files) {
        request_.members[m].checkpoints.push_back({file, static_cast<int>(m)});
      }
    }
  }

  void Write(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }

  // Goes on from what Use() named; returns the update it went on from. The result must be that of the
  // straight run.
  int ResumedFrom() {
    RecordingObserver observer;
    return ResumedFrom(observer);
  }
  int ResumedFrom(RecordingObserver& observer) {
    request_.folder = Folder("resumed" + std::to_string(runs_++));
    const absl::StatusOr<PackResult> result = Train(request_, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return -1;
    EXPECT_TRUE(Bytes(result->weights) == expected_);
    return observer.points.empty() ? request_.settings.training.steps : observer.points[0].step - 1;
  }

  PackRequest request_;
  std::string expected_;
  std::filesystem::path older_, newer_;
  int runs_ = 0;
};

TEST_F(CheckpointTest, TheNewestGoodOneIsUsed) {
  Use({newer_, older_});

  EXPECT_EQ(ResumedFrom(), 8);
}

TEST_F(CheckpointTest, OneThatIsDamagedIsSkippedForTheOneBefore) {
  const std::string good = Bytes(newer_);
  std::mt19937 random(1);
  for (int i = 0; i < 12; ++i) {
    std::string bytes = good;
    const size_t at = i < 4 ? random() % 2000 : random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
    Write(newer_, bytes);
    Use({newer_, older_});

    const int from = ResumedFrom();

    // A changed blank or digit of an offset may go unnoticed only where it changes nothing; a result never
    // differs.
    EXPECT_TRUE(from == 4 || from == 8) << "byte " << at;
    if (at > 20000) {
      EXPECT_EQ(from, 4) << "byte " << at;
    }
  }
}

TEST_F(CheckpointTest, OneThatEndsEarlyIsSkipped) {
  const std::string good = Bytes(newer_);
  for (const size_t size : {size_t{0}, size_t{5}, size_t{8}, size_t{100}, good.size() / 2, good.size() - 1}) {
    Write(newer_, good.substr(0, size));
    Use({newer_, older_});

    EXPECT_EQ(ResumedFrom(), 4) << size << " bytes";
  }
}

// As where a disk fails: half of it is read into the pack when that is noticed.
TEST_F(CheckpointTest, OneThatCannotBeReadToItsEndIsSkipped) {
  const std::string good = Bytes(newer_);
  for (const bool older : {true, false}) {
    Write(newer_, good);
    // One that is missing is skipped for each member, behind the one that is cut off then.
    Use(older ? std::vector<std::filesystem::path>{newer_, "/nowhere/checkpoint.safetensors", older_}
              : std::vector<std::filesystem::path>{newer_, "/nowhere/checkpoint.safetensors"});
    CuttingObserver observer(newer_, static_cast<int>(request_.members.size()));

    EXPECT_EQ(ResumedFrom(observer), older ? 4 : 0);

    EXPECT_LT(std::filesystem::file_size(newer_), good.size());
  }
}

TEST_F(CheckpointTest, OnesOfOtherJobsOrSettingsAreSkipped) {
  Use({newer_});
  std::swap(request_.members[0].checkpoints[0].member, request_.members[1].checkpoints[0].member);
  EXPECT_EQ(ResumedFrom(), 0);

  Use({newer_});
  request_.members[0].checkpoints[0].member = 17;
  EXPECT_EQ(ResumedFrom(), 0);

  Use({newer_});
  request_.settings.evaluation.examples +=
      1;  // The weights come out the same; the checkpoint's settings are others.
  RecordingObserver observer;
  request_.folder = Folder("other");
  ASSERT_TRUE(Train(request_, observer).ok());
  EXPECT_EQ(observer.points[0].step, 1);
}

TEST_F(CheckpointTest, AllMembersGoOnFromTheSameUpdate) {
  // Member 1 has lost its newer checkpoint.
  Use({newer_, older_});
  request_.members[1].checkpoints.erase(request_.members[1].checkpoints.begin());

  EXPECT_EQ(ResumedFrom(), 4);
}

TEST_F(CheckpointTest, MembersMayComeFromDifferentFiles) {
  const std::filesystem::path copy = Folder("copy") / "checkpoint.safetensors";
  std::filesystem::copy_file(newer_, copy);
  Use({newer_});
  request_.members[1].checkpoints = {{copy, 1}};

  EXPECT_EQ(ResumedFrom(), 8);
}

// Two packs are stopped while they are tested, one after one length and the other after two, and their jobs go on as one pack.
TEST_F(CheckpointTest, MembersThatWereTestedOnOtherLengthsTrainNothingAnew) {
  Use({});
  request_.folder = Folder("tested");
  const PackResult expected = Run(request_);
  const std::vector<Member> members = request_.members;
  for (size_t m = 0; m < members.size(); ++m) {
    PackRequest alone = request_;
    alone.members = {members[m]};
    alone.folder = Folder("alone" + std::to_string(m));
    RecordingObserver observer;
    observer.wish = [m](const Progress& progress) {
      return Observer::Wish{.stop = progress.lengths_done == static_cast<int>(m) + 1, .dropped = {}};
    };
    ASSERT_TRUE(Train(alone, observer).ok());
    request_.members[m].checkpoints = {{observer.checkpoints.at(0), 0}};
  }

  request_.folder = Folder("together");
  RecordingObserver observer;
  int first = -1;
  observer.wish = [&](const Progress& progress) {
    if (first < 0 && progress.phase == Progress::Phase::kEvaluating) first = progress.lengths_done;
    return Observer::Wish{};
  };
  const absl::StatusOr<PackResult> result = Train(request_, observer);

  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(observer.points.empty()) << "updates were made again";
  EXPECT_EQ(first, 1);
  for (size_t m = 0; m < members.size(); ++m) ExpectSameMeasurements(result->results[m], expected.results[m]);
  EXPECT_TRUE(Bytes(result->weights) == expected_);
}

// The first that it says of another phase than the start.
TEST_F(CheckpointTest, WhereItBeginsIsToldBeforeTheFirstUpdate) {
  class Begin final : public RecordingObserver {
   public:
    void OnProgress(const Progress& progress) override {
      if (step < 0 && progress.phase != Progress::Phase::kStarting) step = progress.step;
      RecordingObserver::OnProgress(progress);
    }
    int step = -1;
  };
  for (const int from : {0, 4, 8}) {
    if (from == 0) Use({"/nowhere/checkpoint.safetensors"});
    else Use(from == 4 ? std::vector<std::filesystem::path>{"/nowhere/checkpoint.safetensors", older_} : std::vector<std::filesystem::path>{newer_, older_});
    Begin observer;
    EXPECT_EQ(ResumedFrom(observer), from);
    EXPECT_EQ(observer.step, from);
  }
}

TEST_F(CheckpointTest, AMissingFileIsSkipped) {
  Use({"/nowhere/checkpoint.safetensors", newer_});

  EXPECT_EQ(ResumedFrom(), 8);
}

TEST(SafetensorsTest, WhatIsWrittenIsRead) {
  const std::filesystem::path file = ::testing::TempDir() + "/written.safetensors";
  const std::vector<float> floats = {1.5f, -2, 3};
  const std::vector<SafetensorsPart> parts = {
      {"a", "F32", {3, 1}, std::string_view(reinterpret_cast<const char*>(floats.data()), sizeof(float) * 3)},
      {"nothing", "F32", {0, 4}, {}}};

  ASSERT_TRUE(WriteSafetensors(file, {{"key", "value"}}, parts).ok());
  const absl::StatusOr<SafetensorsFile> read = SafetensorsFile::Open(file);

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Metadata("key"), "value");
  EXPECT_EQ(read->Floats("a").value(), floats);
  EXPECT_EQ(read->Find("a")->shape, (std::vector<int64_t>{3, 1}));
  EXPECT_TRUE(read->Floats("nothing").value().empty());
  EXPECT_FALSE(read->Integers("a").ok());
  EXPECT_FALSE(read->Floats("b").ok());
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".part"));
}

TEST(SafetensorsTest, HeadersThatDoNotFitTheirFileAreRefused) {
  const std::filesystem::path file = ::testing::TempDir() + "/strange.safetensors";
  const auto status_of = [&](const std::string& header, const std::string& payload) {
    std::string bytes(8, '\0');
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
    std::ofstream(file, std::ios::binary) << bytes << header << payload;
    return SafetensorsFile::Open(file).status();
  };
  ASSERT_TRUE(status_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234").ok());
  const std::pair<std::string, std::string> strange[] = {
      {"", ""},
      {"[]", ""},
      {"{", ""},
      {R"({"a":1})", ""},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "1234"},
      {R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "1234"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "12345"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615,18446744073709551615],"data_offsets":[0,4]}})",
       "1234"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", ""},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "1234"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
       "123456789012"},
      {R"({"__metadata__":{"a":1}})", ""},
      {R"({"__metadata__":[]})", ""},
      {std::string(100'000, '['), ""}};
  for (const auto& [header, payload] : strange) {
    EXPECT_EQ(status_of(header, payload).code(), absl::StatusCode::kDataLoss) << header.substr(0, 200);
  }
  // A header that is said to be longer than the file.
  std::ofstream(file, std::ios::binary) << std::string(8, '\xff') << "{}";
  EXPECT_EQ(SafetensorsFile::Open(file).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(SafetensorsFile::Open("/nowhere").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(SafetensorsFile::Open(::testing::TempDir()).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace

}  // namespace longreach::trainer
