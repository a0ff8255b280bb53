#include "proto/base/utf8.h"

#include <gtest/gtest.h>

namespace longreach {
namespace {

TEST(ValidUtf8Test, KeepsWhatIsTextAndReplacesTheRest) {
  const std::string kept = "a\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(ValidUtf8(kept), kept);
  EXPECT_EQ(ValidUtf8("a\x80z"), "a" + mark + "z");
  EXPECT_EQ(ValidUtf8("\xc3"), mark);
  EXPECT_EQ(ValidUtf8("\xe2\x82z"), mark + mark + "z");
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), mark + mark);              // Longer than needed.
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80"), mark + mark + mark);   // Half of a surrogate pair.
  EXPECT_EQ(ValidUtf8("\xf4\x90\x80\x80"), mark + mark + mark + mark);
}

}  // namespace
}  // namespace longreach
