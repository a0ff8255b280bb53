// A finished file gets a name that nobody has, on any file system.
#include "store/place_new.h"

#include <cerrno>
#include <string>

#include <unistd.h>

#include "tests/store/fixture.h"

namespace longreach::store {
namespace {

using longreach::testing::TemporaryFolder;

int NoLinksHere(const char*, const char*) {
  errno = EPERM;  // As FAT says it.
  return -1;
}

int FullDisk(const char*, const char*) {
  errno = ENOSPC;
  return -1;
}

class PlaceNewTest : public ::testing::TestWithParam<int (*)(const char*, const char*)> {
 protected:
  PlaceNewTest() { WriteFile(folder_ / "made", "a copy"); }
  TemporaryFolder folder_;
};

TEST_P(PlaceNewTest, ThereIsOneFileThenWithThatName) {
  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", GetParam()), 0);

  EXPECT_EQ(ReadWhole(folder_ / "copy.db"), "a copy");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "made"));
}

TEST_P(PlaceNewTest, WhatIsThereIsLeftAlone) {
  WriteFile(folder_ / "copy.db", "precious");

  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", GetParam()), EEXIST);

  EXPECT_EQ(ReadWhole(folder_ / "copy.db"), "precious");
  EXPECT_EQ(ReadWhole(folder_ / "made"), "a copy");
}

INSTANTIATE_TEST_SUITE_P(WithLinksAndWithout, PlaceNewTest, ::testing::Values(&link, &NoLinksHere));

TEST_F(PlaceNewTest, AnErrorLeavesNoFile) {
  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", FullDisk), ENOSPC);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.db"));

  std::filesystem::remove(folder_ / "made");
  EXPECT_EQ(PlaceNew(folder_ / "made", folder_ / "copy.db", NoLinksHere), ENOENT);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.db")) << "the name is given back";
}

}  // namespace
}  // namespace longreach::store
