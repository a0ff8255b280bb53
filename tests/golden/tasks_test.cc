// The tasks against the golden vectors, and the check against vectors that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/golden/check/tasks.h"

namespace longreach::golden {
namespace {

using ::testing::HasSubstr;

std::string Read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A golden folder that holds one file.
class GoldenFolder {
 public:
  GoldenFolder(const std::filesystem::path& name, const std::string& text)
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("golden_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  ~GoldenFolder() { std::filesystem::remove_all(folder_); }
  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

struct Checked {
  int passed;
  int failed;
  std::string text;
};

Checked Check(const std::filesystem::path& folder) {
  std::ostringstream out;
  Report report(out);
  CheckTasks(folder, report);
  return {report.passed(), report.failed(), out.str()};
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(GoldenTasksTest, AllFilesPass) {
  const Checked checked = Check(LONGREACH_GOLDEN);

  EXPECT_EQ(checked.passed, 16) << checked.text;
  EXPECT_EQ(checked.failed, 0) << checked.text;
}

TEST(GoldenTasksTest, NamesWhatIsAbsentAndCountsItNeitherWay) {
  const GoldenFolder folder("README.md", "");

  const Checked checked = Check(folder.path());

  EXPECT_EQ(checked.passed + checked.failed, 0);
  EXPECT_THAT(checked.text, HasSubstr("tasks/odds_first.json: absent"));
  EXPECT_THAT(checked.text, HasSubstr("task_stats.json: absent"));
}

TEST(GoldenTasksTest, FailsAtOneWrongTargetMaskLengthOrVocabulary) {
  const std::string parity = Read(LONGREACH_GOLDEN "/tasks/parity_check.json");
  const std::string input_0 = "\"inputs\":[[0]";
  const std::string input_1 = "\"inputs\":[[1]";
  const bool begins_with_0 = parity.find(input_0) != std::string::npos;
  for (const std::string& wrong : {begins_with_0 ? Replaced(parity, input_0, input_1) : Replaced(parity, input_1, input_0),
                                   Replaced(parity, "\"valid\":[1", "\"valid\":[0"),
                                   Replaced(parity, "\"40\":40", "\"40\":39"),
                                   Replaced(parity, "\"input_vocab\":2", "\"input_vocab\":3"),
                                   Replaced(parity, "\"inputs\":[[", "\"inputs\":[[7,")}) {
    const GoldenFolder folder("tasks/parity_check.json", wrong);

    const Checked checked = Check(folder.path());

    EXPECT_EQ(checked.failed, 1) << checked.text;
    EXPECT_THAT(checked.text, HasSubstr("tasks/parity_check.json: FAILED"));
  }
}

TEST(GoldenTasksTest, FailsAtFilesThatAreBrokenOrOfNoTask) {
  for (const std::string name : {"tasks/parity_check.json", "tasks/no_such_task.json", "task_stats.json"}) {
    const GoldenFolder folder(name, "{\"cases\": [");

    EXPECT_EQ(Check(folder.path()).failed, 1) << name;
  }
}

TEST(GoldenTasksTest, FailsAtStatisticsOfAnotherSampler) {
  const std::string statistics = Read(LONGREACH_GOLDEN "/task_stats.json");
  const size_t begin = statistics.find("\"even_pairs\"");
  const size_t at = statistics.find("[[", begin) + 2;
  const size_t end = statistics.find("]", at);
  std::string wrong = statistics;
  wrong.replace(at, end - at, "0.58,0.42");  // 5 sigma are 0.06.
  const GoldenFolder folder("task_stats.json", wrong);

  const Checked checked = Check(folder.path());

  EXPECT_EQ(checked.failed, 1) << checked.text;
  EXPECT_THAT(checked.text, HasSubstr("even_pairs 8 input 0"));
}

TEST(ReportTest, TakesAnErrorThatIsNotANumberForAFailure) {
  FileCheck file("x");
  file.Compare("first", 0.0, 1e-6);
  file.Compare("second", std::nan(""), 1e-6);

  EXPECT_FALSE(file.passed());
  EXPECT_THAT(file.Line(), HasSubstr("second"));
}

TEST(ReportTest, DoesNotPassAFileInWhichNothingWasCompared) { EXPECT_FALSE(FileCheck("x").passed()); }

}  // namespace
}  // namespace longreach::golden
