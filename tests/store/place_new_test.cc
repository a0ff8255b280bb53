// A finished file gets a name that nobody has, on any file system.
#include "store/place_new.h"

#include <cerrno>
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

// A file system with links, one without, and one that cannot rename to a new name either.
enum class Has { kLinks, kRename, kNeither };

PlacingCalls CallsWith(Has what) {
  PlacingCalls calls = SystemCalls();
  if (what != Has::kLinks) calls.link = NoLinksHere;
  if (what == Has::kNeither) calls.rename_to_new = NoSuchRename;
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
  EXPECT_FALSE(std::filesystem::exists(folder_ / "made"));
}

TEST_P(PlaceNewTest, WhatIsThereIsLeftAlone) {
  WriteFile(folder_ / "copy.db", "precious");

  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", CallsWith(GetParam())), EEXIST);

  EXPECT_EQ(ReadWhole(folder_ / "copy.db"), "precious");
  EXPECT_EQ(ReadWhole(folder_ / "made"), "a copy");
}

INSTANTIATE_TEST_SUITE_P(WithLinksAndWithout, PlaceNewTest, ::testing::Values(Has::kLinks, Has::kRename, Has::kNeither));

TEST_P(PlaceNewTest, AnErrorLeavesNoFile) {
  std::filesystem::remove(folder_ / "made");

  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", CallsWith(GetParam())), ENOENT);

  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.db")) << "the name is given back";
}

TEST(PlaceNewErrorTest, WhatIsNoMatterOfTheFileSystemIsNotTriedAnotherWay) {
  const TemporaryFolder folder;
  WriteFile(folder / "made", "a copy");

  EXPECT_EQ(PlaceNew(folder / "made", folder / "copy.db", {.link = FullDisk, .rename_to_new = SystemCalls().rename_to_new}), ENOSPC);

  EXPECT_FALSE(std::filesystem::exists(folder / "copy.db"));
  EXPECT_EQ(ReadWhole(folder / "made"), "a copy");
}

}  // namespace
}  // namespace longreach::store
