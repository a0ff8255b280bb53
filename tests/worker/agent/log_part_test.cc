#include "worker/agent/log_part.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"
#include "worker/agent/attempt.h"

namespace longreach::agent {
namespace {

class LogPartTest : public ::testing::Test {
 protected:
  void Print(const std::string& text) const { std::ofstream(log(), std::ios::binary | std::ios::app) << text; }
  std::filesystem::path log() const { return folder_.path() / "log"; }

  testing::TemporaryFolder folder_;
};

TEST_F(LogPartTest, IsWhatIsThereFromAByteOn) {
  Print("one\ntwo\n");

  EXPECT_EQ(ReadLogPart(log(), 0).text(), "one\ntwo\n");
  const v1::AttemptLog part = ReadLogPart(log(), 4);
  EXPECT_EQ(part.from(), 4u);
  EXPECT_EQ(part.text(), "two\n");
}

TEST_F(LogPartTest, IsTheEndOfMoreThanAPartMayHave) {
  const std::string text = std::string(kMaxLogPartBytes, 'a') + std::string(kMaxLogPartBytes / 2, 'b');
  Print(text);

  const v1::AttemptLog whole = ReadLogPart(log(), kMaxLogPartBytes / 2);
  EXPECT_EQ(whole.from(), kMaxLogPartBytes / 2);
  EXPECT_EQ(whole.text(), text.substr(kMaxLogPartBytes / 2));
  const v1::AttemptLog end = ReadLogPart(log(), 7);
  EXPECT_EQ(end.from(), kMaxLogPartBytes / 2);
  EXPECT_EQ(end.text(), text.substr(kMaxLogPartBytes / 2));
}

TEST_F(LogPartTest, HasNoTextWhereTheLogGoesNoFurtherIsShorterOrNotThere) {
  const v1::AttemptLog nowhere = ReadLogPart(log(), 3);
  EXPECT_EQ(nowhere.from(), 3u);
  EXPECT_EQ(nowhere.text(), "");
  Print("1234");
  for (const uint64_t from : {uint64_t{4}, uint64_t{5}, ~uint64_t{0}}) {
    const v1::AttemptLog part = ReadLogPart(log(), from);
    EXPECT_EQ(part.from(), from);
    EXPECT_EQ(part.text(), "") << from;
  }
}

TEST_F(LogPartTest, HasNoTextWhereTheLogIsAPipeThatNobodyWritesInto) {
  ASSERT_EQ(::mkfifo(log().c_str(), 0600), 0);

  EXPECT_EQ(ReadLogPart(log(), 0).text(), "");
}

TEST_F(LogPartTest, IsOfBytesThatNeedNotBeText) {
  const std::string bytes("\xff\0\n", 3);
  Print(bytes);

  EXPECT_EQ(ReadLogPart(log(), 0).text(), bytes);
}

TEST_F(LogPartTest, IsInEveryCallOnceItIsAskedFor) {
  Attempt attempt;
  EXPECT_FALSE(HeldOf(attempt).has_log());

  attempt.log.emplace();
  ASSERT_TRUE(HeldOf(attempt).has_log()) << "the scheduler would take the worker for an older one";
  EXPECT_EQ(HeldOf(attempt).log().from(), ~uint64_t{0}) << "nobody has looked how far the log goes";
  EXPECT_EQ(HeldOf(attempt).log().text(), "");

  Print("one\n");
  attempt.log->part = ReadLogPart(log(), 0);
  EXPECT_EQ(HeldOf(attempt).log().from(), 0u);
  EXPECT_EQ(HeldOf(attempt).log().text(), "one\n");
}

}  // namespace
}  // namespace longreach::agent
