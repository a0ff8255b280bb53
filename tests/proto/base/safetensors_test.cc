#include "proto/base/safetensors.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/temporary_folder.h"

namespace longreach {
namespace {

// Of a header shorter than 256 bytes.
std::string FileOf(std::string_view header, std::string_view payload) {
  return std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + std::string(header) + std::string(payload);
}

class SafetensorsTest : public ::testing::Test {
 protected:
  absl::StatusOr<SafetensorsHeader> OnDisk(std::string_view bytes) const {
    std::ofstream(file_, std::ios::binary) << bytes;
    ASSIGN_OR_RETURN(const FileToRead opened, FileToRead::Open(file_));
    return SafetensorsHeader::ReadFrom(opened);
  }

  testing::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "x.safetensors";
};

TEST_F(SafetensorsTest, TheHeaderOfAFileOnDiskIsThatOfItsBytes) {
  const std::string bytes = FileOf(R"({"__metadata__":{"step":"5"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");

  for (const absl::StatusOr<SafetensorsHeader>& header : {SafetensorsHeader::Parse(bytes), OnDisk(bytes)}) {
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->payload_begin, bytes.size() - 8);
    EXPECT_EQ(header->Metadata("step"), "5");
    ASSERT_NE(header->Find("x"), nullptr);
    EXPECT_EQ(header->Find("x")->end, 8u);
  }
}

TEST_F(SafetensorsTest, WhatDoesNotFitItsFileIsRefusedInTheSameWordsAndOnDiskByName) {
  const std::string whole = FileOf(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
  for (const std::string& bytes : {std::string(), whole.substr(0, 7), whole.substr(0, 20), whole.substr(0, whole.size() - 1), whole + "9", FileOf("[]", "")}) {
    const absl::Status in_memory = SafetensorsHeader::Parse(bytes).status();
    const absl::Status on_disk = OnDisk(bytes).status();

    EXPECT_EQ(in_memory.code(), absl::StatusCode::kDataLoss) << bytes.size() << " bytes";
    EXPECT_EQ(on_disk.code(), absl::StatusCode::kDataLoss) << bytes.size() << " bytes";
    EXPECT_EQ(std::string(on_disk.message()), file_.string() + ": " + std::string(in_memory.message()));
  }
}

}  // namespace
}  // namespace longreach
