#include "scheduler/service/access/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "proto/base/text.h"
#include "tests/scheduler/service/access/silent_log.h"
#include "tests/scheduler/service/access/still_clock.h"
#include "tests/support/temporary_folder.h"

namespace longreach::service {
namespace {

class TokenFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path_) << text; }

  testing::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "tokens";
  StillClock clock_;
  SilentLog log_{clock_};
};

TEST_F(TokenFileTest, AnAddedTokenHoldsAtOnce) {
  Write(Text(access::TokenLine(v1::ROLE_READER, "ann", "a"), "\n"));
  const auto file = TokenFile::Open(path_, clock_, log_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->Find("b"), std::nullopt);
  Write(Text(access::TokenLine(v1::ROLE_READER, "ann", "a"), "\n", access::TokenLine(v1::ROLE_CLIENT, "bobby", "b"), "\n"));
  EXPECT_EQ((*file)->Find("b")->name, "bobby");
}

TEST_F(TokenFileTest, ATokenThatIsTakenAwayHoldsForASecondAtMost) {
  Write(Text(access::TokenLine(v1::ROLE_READER, "ann", "a"), "\n"));
  const auto file = TokenFile::Open(path_, clock_, log_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->Find("a")->name, "ann");
  EXPECT_EQ((*file)->Find("b"), std::nullopt);

  Write(Text(access::TokenLine(v1::ROLE_CLIENT, "bobby", "b"), "\n"));
  EXPECT_TRUE((*file)->Find("a").has_value());
  clock_.now += TokenFile::kEvery;
  EXPECT_EQ((*file)->Find("a"), std::nullopt);
  EXPECT_EQ((*file)->Find("b")->role, v1::ROLE_CLIENT);
}

TEST_F(TokenFileTest, AChangeIsToldOnceAndTheFirstReadingIsNone) {
  Write(Text(access::TokenLine(v1::ROLE_READER, "ann", "a"), "\n"));
  std::vector<size_t> told;
  const auto file = TokenFile::Open(path_, clock_, log_, [&told](size_t tokens) { told.push_back(tokens); });
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->Find("b"), std::nullopt);
  EXPECT_TRUE(told.empty());

  Write(Text(access::TokenLine(v1::ROLE_READER, "ann", "a"), "\n", access::TokenLine(v1::ROLE_CLIENT, "bobby", "b"), "\n"));
  EXPECT_TRUE((*file)->Find("b").has_value());
  clock_.now += TokenFile::kEvery;
  EXPECT_EQ((*file)->Find("c"), std::nullopt);
  EXPECT_EQ(told, std::vector<size_t>{2});
}

TEST_F(TokenFileTest, OneThatWasFoundIsFoundAgainAsItIsThen) {
  Write(Text(access::TokenLine(v1::ROLE_READER, "ann", "a"), "\n"));
  const auto file = TokenFile::Open(path_, clock_, log_);
  ASSERT_TRUE(file.ok()) << file.status();
  const std::optional<access::Token> ann = (*file)->Find("a");
  ASSERT_TRUE(ann.has_value());

  Write(Text(access::TokenLine(v1::ROLE_CLIENT, "ann-now", "a"), "\n"));
  EXPECT_EQ((*file)->FindAgain(*ann)->role, v1::ROLE_READER);
  clock_.now += TokenFile::kEvery;
  EXPECT_EQ((*file)->FindAgain(*ann)->role, v1::ROLE_CLIENT);
  Write("# nobody, with a line of another length\n");
  clock_.now += TokenFile::kEvery;
  EXPECT_EQ((*file)->FindAgain(*ann), std::nullopt);
}

TEST_F(TokenFileTest, AWrongListIsLoggedOnceAndChangesNothing) {
  Write(Text(access::TokenLine(v1::ROLE_READER, "ann", "a"), "\n"));
  const auto file = TokenFile::Open(path_, clock_, log_);
  Write("a secret that somebody pasted\n");
  for (int i = 0; i < 3; ++i) {
    clock_.now += TokenFile::kEvery;
    EXPECT_TRUE((*file)->Find("a").has_value());
  }
  EXPECT_EQ(log_.lines, 1);
  std::filesystem::remove(path_);
  clock_.now += TokenFile::kEvery;
  EXPECT_TRUE((*file)->Find("a").has_value());
  EXPECT_EQ(log_.lines, 2);
}

TEST_F(TokenFileTest, AListThatIsNotThereIsAnError) {
  EXPECT_FALSE(TokenFile::Open(path_, clock_, log_).ok());
}

}  // namespace
}  // namespace longreach::service
