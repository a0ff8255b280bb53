#include "proto/base/sha256.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>

#include "tests/support/temporary_folder.h"

namespace longreach {
namespace {

// Of several reads, the last of which is shorter.
constexpr size_t kLong = (size_t{5} << 19) + 7;

class Sha256OfFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& bytes) { std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes; }

  testing::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "file";
  std::atomic<int64_t> read_{0};
};

TEST_F(Sha256OfFileTest, IsThatOfTheFilesBytes) {
  for (const size_t bytes : {size_t{0}, size_t{10}, kLong}) {
    const std::string content(bytes, 'a');
    Write(content);
    EXPECT_EQ(Sha256OfFile(file_).value_or("none"), Sha256Of(content)) << bytes;
  }
  EXPECT_EQ(Sha256Of("0123456789"), "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882");
}

TEST_F(Sha256OfFileTest, BeginsAtTheByteThatIsAskedFor) {
  Write(std::string(kLong, 'a') + "0123456789");
  EXPECT_EQ(Sha256OfFile(file_, kLong).value_or("none"), Sha256Of("0123456789"));
  EXPECT_EQ(Sha256OfFile(file_, kLong + 10).value_or("none"), Sha256Of(""));
  EXPECT_EQ(Sha256OfFile(file_, kLong + 11).value_or("none"), Sha256Of(""));
}

TEST_F(Sha256OfFileTest, CountsWhatItReads) {
  Write(std::string(kLong, 'a'));
  EXPECT_TRUE(Sha256OfFile(file_, 0, {}, &read_).ok());
  EXPECT_EQ(read_, static_cast<int64_t>(kLong));
  EXPECT_TRUE(Sha256OfFile(file_, 7, {}, &read_).ok());
  EXPECT_EQ(read_, static_cast<int64_t>(2 * kLong - 7));
}

TEST_F(Sha256OfFileTest, IsCalledOff) {
  Write("0123456789");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Sha256OfFile(file_, 0, stop.get_token(), &read_).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(read_, 0);
}

TEST_F(Sha256OfFileTest, WhatCannotBeReadIsAnErrorThatNamesTheFile) {
  const absl::Status missing = Sha256OfFile(file_).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find(file_.string().c_str()), std::string::npos) << missing;
  EXPECT_EQ(Sha256OfFile(folder_.path()).status().code(), absl::StatusCode::kDataLoss) << "a folder";
}

}  // namespace
}  // namespace longreach
