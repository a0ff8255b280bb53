// Files that the client writes: never over another one unasked, and in place of one with its owner's rights.
#include "client/new_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "tests/client/support.h"

namespace longreach::client {
namespace {

std::string Content(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

mode_t ModeOf(const std::filesystem::path& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 ? found.st_mode & 07777 : 0;
}

TEST(NewFileTest, IsNeverWrittenOverAnother) {
  const TempFolder folder;
  ASSERT_TRUE(WriteNewFile(folder.path() / "a", "one").ok());
  EXPECT_EQ(ModeOf(folder.path() / "a"), 0600u);
  EXPECT_EQ(WriteNewFile(folder.path() / "a", "two").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Content(folder.path() / "a"), "one");
}

TEST(NewFileTest, WhatIsThereIsCalledWhatItIs) {
  const TempFolder folder;
  folder.Write("a", "one");
  EXPECT_THAT(std::string(CheckNewFile(folder.path() / "a").message()), ::testing::HasSubstr("there is a file " + (folder.path() / "a").string() + " already"));
  EXPECT_THAT(std::string(CheckNewFile(folder.path()).message()), ::testing::HasSubstr("there is a folder " + folder.path().string() + " already"));
}

TEST(NewFileTest, AFolderThatIsNotThereIsSaidToBeMade) {
  const TempFolder folder;
  const absl::Status status = WriteNewFile(folder.path() / "none" / "a", "one");
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("No such file or directory\nmake its folder, or name a file elsewhere"));
}

TEST(NewFileTest, ARenameNeverTakesThePlaceOfAnother) {
  const TempFolder folder;
  folder.Write("fetched", "one");
  folder.Write("there", "two");
  EXPECT_EQ(RenameToNewFile(folder.path() / "fetched", folder.path() / "there").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Content(folder.path() / "there"), "two");
  ASSERT_TRUE(RenameToNewFile(folder.path() / "fetched", folder.path() / "new").ok());
  EXPECT_EQ(Content(folder.path() / "new"), "one");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "fetched"));
}

TEST(NewFileTest, WhatReplacesAFileMayBeReadByWhomTheFileWas) {
  const TempFolder folder;
  const std::filesystem::path tokens = folder.path() / "tokens", link = folder.path() / "link";
  folder.Write("tokens", "one");
  chmod(tokens.c_str(), 0640);
  std::filesystem::create_symlink("tokens", link);

  ASSERT_TRUE(ReplaceFile(link, "two").ok());

  EXPECT_EQ(Content(tokens), "two");
  EXPECT_EQ(ModeOf(tokens), 0640u);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2) << "nothing is left beside it";
  ASSERT_TRUE(ReplaceFile(folder.path() / "new", "three").ok());
  EXPECT_EQ(ModeOf(folder.path() / "new"), 0600u);
}

}  // namespace
}  // namespace longreach::client
