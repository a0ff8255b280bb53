#include "worker/agent/trainer_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

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
  if (access(file.c_str(), X_OK) != 0) return absl::FailedPreconditionError(WithPlace(file, std::strerror(errno)));
  const int opened = open(file.c_str(), O_PATH | O_CLOEXEC);
  if (opened < 0) return absl::FailedPreconditionError(WithPlace(file, std::strerror(errno)));
  // Never closed, and out of the way of the numbers that the child's pipes get before it is the program.
  const int kept = fcntl(opened, F_DUPFD_CLOEXEC, kChildPipe + catalog::kMaxPacksAtATime);
  const int why_not = errno;
  close(opened);
  if (kept < 0) return absl::FailedPreconditionError(WithPlace(file, std::strerror(why_not)));
  return std::filesystem::path(fmt::format("/proc/self/fd/{}", kept));
}

absl::Status BecomeTrainerProgram(char** arguments) {
  const std::filesystem::path file = TrainerFile();
  execv(file.c_str(), arguments);
  return absl::FailedPreconditionError(WithPlace(file, std::strerror(errno)));
}

}  // namespace longreach::agent
