#include "proto/base/shell_word.h"

#include <gtest/gtest.h>

namespace longreach {
namespace {

TEST(ShellWordTest, AWordThatNeedsNoQuotesGetsNone) {
  EXPECT_EQ(ShellWord("encoding=rope,rope:randomized"), "encoding=rope,rope:randomized");
  EXPECT_EQ(ShellWord("/srv/longreach/b1.db"), "/srv/longreach/b1.db");
}

// A sentence tells the command within single quotes; others inside would end them.
TEST(ShellWordTest, AWordWithinACommandHasDoubleQuotes) {
  EXPECT_EQ(ShellWord("my runs/b1.db"), "\"my runs/b1.db\"");
  EXPECT_EQ(ShellWord("it's mine.db"), "\"it's mine.db\"");
  EXPECT_EQ(ShellWord("~/b1.db"), "\"~/b1.db\"");
  EXPECT_EQ(ShellWord(""), "\"\"");
}

// A shell reads them there: a name may not become a command.
TEST(ShellWordTest, AWordOfWhichAShellReadsMoreHasSingleQuotes) {
  EXPECT_EQ(ShellWord("a $(rm b)"), "'a $(rm b)'");
  EXPECT_EQ(ShellWord("a `rm b`"), "'a `rm b`'");
  EXPECT_EQ(ShellWord("a \"b\""), "'a \"b\"'");
  EXPECT_EQ(ShellWord("a\\b"), "'a\\b'");
  EXPECT_EQ(ShellWord("a!b"), "'a!b'");
  EXPECT_EQ(ShellWord("it's $b"), "'it'\\''s $b'");
}

}  // namespace
}  // namespace longreach
