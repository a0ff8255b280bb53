#include "proto/base/file_to_read.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/support/temporary_folder.h"

namespace longreach {
namespace {

class FileToReadTest : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_;
};

TEST_F(FileToReadTest, ReadsFromAnyPlaceOfTheFile) {
  std::ofstream(folder_ / "file", std::ios::binary) << "0123456789";
  absl::StatusOr<FileToRead> opened = FileToRead::Open(folder_ / "file");
  ASSERT_TRUE(opened.ok()) << opened.status();
  const FileToRead file = *std::move(opened);

  EXPECT_EQ(file.bytes(), 10u);
  std::string bytes(3, ' ');
  EXPECT_TRUE(file.Read(7, bytes).ok());
  EXPECT_EQ(bytes, "789");
  EXPECT_TRUE(file.Read(0, bytes).ok());
  EXPECT_EQ(bytes, "012");
  EXPECT_TRUE(file.Read(10, {}).ok());
}

TEST_F(FileToReadTest, BytesThatAreNotThereAreAnErrorThatNamesTheFile) {
  std::ofstream(folder_ / "file", std::ios::binary) << "0123456789";
  const absl::StatusOr<FileToRead> file = FileToRead::Open(folder_ / "file");
  ASSERT_TRUE(file.ok()) << file.status();
  std::string bytes(3, ' ');

  std::filesystem::resize_file(folder_ / "file", 8);

  const absl::Status read = file->Read(7, bytes);
  EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(read.message(), (folder_ / "file").string() + ": ends before its byte 8: it was cut off meanwhile");
}

TEST_F(FileToReadTest, OpensNothingButAFile) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);  // Nobody writes into it.
  std::filesystem::create_directory(folder_ / "folder");
  std::ofstream(folder_ / "file") << "0123456789";

  EXPECT_EQ(FileToRead::Open(folder_ / "pipe").status().code(), absl::StatusCode::kDataLoss);
  const absl::Status folder = FileToRead::Open(folder_ / "folder").status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(folder.message(), (folder_ / "folder").string() + " is not a regular file");
  for (const char* absent : {"none", "none/file", "file/file"}) {
    EXPECT_EQ(FileToRead::Open(folder_ / absent).status().code(), absl::StatusCode::kNotFound) << absent;
  }
}

}  // namespace
}  // namespace longreach
