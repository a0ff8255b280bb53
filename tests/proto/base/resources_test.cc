// What control groups leave of a machine, read from trees of files as Linux shows them.
#include "proto/base/resources.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace longreach {

namespace {

class ReadGroupLimitsTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }

  void ExpectLimits(double cores, double memory_bytes) {
    const GroupLimits limits = ReadGroupLimits(root_.path());
    EXPECT_DOUBLE_EQ(limits.cores, cores);
    EXPECT_DOUBLE_EQ(limits.memory_bytes, memory_bytes);
  }

  static constexpr double kNone = std::numeric_limits<double>::infinity();
  testing::TemporaryFolder root_;
};

TEST_F(ReadGroupLimitsTest, WithoutGroupsThereAreNone) { ExpectLimits(kNone, kNone); }

TEST_F(ReadGroupLimitsTest, TheLeastOfAGroupAndThoseAboveItCounts) {
  Write("sys/fs/cgroup/cgroup.controllers", "cpu memory");
  Write("proc/self/cgroup", "0::/system.slice/worker.service");
  Write("sys/fs/cgroup/system.slice/cpu.max", "300000 100000");
  Write("sys/fs/cgroup/system.slice/memory.max", "1000000");
  Write("sys/fs/cgroup/system.slice/worker.service/cpu.max", "max 100000");
  Write("sys/fs/cgroup/system.slice/worker.service/memory.max", "2000000");
  ExpectLimits(3, 1'000'000);

  Write("sys/fs/cgroup/system.slice/worker.service/cpu.max", "75000 50000");
  Write("sys/fs/cgroup/system.slice/worker.service/memory.max", "500000");
  ExpectLimits(1.5, 500'000);

  // Another group's are not its own.
  Write("sys/fs/cgroup/system.slice/other.service/cpu.max", "1000 100000");
  ExpectLimits(1.5, 500'000);
}

TEST_F(ReadGroupLimitsTest, InAContainerTheRootOfWhatIsMountedIsTheGroup) {
  Write("sys/fs/cgroup/cgroup.controllers", "cpu memory");
  Write("proc/self/cgroup", "0::/");
  Write("sys/fs/cgroup/cpu.max", "200000 100000");
  Write("sys/fs/cgroup/memory.max", "max");
  ExpectLimits(2, kNone);

  // Or the group has a name that is only known outside.
  Write("proc/self/cgroup", "0::/docker/1f3a");
  ExpectLimits(2, kNone);
}

TEST_F(ReadGroupLimitsTest, OfVersionOneEachControllerHasItsOwnGroup) {
  Write("proc/self/cgroup", "9:name=systemd:/a\n4:memory:/slurm/job_7\n2:cpu,cpuacct:/slurm\n0::/");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  Write("sys/fs/cgroup/cpu/slurm/cpu.cfs_quota_us", "400000");
  Write("sys/fs/cgroup/cpu/slurm/cpu.cfs_period_us", "100000");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  Write("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "3000000");
  ExpectLimits(4, 3'000'000);
}

TEST_F(ReadGroupLimitsTest, WhatIsNoNumberIsNoLimit) {
  Write("sys/fs/cgroup/cgroup.controllers", "");
  Write("proc/self/cgroup", "what is this");
  Write("sys/fs/cgroup/cpu.max", "");
  Write("sys/fs/cgroup/memory.max", "-5");
  ExpectLimits(kNone, kNone);
  Write("sys/fs/cgroup/cpu.max", "100000 0");
  ExpectLimits(kNone, kNone);
}

TEST(ResourcesTest, ThereIsAlwaysSomethingToWorkWith) {
  EXPECT_GE(AvailableThreads(), 1);
  EXPECT_GT(AvailableMemory(), 0);
}

}  // namespace

}  // namespace longreach
