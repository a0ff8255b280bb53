#include "proto/access/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "proto/base/text.h"

namespace longreach::access {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TokensTest, ATokenIsFoundByItselfAndByNothingElse) {
  const std::string bob = NewToken();
  const std::string gpu = NewToken();
  const auto tokens = ParseTokens(
      Text("# ours\n\n", TokenLine(v1::ROLE_READER, "bob", bob), "\n", TokenLine(v1::ROLE_WORKER, "gpu-a", gpu), "\n"), "tokens");
  ASSERT_TRUE(tokens.ok()) << tokens.status();

  ASSERT_NE(FindToken(*tokens, bob), nullptr);
  EXPECT_EQ(FindToken(*tokens, bob)->name, "bob");
  EXPECT_EQ(FindToken(*tokens, bob)->role, v1::ROLE_READER);
  EXPECT_EQ(FindToken(*tokens, gpu)->name, "gpu-a");
  EXPECT_EQ(FindToken(*tokens, gpu)->line, 4);
  for (const std::string& shown : {std::string(), Text(bob, " "), bob.substr(1), bob.substr(0, bob.size() - 1), NewToken(), Sha256Of(bob)}) {
    EXPECT_EQ(FindToken(*tokens, shown), nullptr) << shown;
  }
}

TEST(TokensTest, TwoTokensDiffer) {
  EXPECT_NE(NewToken(), NewToken());
  EXPECT_THAT(NewToken(), ::testing::MatchesRegex("longreach_[0-9a-f]{64}"));
}

TEST(TokensTest, TheListsLineDoesNotHoldTheToken) {
  const std::string token = NewToken();
  EXPECT_THAT(TokenLine(v1::ROLE_CLIENT, "ann", token), Not(HasSubstr(token)));
}

TEST(TokensTest, AListThatIsNotOneIsRefusedWithTheLineAndWithoutItsText) {
  const std::string hash = Sha256Of("x");
  const std::string token = NewToken();
  const std::string good = Text("reader bob ", hash, "\n");
  for (const std::string& bad : {Text("reader bob"), token, Text("reader bob abc"), Text("admin bob ", hash), Text("reader b/b ", hash),
                                 Text("reader ", std::string(65, 'b'), " ", hash), Text("reader bob ", hash, " x"),
                                 Text("client bob ", Sha256Of("y")), Text("client ann ", hash)}) {
    const auto tokens = ParseTokens(Text(good, bad, "\n"), "the-list");
    ASSERT_FALSE(tokens.ok()) << bad;
    EXPECT_EQ(tokens.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(tokens.status().message()), HasSubstr("the-list:2:"));
    EXPECT_THAT(std::string(tokens.status().message()), Not(HasSubstr(token)));
  }
}

TEST(TokensTest, ThereIsALimit) {
  std::string list;
  for (size_t i = 0; i <= kMaxTokens; ++i) list += Text(TokenLine(v1::ROLE_READER, Text("n", i), Text(i)), "\n");
  EXPECT_FALSE(ParseTokens(list, "tokens").ok());
}

}  // namespace
}  // namespace longreach::access
