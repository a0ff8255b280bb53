// Lines of a file, however they lie in the pieces that it is read in.
#include "worker/data/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/worker/data/support.h"

namespace longreach::data {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMiB = 1 << 20;

class LineReaderTest : public ::testing::Test {
 protected:
  LineReader Open(std::string_view bytes, size_t most = 8 * kMiB) {
    Write(file_, bytes);
    opened_.push_back(std::make_unique<absl::StatusOr<FileToRead>>(FileToRead::Open(file_)));
    return LineReader(opened_.back()->value(), most);
  }

  testing::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "lines";
  std::vector<std::unique_ptr<absl::StatusOr<FileToRead>>> opened_;
};

TEST_F(LineReaderTest, GivesAllLinesWithAndWithoutAnEndOfTheLast) {
  // A piece of the file has 1 MiB.
  std::vector<std::string> lines;
  for (const size_t bytes : {size_t{0}, size_t{3}, kMiB - 6, kMiB - 1, kMiB, size_t{0}, 3 * kMiB + 7, size_t{1}}) lines.emplace_back(bytes, static_cast<char>('a' + lines.size()));
  std::string text;
  for (const std::string& line : lines) text += (text.empty() && &line == &lines.front() ? "" : "\n") + line;
  for (const bool ends : {false, true}) {
    LineReader reader = Open(ends ? text + "\n" : text);
    for (const std::string& line : lines) {
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string_view> next, reader.Next());
      ASSERT_TRUE(next.has_value());
      EXPECT_TRUE(*next == line) << "the line of " << line.size() << " bytes";
    }
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string_view> none, reader.Next());
    EXPECT_FALSE(none.has_value());
    EXPECT_EQ(reader.given(), static_cast<int64_t>(text.size()) + ends);
  }
}

TEST_F(LineReaderTest, AnEmptyFileHasNone) {
  LineReader reader = Open("");
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string_view> none, reader.Next());
  EXPECT_FALSE(none.has_value());
}

TEST_F(LineReaderTest, ALineOfMoreBytesThanItMayHaveIsRefusedAndOneOfAllOfThemIsNot) {
  for (const char* end : {"", "\n", "\nmore\n"}) {
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string_view> all, Open(std::string(10, 'a') + end, 10).Next());
    EXPECT_TRUE(all.has_value());
    EXPECT_EQ(Open(std::string(11, 'a') + end, 10).Next().status().code(), absl::StatusCode::kResourceExhausted);
  }
  // What is beyond it is not read.
  LineReader reader = Open(std::string(2 * kMiB, 'a'), kMiB / 2);
  std::filesystem::resize_file(file_, kMiB);
  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(LineReaderTest, AFileThatIsCutOffMeanwhileIsAnErrorThatNamesIt) {
  LineReader reader = Open("one\n" + std::string(2 * kMiB, 'a'));
  ASSERT_OK_AND_ASSIGN(const std::optional<std::string_view> first, reader.Next());
  EXPECT_EQ(first, "one");

  std::filesystem::resize_file(file_, kMiB + 5);

  const absl::Status cut = reader.Next().status();
  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(cut.message()), HasSubstr(file_.string()));
}

}  // namespace
}  // namespace longreach::data
