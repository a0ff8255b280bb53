#include "proto/base/names.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/base/sha256.h"

namespace longreach {
namespace {

TEST(NamesTest, AreOfLettersDigitsAndThreeMarks) {
  EXPECT_TRUE(IsOfNameCharacters("azAZ09-_."));
  EXPECT_FALSE(IsOfNameCharacters(""));
  for (int c = -128; c < 128; ++c) {
    const bool expected = std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.").find(static_cast<char>(c)) != std::string_view::npos;
    EXPECT_EQ(IsNameCharacter(static_cast<char>(c)), expected) << c;
    EXPECT_EQ(IsOfNameCharacters(std::string("a") + static_cast<char>(c)), expected) << c;
  }
}

TEST(Sha256Test, IsSixtyFourLowerCaseHexDigits) {
  EXPECT_TRUE(IsSha256(Sha256Of("")));
  EXPECT_TRUE(IsSha256(std::string(64, 'a')));
  EXPECT_FALSE(IsSha256(std::string(63, 'a')));
  EXPECT_FALSE(IsSha256(std::string(64, 'A')));
  EXPECT_FALSE(IsSha256(std::string(64, 'g')));
  EXPECT_FALSE(IsSha256(std::string(63, 'a') + "\n"));
}

}  // namespace
}  // namespace longreach
