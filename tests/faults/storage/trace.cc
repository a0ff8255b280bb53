#include "tests/faults/storage/trace.h"

#include <sys/stat.h>

#include <utility>

namespace longreach::faults {
namespace {

bool tracing = false;
std::string root;
std::vector<Step> steps;

}  // namespace

void StartTrace(std::string folder) {
  root = std::move(folder);
  if (!root.ends_with('/')) root += '/';
  steps.clear();
  tracing = true;
}

std::vector<Step> EndTrace() {
  tracing = false;
  return std::exchange(steps, {});
}

bool Tracing() { return tracing; }

bool InTrace(std::string_view path, std::string& relative) {
  if (!tracing) return false;
  if (path.size() + 1 == root.size() && root.starts_with(path)) {
    relative.clear();
    return true;
  }
  if (!path.starts_with(root)) return false;
  relative = path.substr(root.size());
  return true;
}

int64_t FileNumber(int fd) {
  struct stat found{};
  return fstat(fd, &found) == 0 ? static_cast<int64_t>(found.st_ino) : 0;
}

int64_t FileNumber(const char* path) {
  struct stat found{};
  return stat(path, &found) == 0 ? static_cast<int64_t>(found.st_ino) : 0;
}

void Note(Step step) {
  if (tracing) steps.push_back(std::move(step));
}

}  // namespace longreach::faults
