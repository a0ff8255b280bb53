#include "proto/base/processors.h"

#include <sched.h>
#include <sys/stat.h>

#include <fstream>
#include <string_view>
#include <vector>

#include "proto/base/instruction_sets.h"
#include "proto/base/resources.h"
#include "proto/base/sha256.h"
#include "proto/base/text.h"

namespace longreach {

namespace {

// Most lists are short ("0-15"). One that is not, as every second of 256, is told by its hash.
constexpr size_t kMaxListBytes = 100;

// "0-3,8".
std::string ListOf(std::span<const int> processors) {
  std::string list;
  for (size_t first = 0; first < processors.size();) {
    size_t last = first;
    while (last + 1 < processors.size() && processors[last + 1] == processors[last] + 1) ++last;
    list += Text(list.empty() ? "" : ",", processors[first]);
    if (last > first) list += Text("-", processors[last]);
    first = last + 1;
  }
  return list.size() <= kMaxListBytes ? list : Text(processors.size(), " of them, ", Sha256Of(list).substr(0, 16));
}

// A group has a number that no other of the machine has, whatever it is called within a container.
std::string NumberOf(const std::filesystem::path& group) {
  struct stat found = {};
  return stat(group.c_str(), &found) == 0 ? Text(" group ", found.st_ino) : "";
}

std::string CpuModel() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos) {
      return std::string(Trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return "CPU";
}

std::string WidestRegisters() {
#if defined(__x86_64__)
  if (RunsHere(InstructionSet::kAvx512)) return "AVX-512";
  if (RunsHere(InstructionSet::kAvx2)) return "AVX2";
  return "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "scalar";
#endif
}

}  // namespace

ProcessorKind OwnProcessorKind() { return {.model = CpuModel(), .registers = WidestRegisters()}; }

std::string DescribeOwnProcessor() {
  const ProcessorKind kind = OwnProcessorKind();
  return kind.model + ", " + kind.registers;
}

std::string ProcessorsText(const std::filesystem::path& root, std::span<const int> processors) {
  std::ifstream file(root / "proc/sys/kernel/random/boot_id");
  std::string start;
  std::getline(file, start);
  start = std::string(Trim(start));
  if (start.empty() || start.size() > 64 || processors.empty()) return "";
  const GroupLimits limits = ReadGroupLimits(root);
  const bool has_less_time = limits.cores < static_cast<double>(processors.size());
  return Text("machine ", start, " cpus ", ListOf(processors), has_less_time ? NumberOf(limits.cores_by) : "");
}

std::string OwnProcessors() {
  cpu_set_t set;
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return "";
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (CPU_ISSET(number, &set)) processors.push_back(number);
  }
  return ProcessorsText("/", processors);
}

}  // namespace longreach
