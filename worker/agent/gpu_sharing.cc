#include "worker/agent/gpu_sharing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "proto/base/text.h"
#include "worker/agent/files.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

constexpr std::string_view kProgram = "nvidia-cuda-mps-control";
constexpr const char* kPipes = "CUDA_MPS_PIPE_DIRECTORY";
constexpr const char* kLogs = "CUDA_MPS_LOG_DIRECTORY";
constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
// In a daemon's folder: where it listens, and its number.
constexpr const char* kControl = "control";
constexpr const char* kPidFile = "nvidia-cuda-mps-control.pid";
// The name of a Unix socket has at most 107 bytes, and the daemon's are some 40 long.
constexpr size_t kLongestFolder = 60;
constexpr std::chrono::milliseconds kLook{10};
constexpr size_t kTailBytes = 4096;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Setting(std::string_view name, std::string_view value) { return fmt::format("{}={}", name, value); }

// Empty: nowhere.
std::filesystem::path OnPath(std::string_view program) {
  for (const std::string& folder : Split(Variable("PATH"), ':')) {
    if (folder.empty()) continue;  // The working folder, out of which nothing is started unasked.
    const std::filesystem::path file = std::filesystem::path(folder) / program;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

absl::StatusOr<std::filesystem::path> MakePrivateFolder() {
  std::error_code none;
  for (const std::filesystem::path& parent : {std::filesystem::temp_directory_path(none), std::filesystem::path("/tmp")}) {
    std::string path = (parent / "longreach-mps-XXXXXX").string();
    if (parent.empty() || path.size() > kLongestFolder) continue;
    if (mkdtemp(path.data()) != nullptr) return path;
  }
  return absl::UnavailableError("no folder with a short path can be made in TMPDIR or /tmp");
}

}  // namespace

std::string GpuSharing::AlreadyIn(const Options& options) {
  if (const std::string named = Variable(kPipes); !named.empty()) return named;
  return LivesIn(options.usual_folder) ? options.usual_folder.string() : "";
}

bool GpuSharing::LivesIn(const std::filesystem::path& folder) {
  // A daemon that was killed leaves both behind. One of another user may not let us read its number.
  std::ifstream in(folder / kPidFile);
  pid_t daemon = 0;
  std::error_code ignored;
  return in >> daemon ? daemon > 0 && (kill(daemon, 0) == 0 || errno == EPERM) : std::filesystem::exists(folder / kControl, ignored);
}

absl::StatusOr<std::unique_ptr<GpuSharing>> GpuSharing::Start(const Options& options) {
  const std::filesystem::path program = OnPath(kProgram);
  if (program.empty()) return absl::NotFoundError(fmt::format("there is no program {} on PATH", kProgram));
  ASSIGN_OR_RETURN(const std::filesystem::path folder, MakePrivateFolder());
  std::unique_ptr<GpuSharing> sharing(new GpuSharing(program, folder, options));
  RETURN_IF_ERROR(sharing->StartDaemon());
  return sharing;
}

GpuSharing::GpuSharing(std::filesystem::path program, std::filesystem::path folder, const Options& options)
    : program_(std::move(program)), folder_(std::move(folder)), options_(options) {
  environment_ = {Setting(kPipes, pipes().string())};
  // Programs count anew what a daemon sees. This worker's GPU is the first of that, by whatever number it is visible here; a name like
  // GPU-5a1c or MIG-77f0 stays what it is.
  if (const std::string visible = Variable(kVisible); !visible.empty() && std::isdigit(static_cast<unsigned char>(visible.front())) != 0) {
    environment_.push_back(Setting(kVisible, "0"));
  }
}

GpuSharing::~GpuSharing() {
  if (daemon_ != nullptr) Quit();
  daemon_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

// All of this process's GPUs as they are: a worker has made its own the first.
std::vector<std::string> GpuSharing::DaemonsEnvironment() const { return {Setting(kPipes, pipes().string()), Setting(kLogs, logs().string())}; }

absl::Status GpuSharing::StartDaemon() {
  RETURN_IF_ERROR(MakeFolder(pipes()));
  RETURN_IF_ERROR(MakeFolder(logs()));
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = open(output().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  // In the foreground, as a child of this process: else it could not be tied to it.
  absl::StatusOr<TiedProcess> daemon = TiedProcess::Start(program_, {"-f"}, DaemonsEnvironment(), in, out);
  close(in);
  close(out);
  if (!daemon.ok()) return daemon.status();
  auto started = std::make_unique<TiedProcess>(*std::move(daemon));
  const auto until = std::chrono::steady_clock::now() + options_.patience_with_start;
  std::error_code ignored;
  while (true) {
    if (started->EndsWithin(kLook)) return absl::UnavailableError(fmt::format("{} -f {}{}", kProgram, started->how(), LastWords()));
    if (std::filesystem::exists(pipes() / kControl, ignored)) break;
    if (std::chrono::steady_clock::now() < until) continue;
    return absl::UnavailableError(fmt::format("{} -f does not answer within {} ms{}", kProgram, options_.patience_with_start.count(), LastWords()));
  }
  daemon_ = std::move(started);
  return absl::OkStatus();
}

std::string GpuSharing::LastWords() const {
  for (const std::filesystem::path& file : {output(), logs() / "control.log"}) {
    if (const std::string line = LastLine(ReadTail(file, kTailBytes)); !line.empty()) return ": " + line;
  }
  return "";
}

// By the same program: without arguments it takes words for the daemon. Null: it cannot be asked.
std::unique_ptr<TiedProcess> GpuSharing::Ask(std::string_view words) const {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return nullptr;
  const bool written = write(pipe[1], words.data(), words.size()) == static_cast<ssize_t>(words.size());
  close(pipe[1]);
  const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::unique_ptr<TiedProcess> asking;
  if (written) {
    absl::StatusOr<TiedProcess> started = TiedProcess::Start(program_, {}, DaemonsEnvironment(), pipe[0], out);
    if (started.ok()) asking = std::make_unique<TiedProcess>(*std::move(started));
  }
  close(out);
  close(pipe[0]);
  return asking;
}

void GpuSharing::Quit() {
  if (daemon_->EndsWithin(std::chrono::milliseconds(0))) return;
  const std::unique_ptr<TiedProcess> asking = Ask("quit\n");
  if (daemon_->EndsWithin(options_.patience_with_end)) return;
  daemon_->Signal(SIGTERM);
  if (daemon_->EndsWithin(options_.patience_with_end)) return;
  LogWarning(fmt::format("{} does not end, and is killed{}", kProgram, LastWords()));
}

}  // namespace longreach::agent
