// What this process may use of its machine.
#pragma once

#include <filesystem>
#include <limits>

namespace longreach {

// What control groups set (containers, Slurm, systemd's CPUQuota and MemoryMax): the least of the process's own group and all above it.
// Infinite where nothing is set.
struct GroupLimits {
  double cores = std::numeric_limits<double>::infinity();
  std::filesystem::path cores_by = {};  // The folder of the group that sets them.
  double memory_bytes = std::numeric_limits<double>::infinity();
};

// Of cgroup version 2, or version 1 where its controllers are. Files are looked for below `root`: "/", but for tests.
GroupLimits ReadGroupLimits(const std::filesystem::path& root);

// Threads that compute at the same time: the cores that the process may run on, and no more than its groups give it time for; at least 1.
int AvailableThreads();

// Bytes: what the machine has, and no more than the groups allow.
double AvailableMemory();

}  // namespace longreach
