#include "worker/agent/trainer_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/shell_word.h"
#include "proto/base/text.h"
#include "proto/catalog/packs.h"
#include "worker/agent/child.h"

namespace longreach::agent {
namespace {

std::filesystem::path TrainerFile() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "longreach-trainer";
}

std::string WithPlace(const std::filesystem::path& file, const char* why) {
  return fmt::format("cannot start {}: {}; it belongs beside longreach-worker", file.string(), why);
}

}  // namespace

absl::StatusOr<std::filesystem::path> OpenTrainerProgram() {
  const std::filesystem::path file = TrainerFile();
  if (::access(file.c_str(), X_OK) != 0) return absl::FailedPreconditionError(WithPlace(file, std::strerror(errno)));
  const int opened = open(file.c_str(), O_PATH | O_CLOEXEC);
  if (opened < 0) return absl::FailedPreconditionError(WithPlace(file, std::strerror(errno)));
  // Never closed, and out of the way of the numbers that the child's pipes get before it is the program.
  const int kept = fcntl(opened, F_DUPFD_CLOEXEC, kChildPipe + catalog::kMaxPacksAtATime);
  const int why_not = errno;
  close(opened);
  if (kept < 0) return absl::FailedPreconditionError(WithPlace(file, std::strerror(why_not)));
  return std::filesystem::path(fmt::format("/proc/self/fd/{}", kept));
}

absl::Status FindTrainerLibraries() {
  const std::filesystem::path file = TrainerFile();
  // So the system's loader says where it would take each library from, as for ldd, and does not begin the program (ld.so(8)).
  std::FILE* const answer = popen(("LD_TRACE_LOADED_OBJECTS=1 " + ShellWord(file.string()) + " 2>&1").c_str(), "re");
  if (answer == nullptr) return absl::OkStatus();  // Then its start will tell.
  std::vector<std::string> missing;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), answer) != nullptr) {
    const std::string_view said = Trim(line.data());
    // A library; a version of one, as on an older system; one that is damaged.
    const bool is_missing = said.ends_with("=> not found") || said.find("' not found (") != said.npos || said.find("error while loading shared libraries") != said.npos;
    if (is_missing) missing.emplace_back(said);
  }
  pclose(answer);
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("cannot start {}: {}; put its libraries back where they were, or build or install it anew", file.string(), JoinSome(missing)));
}

absl::Status BecomeTrainerProgram(char** arguments) {
  const std::filesystem::path file = TrainerFile();
  execv(file.c_str(), arguments);
  return absl::FailedPreconditionError(WithPlace(file, std::strerror(errno)));
}

}  // namespace longreach::agent
