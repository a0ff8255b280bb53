#include "proto/base/resources.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "proto/base/text.h"

namespace longreach {

namespace {

namespace fs = std::filesystem;

// The words of a file's first line; none if there is no such file.
std::vector<std::string> Words(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  std::istringstream words(line);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

// A number above 0, or nothing: "max", "-1", no file.
std::optional<double> NumberAt(const fs::path& file, size_t word = 0) {
  const std::vector<std::string> words = Words(file);
  const std::optional<double> number = word < words.size() ? ParseDouble(words[word]) : std::nullopt;
  return number && *number > 0 ? number : std::nullopt;
}

// The process's group in a hierarchy: that of version 2 if `controller` is empty. "/" if it has none.
fs::path GroupOf(const fs::path& root, const std::string& controller) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    // "4:cpu,cpuacct:/a/b", "0::/a/b".
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string all = line.substr(first + 1, second - first - 1);
    if (all == controller) return line.substr(second + 1);
    std::istringstream controllers(all);
    for (std::string one; std::getline(controllers, one, ',');) {
      if (one == controller) return line.substr(second + 1);
    }
  }
  return "/";
}

// Calls look(folder) for a group and all above it, as far as they can be seen: inside of a container its own group is often the
// root of what is mounted, whatever its name outside.
void UpTheGroups(const fs::path& mount, const fs::path& group, const std::function<void(const fs::path&)>& look) {
  look(mount);
  fs::path folder = mount;
  for (const fs::path& part : group.relative_path()) {
    folder /= part;
    look(folder);
  }
}

}  // namespace

GroupLimits ReadGroupLimits(const fs::path& root) {
  GroupLimits limits;
  const auto limit_cores = [&](const fs::path& folder, std::optional<double> quota, std::optional<double> period) {
    if (!quota || !period || *quota / *period >= limits.cores) return;
    limits.cores = *quota / *period;
    limits.cores_by = folder;
  };
  const auto limit_memory = [&](std::optional<double> bytes) {
    if (bytes) limits.memory_bytes = std::min(limits.memory_bytes, *bytes);
  };
  const fs::path mount = root / "sys/fs/cgroup";
  std::error_code ignored;
  if (fs::exists(mount / "cgroup.controllers", ignored)) {
    UpTheGroups(mount, GroupOf(root, ""), [&](const fs::path& folder) {
      limit_cores(folder, NumberAt(folder / "cpu.max", 0), NumberAt(folder / "cpu.max", 1));
      limit_memory(NumberAt(folder / "memory.max"));
    });
    return limits;
  }
  UpTheGroups(mount / "cpu", GroupOf(root, "cpu"), [&](const fs::path& folder) {
    limit_cores(folder, NumberAt(folder / "cpu.cfs_quota_us"), NumberAt(folder / "cpu.cfs_period_us"));
  });
  UpTheGroups(mount / "memory", GroupOf(root, "memory"),
              [&](const fs::path& folder) { limit_memory(NumberAt(folder / "memory.limit_in_bytes")); });
  return limits;
}

int AvailableThreads() {
  cpu_set_t set;
  const int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(std::thread::hardware_concurrency());
  // Of one core and a half two threads make more than one.
  return static_cast<int>(std::max(1.0, std::min(static_cast<double>(cores), std::ceil(ReadGroupLimits("/").cores))));
}

double AvailableMemory() {
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::min(machine, ReadGroupLimits("/").memory_bytes);
}

}  // namespace longreach
