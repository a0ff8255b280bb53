#include "proto/base/utf8.h"

#include <gtest/gtest.h>

#include <utility>

namespace longreach {
namespace {

TEST(TakeCodePointTest, TakesTheBytesOfACharacterOrTheOneThatBeginsNone) {
  // Each with the last byte that it may have, or the first that it may not.
  const std::pair<std::string_view, int32_t> cases[] = {
      {std::string_view("\0z", 2), 0},  {"\x7fz", 0x7f},              {"\xc2\x80z", 0x80},           {"\xdf\xbfz", 0x7ff},
      {"\xe0\xa0\x80z", 0x800},        {"\xed\x9f\xbfz", 0xd7ff},     {"\xee\x80\x80z", 0xe000},     {"\xf0\x90\x80\x80z", 0x10000},
      {"\xf4\x8f\xbf\xbfz", 0x10ffff}, {"\x80", -1},                  {"\xc1\xbf", -1},             {"\xe0\x9f\xbf", -1},
      {"\xed\xa0\x80", -1},            {"\xf0\x8f\xbf\xbf", -1},      {"\xf4\x90\x80\x80", -1},      {"\xf8\x88\x80\x80\x80", -1},
      {"\xff", -1},                    {"\xc3", -1},                  {"\xe2\x82", -1},             {"\xf0\x9f\x98", -1},
      {"\xe2z", -1}};
  for (const auto& [bytes, point] : cases) {
    std::string_view rest = bytes;
    EXPECT_EQ(TakeCodePoint(rest), point) << bytes;
    EXPECT_EQ(rest, point < 0 ? bytes.substr(1) : "z") << bytes;
  }
}

TEST(FirstNotUtf8Test, IsWhereTheFirstSuchByteIs) {
  EXPECT_EQ(FirstNotUtf8(""), std::nullopt);
  EXPECT_EQ(FirstNotUtf8("a\xc3\xa9"), std::nullopt);
  EXPECT_EQ(FirstNotUtf8("a\xc3\xa9\xe2\x82"), 3u);
}

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

TEST(OnOneLineTest, ShowsEndsOfLinesToo) {
  EXPECT_EQ(OnOneLine("Stra\xc3\x9f" "e 5 %"), "Stra\xc3\x9f" "e 5 %");
  EXPECT_EQ(OnOneLine("a\nb\r\xe2\x80\xa8\xff"), "a\\x0ab\\x0d\\xe2\\x80\\xa8\\xff");
}

TEST(ForTerminalTest, ShowsWhatATerminalWouldObeyAndKeepsTextAndItsLines) {
  const std::string kept = "two\nlines, \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ~";
  EXPECT_EQ(ForTerminal(kept), kept);
  EXPECT_EQ(ForTerminal("\x1b[31m\r\t\x7f"), "\\x1b[31m\\x0d\\x09\\x7f");
  EXPECT_EQ(ForTerminal(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(ForTerminal("\xc2\x9b!\xc2\xa0"), "\\xc2\\x9b!\xc2\xa0") << "an escape sequence may begin with U+009B alone";
  EXPECT_EQ(ForTerminal("a\xe2\x80\xae!\xd8\x9c"), "a\\xe2\\x80\\xae!\\xd8\\x9c") << "what turns the direction of text around makes another name of one";
  EXPECT_EQ(ForTerminal("\x9b!\xff"), "\\x9b!\\xff") << "and, where a terminal does not know UTF-8, with that byte";
}

}  // namespace
}  // namespace longreach
