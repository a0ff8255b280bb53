// Whether two processes are known to share their processors, read from trees of files as Linux shows them.
#include "proto/base/processors.h"

#include <gmock/gmock.h>

#include <fstream>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace longreach {

namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

class ProcessorsTest : public ::testing::Test {
 protected:
  ProcessorsTest() { Write("proc/sys/kernel/random/boot_id", "0b3c5d1e-27a8-4a52-9a6a-5a1f6f3c2d10"); }

  void Write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  // In a group of this name.
  std::string TextIn(const std::string& group, const std::vector<int>& processors) {
    Write("proc/self/cgroup", "0::/" + group);
    return ProcessorsText(root_.path(), processors);
  }

  testing::TemporaryFolder root_;
};

TEST_F(ProcessorsTest, AreThoseOfOneMachine) {
  EXPECT_EQ(TextIn("", {0, 1, 2, 3, 8, 10, 11}), "machine 0b3c5d1e-27a8-4a52-9a6a-5a1f6f3c2d10 cpus 0-3,8,10-11");
  EXPECT_EQ(TextIn("", {5}), "machine 0b3c5d1e-27a8-4a52-9a6a-5a1f6f3c2d10 cpus 5");
  EXPECT_NE(TextIn("", {0, 1}), TextIn("", {2, 3})) << "other ones are another device";

  const std::string before = TextIn("", {0, 1});
  Write("proc/sys/kernel/random/boot_id", "another");
  EXPECT_NE(TextIn("", {0, 1}), before);
}

TEST_F(ProcessorsTest, OfAMachineThatDoesNotSayWhichItIsNothingIsSaid) {
  std::filesystem::remove(root_ / "proc/sys/kernel/random/boot_id");
  EXPECT_EQ(TextIn("", {0, 1}), "");
}

TEST_F(ProcessorsTest, AGroupThatHasLessTimeThanThereIsIsOneOfItsOwn) {
  Write("sys/fs/cgroup/cgroup.controllers", "cpu memory");
  Write("sys/fs/cgroup/a/cpu.max", "200000 100000");
  Write("sys/fs/cgroup/b/cpu.max", "200000 100000");
  Write("sys/fs/cgroup/b/worker/cpu.max", "max 100000");
  const std::vector<int> four = {0, 1, 2, 3};

  EXPECT_THAT(TextIn("a", four), StartsWith("machine 0b3c5d1e-27a8-4a52-9a6a-5a1f6f3c2d10 cpus 0-3 group "));
  EXPECT_NE(TextIn("a", four), TextIn("b", four));
  EXPECT_EQ(TextIn("b/worker", four), TextIn("b", four)) << "the time is that of the group above";
  EXPECT_THAT(TextIn("a", {0, 1}), EndsWith(" cpus 0-1")) << "it has time for both";
}

TEST_F(ProcessorsTest, AListOfAnyLengthHasATextThatACallCarries) {
  std::vector<int> odd, even;
  for (int number = 0; number < 1024; number += 2) {
    even.push_back(number);
    odd.push_back(number + 1);
  }
  EXPECT_LE(TextIn("", odd).size(), 256U);
  EXPECT_NE(TextIn("", odd), TextIn("", even));
  EXPECT_EQ(TextIn("", odd), TextIn("", odd));
}

TEST(OwnProcessorsTest, AreTheSameWheneverTheyAreAskedFor) {
  EXPECT_EQ(OwnProcessors(), OwnProcessors());
  EXPECT_LE(OwnProcessors().size(), 256U);
}

}  // namespace

}  // namespace longreach
