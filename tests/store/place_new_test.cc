// A finished file gets a name that nobody has, on any file system.
#include "store/place_new.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using longreach::testing::TemporaryFolder;

int NoLinksHere(const char*, const char*) {
  errno = EPERM;  // As FAT says it.
  return -1;
}

int NoSuchRename(const char*, const char*) {
  errno = EINVAL;  // As NFS says it.
  return -1;
}

// A file system with links, one without, one that cannot rename to a new name either, and one that has no symbolic links besides.
enum class Has { kLinks, kRename, kSymbolicLinks, kNothing };

// What is found under the name before the last step, with which a kill may come.
std::string found_before_renaming;

int LookAndRename(const char* made, const char* target) {
  found_before_renaming = ReadWhole(target);
  return std::rename(made, target);
}

PlacingCalls CallsWith(Has what) {
  PlacingCalls calls = SystemCalls();
  if (what != Has::kLinks) calls.link = NoLinksHere;
  if (what == Has::kSymbolicLinks || what == Has::kNothing) calls.rename_to_new = NoSuchRename;
  if (what == Has::kNothing) calls.symbolic_link = NoLinksHere;
  calls.rename = LookAndRename;
  return calls;
}

int FullDisk(const char*, const char*) {
  errno = ENOSPC;
  return -1;
}

class PlaceNewTest : public ::testing::TestWithParam<Has> {
 protected:
  PlaceNewTest() { WriteFile(folder_ / "made", "a copy"); }
  TemporaryFolder folder_;
};

TEST_P(PlaceNewTest, ThereIsOneFileThenWithThatName) {
  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", CallsWith(GetParam())), 0);

  EXPECT_EQ(ReadWhole(folder_ / "copy.db"), "a copy");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(folder_ / "copy.db")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "made"));
}

TEST_P(PlaceNewTest, WhatIsThereIsLeftAlone) {
  WriteFile(folder_ / "copy.db", "precious");

  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", CallsWith(GetParam())), EEXIST);

  EXPECT_EQ(ReadWhole(folder_ / "copy.db"), "precious");
  EXPECT_EQ(ReadWhole(folder_ / "made"), "a copy");
}

INSTANTIATE_TEST_SUITE_P(WithLinksAndWithout, PlaceNewTest, ::testing::Values(Has::kLinks, Has::kRename, Has::kSymbolicLinks, Has::kNothing));

TEST_P(PlaceNewTest, AnErrorLeavesNoFile) {
  std::filesystem::remove(folder_ / "made");

  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", CallsWith(GetParam())), ENOENT);

  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(folder_ / "copy.db"))) << "the name is given back";
}

TEST(PlaceNewKillTest, AKillBeforeTheLastStepLeavesAllOfTheFileUnderItsNameOrWhatSaysThatItIsNotThat) {
  const TemporaryFolder folder;
  WriteFile(folder / "made", "a copy");
  found_before_renaming.clear();
  ASSERT_EQ(PlaceNew(folder / "made", folder / "copy.db", CallsWith(Has::kSymbolicLinks)), 0);
  EXPECT_EQ(found_before_renaming, "a copy");

  WriteFile(folder / "made", "another copy");
  found_before_renaming.clear();
  ASSERT_EQ(PlaceNew(folder / "made", folder / "another.db", CallsWith(Has::kNothing)), 0);
  EXPECT_THAT(found_before_renaming, ::testing::StartsWith("Not the copy"));
}

TEST(PlaceNewErrorTest, WhatIsNoMatterOfTheFileSystemIsNotTriedAnotherWay) {
  const TemporaryFolder folder;
  WriteFile(folder / "made", "a copy");
  PlacingCalls full = SystemCalls();
  full.link = FullDisk;

  EXPECT_EQ(PlaceNew(folder / "made", folder / "copy.db", full), ENOSPC);

  EXPECT_FALSE(std::filesystem::exists(folder / "copy.db"));
  EXPECT_EQ(ReadWhole(folder / "made"), "a copy");
}

}  // namespace
}  // namespace longreach::store
