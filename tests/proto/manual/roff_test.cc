#include "proto/manual/roff.h"

#include <gtest/gtest.h>

namespace longreach {
namespace {

TEST(RoffTest, WhatAShellTakesIsWhatComesOut) {
  EXPECT_EQ(RoffText("run --set 'a=b'"), R"(run \-\-set \(aqa=b\(aq)");
  EXPECT_EQ(RoffText("`~/x^2` \"y\""), R"(\(ga\(ti/x\(ha2\(ga \(dqy\(dq)");
}

TEST(RoffTest, ABackslashEscapesNothing) {
  EXPECT_EQ(RoffText(R"(a\fBb\)"), R"(a\efBb\e)");
}

TEST(RoffTest, NoLineIsARequest) {
  EXPECT_EQ(RoffLine(".so /etc/passwd"), "\\&.so /etc/passwd\n");
  EXPECT_EQ(RoffLine("'so x"), "\\(aqso x\n");
  EXPECT_EQ(RoffLine("a..b .c"), "a..b .c\n") << "within a line a '.' is one";
  EXPECT_EQ(RoffLine("a\n.so x"), "a .so x\n");
}

TEST(RoffTest, AMacroHasOneArgument) { EXPECT_EQ(RoffMacro("SS", "say \"a b\""), ".SS \"say \\(dqa b\\(dq\"\n"); }

TEST(RoffTest, EveryByteIsAscii) {
  EXPECT_EQ(RoffText("\u00b5s, \u2248, \U0001F600"), R"(\[u00B5]s, \[u2248], \[u1F600])");
  EXPECT_EQ(RoffText("a\xff" "b\x01\x7f"), R"(a\[uFFFD]b  )");
}

TEST(RoffTest, FontsEndWhereTheyBegan) {
  EXPECT_EQ(RoffBold("--a"), R"(\fB\-\-a\fR)");
  EXPECT_EQ(RoffItalic("A-B"), R"(\fIA\-B\fR)");
}

}  // namespace
}  // namespace longreach
