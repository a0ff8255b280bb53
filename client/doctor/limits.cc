#include "client/doctor/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace longreach::client {
namespace {

// A scheduler takes half as many connections; a worker has pipes, sockets and files of each pack.
constexpr uint64_t kFewFiles = 1024;

std::string FilesText(uint64_t files) { return files == RLIM_INFINITY ? "any number of" : fmt::format("{}", files); }

}  // namespace

OpenFilesLimit LookAtOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {.soft = RLIM_INFINITY, .hard = RLIM_INFINITY};
  return {.soft = limit.rlim_cur, .hard = limit.rlim_max};
}

Check JudgeOpenFiles(const OpenFilesLimit& limit) {
  Findings findings("open_files");
  const std::string seen = fmt::format("{} files may be open", FilesText(limit.soft));
  if (limit.soft >= kFewFiles) {
    findings.Add(CheckState::kOk, seen);
  } else if (limit.hard >= kFewFiles) {
    findings.Add(CheckState::kWarning, seen, fmt::format("'ulimit -n {}' in the shell that starts programs, or LimitNOFILE= of their service", kFewFiles));
  } else {
    findings.Add(CheckState::kWarning, seen, fmt::format("{} is the most that this user may ask for: have it raised to {} (LimitNOFILE=, limits.conf)", FilesText(limit.hard), kFewFiles));
  }
  return findings.check();
}

}  // namespace longreach::client
