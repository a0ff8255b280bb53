// Packed files of tokens, whole and damaged.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/data/packed_tokens.h"

namespace longreach::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PackedTokensTest : public ::testing::Test {
 protected:
  void SetUp() override { file_ = ::testing::TempDir() + "/packed_" + ::testing::UnitTest::GetInstance()->current_test_info()->name(); }
  void TearDown() override { std::filesystem::remove(file_); }
  void Write(std::string bytes) { std::ofstream(file_, std::ios::binary) << bytes; }
  std::string Refusal(const std::string& bytes) {
    Write(bytes);
    const absl::StatusOr<PackedTokens> packed = PackedTokens::Open(file_);
    EXPECT_EQ(packed.status().code(), absl::StatusCode::kDataLoss) << packed.status();
    return std::string(packed.status().message());
  }

  std::string file_;
  // Seven tokens: 0 to 5, and 65535.
  const std::string good_ = std::string("LITPKDS\1\0\0\0\0\0\0\0\10\7\0\0\0\0\0\0\0",
      24) + std::string("\0\0\1\0\2\0\3\0\4\0\5\0\377\377", 14);
};

TEST_F(PackedTokensTest, BlocksDoNotOverlapAndTheRestIsDropped) {
  Write(good_);
  const absl::StatusOr<PackedTokens> packed = PackedTokens::Open(file_);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->tokens(), 7);
  EXPECT_EQ(packed->Blocks(3), 2);
  EXPECT_THAT(packed->Block(1, 3).value(), ElementsAre(3, 4, 5));
  EXPECT_THAT(packed->Block(0, 7).value(), ElementsAre(0, 1, 2, 3, 4, 5, 65535));
  EXPECT_EQ(packed->Blocks(8), 0);
  EXPECT_EQ(packed->Blocks(0), 0);
}

TEST_F(PackedTokensTest, RefusesWhatIsDamagedOrOfAnotherKind) {
  EXPECT_THAT(Refusal(""), HasSubstr("does not begin with 'LITPKDS'"));
  EXPECT_THAT(Refusal(good_.substr(0, 20)), HasSubstr("does not begin with 'LITPKDS'"));
  EXPECT_THAT(Refusal("L" + good_), HasSubstr("does not begin with 'LITPKDS'"));
  EXPECT_THAT(Refusal(good_.substr(0, 35)), HasSubstr("said to hold 7 tokens, but 11 bytes follow"));
  EXPECT_THAT(Refusal(good_ + "ab"), HasSubstr("said to hold 7 tokens, but 16 bytes follow"));
  std::string other = good_;
  other[7] = 2;
  EXPECT_THAT(Refusal(other), HasSubstr("is of version 2, expected 1"));
  other = good_;
  other[15] = 4;
  EXPECT_THAT(Refusal(other), HasSubstr("its ids are of type 4, expected 8"));
  other = good_;
  other[23] = '\x80';  // A count whose bytes would overflow.
  EXPECT_THAT(Refusal(other), HasSubstr("is said to hold"));
}

TEST_F(PackedTokensTest, AFileThatIsCutOffMeanwhileIsAnError) {
  Write(good_);
  const absl::StatusOr<PackedTokens> packed = PackedTokens::Open(file_);
  ASSERT_TRUE(packed.ok()) << packed.status();

  std::filesystem::resize_file(file_, 30);

  EXPECT_THAT(packed->Ids(0, 3).value(), ElementsAre(0, 1, 2));
  EXPECT_EQ(packed->Ids(0, 4).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(PackedTokensTest, SaysWhichFileIsNotThere) {
  EXPECT_THAT(std::string(PackedTokens::Open(file_).status().message()), HasSubstr(file_));
}

}  // namespace
}  // namespace longreach::data
