#include "worker/data/import_longbench.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/worker/data/support.h"
#include "worker/data/data_folder.h"
#include "worker/data/longbench.h"

namespace longreach::data {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kGood = R"({"input": "who?", "context": "Gr\u00fc\u00dfe", "answers": ["he", "she"], "all_classes": null, "length": 3})";

class ImportLongBenchTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(source_); }

  void Write(const std::string& file, const std::string& text) { std::ofstream(source_ / file) << text; }
  absl::StatusOr<Manifest> Import() {
    NoProgress progress;
    return ImportLongBench({.folder = data_, .name = "bench", .source = source_, .tasks = {{"qasper", false}, {"trec", true}}}, progress);
  }
  // Why, and that nothing of it is left.
  std::string Refusal(const std::string& file, const std::string& text) {
    for (const fs::directory_entry& entry : fs::directory_iterator(source_)) fs::remove(entry.path());
    Write(file, text);
    const absl::Status status = Import().status();
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(ListDataSets(data_).data_sets.empty());
    EXPECT_FALSE(fs::exists(data_ / ".importing-bench"));
    return std::string(status.message());
  }

  testing::TemporaryFolder home_;
  const fs::path data_ = home_ / "data", source_ = home_ / "LongBench";
};

TEST_F(ImportLongBenchTest, FilesAreTakenAsTheyAreAndTheirSamplesRead) {
  Write("qasper.jsonl", kGood + "\n\n" + kGood + "\n");
  Write("README.md", "what this is");
  Write("dureader.jsonl", "in Chinese");
  Write("trec_e.jsonl", "of LongBench-E");

  const absl::StatusOr<Manifest> made = Import();

  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->samples, 2);
  ASSERT_EQ(made->files.size(), 1u);
  EXPECT_EQ(made->files[0].name, "qasper.jsonl");
  EXPECT_THAT(made->skipped, ElementsAre("dureader.jsonl: in Chinese", "trec_e.jsonl: of LongBench-E"));
  EXPECT_TRUE(CheckDataSet(data_, "bench").ok());
  const absl::StatusOr<LongBenchFile> file = LongBenchFile::Open(data_ / "bench/qasper.jsonl");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->samples(), 2);
  const absl::StatusOr<LongBenchSample> sample = file->Sample(1);
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->input, "who?");
  EXPECT_EQ(sample->context, "Gr\xC3\xBC\xC3\x9F" "e");
  EXPECT_THAT(sample->answers, ElementsAre("he", "she"));
  EXPECT_TRUE(sample->classes.empty());
  EXPECT_EQ(Import().status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(ImportLongBenchTest, SamplesStayThoseOfTheFileThatWasOpenedAndAreAnErrorOnceItIsCutOff) {
  const fs::path file = home_ / "qasper.jsonl";
  longreach::data::Write(file, kGood + "\n");
  const absl::StatusOr<LongBenchFile> opened = LongBenchFile::Open(file);
  ASSERT_TRUE(opened.ok()) << opened.status();
  fs::create_hard_link(file, home_ / "itself");
  longreach::data::Write(home_ / "other", "another one\n");
  fs::rename(home_ / "other", file);
  EXPECT_TRUE(opened->Sample(0).ok()) << opened->Sample(0).status();

  fs::resize_file(home_ / "itself", 10);

  EXPECT_EQ(opened->Sample(0).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ImportLongBenchTest, WhatIsNotAsPublishedIsRefusedWithItsPlace) {
  const auto without = [](const std::string& field) {
    std::string line = kGood;
    line.at(line.find('"' + field + '"') + 1) = 'X';
    return line;
  };
  EXPECT_THAT(Refusal("qasper.jsonl", kGood + "\n\n" + without("input")), HasSubstr("qasper.jsonl:3: has no text 'input'"));
  EXPECT_THAT(Refusal("qasper.jsonl", without("context")), HasSubstr("qasper.jsonl:1: has no text 'context'"));
  EXPECT_THAT(Refusal("qasper.jsonl", without("answers")), HasSubstr("has no list of texts 'answers'"));
  EXPECT_THAT(Refusal("qasper.jsonl", R"({"input": "", "context": "", "answers": []})"), HasSubstr("has no list of texts 'answers'"));
  EXPECT_THAT(Refusal("qasper.jsonl", R"({"input": "", "context": "", "answers": [3]})"), HasSubstr("has no list of texts 'answers'"));
  EXPECT_THAT(Refusal("qasper.jsonl", kGood.substr(0, 40)), HasSubstr("qasper.jsonl:1: not a JSON object"));
  EXPECT_THAT(Refusal("qasper.jsonl", "{\"input\": \"\xFF\"}"), HasSubstr("not a JSON object"));
  EXPECT_THAT(Refusal("qasper.jsonl", "[3]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(Refusal("qasper.jsonl", "\n \n"), HasSubstr("qasper.jsonl has no sample in it"));
  EXPECT_THAT(Refusal("qasper.jsonl", R"({"input": "", "context": "", "answers": ["a"], "dataset": "trec"})"),
              HasSubstr("qasper.jsonl: sample 1: is of the task 'trec'; the file has another one's name"));
  EXPECT_THAT(Refusal("trec.jsonl", kGood), HasSubstr("trec.jsonl: sample 1: has no list of texts 'all_classes'"));
  EXPECT_THAT(Refusal("qaspr.jsonl", kGood), HasSubstr("qaspr.jsonl is no task of LongBench"));
  EXPECT_THAT(Refusal("README.md", kGood), HasSubstr("there is no file of a task in"));
}

}  // namespace
}  // namespace longreach::data
