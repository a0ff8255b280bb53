// NVIDIA's multi-process service (MPS): with it, processes compute on a GPU at the same time; without it they take turns, and several packs
// are hardly faster than one. It is a daemon that processes find by a folder, which CUDA_MPS_PIPE_DIRECTORY names.
//
// A worker starts one of its own where nobody else has. That one is found by the worker's trainers alone, sees what the worker sees, and
// ends with the worker, also when that is killed (its folder stays then).
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "worker/agent/tied_process.h"

namespace longreach::agent {

class GpuSharing {
 public:
  struct Options {
    std::filesystem::path usual_folder = "/tmp/nvidia-mps";  // Where CUDA looks when its environment names no other.
    std::chrono::milliseconds patience_with_start{5000};     // Of the daemon.
    std::chrono::milliseconds patience_with_end{5000};       // With each way of ending it.
  };

  // The folder of a daemon that is there already, and that processes with this one's environment find: the one that the environment names,
  // whatever it has, or the usual one while it has a daemon. Empty: there is none.
  static std::string AlreadyIn(const Options& options);
  // Whether a daemon is there, by what it keeps in its folder while it lives.
  static bool LivesIn(const std::filesystem::path& folder);

  // Starts a daemon, which answers when this returns. NOT_FOUND: its program is not on PATH. UNAVAILABLE: why it did not start.
  // The calling thread must live as long as the daemon is needed.
  static absl::StatusOr<std::unique_ptr<GpuSharing>> Start(const Options& options);

  // Has the daemon quit, kills it where it does not, and removes its folder. Processes that use it must have ended: it waits for them.
  ~GpuSharing();
  GpuSharing(const GpuSharing&) = delete;

  // "NAME=VALUE": what goes over this process's environment for those that are to use it.
  const std::vector<std::string>& environment() const { return environment_; }
  pid_t daemon() const { return daemon_->pid(); }

 private:
  GpuSharing(std::filesystem::path program, std::filesystem::path folder, const Options& options);

  absl::Status StartDaemon();
  std::vector<std::string> DaemonsEnvironment() const;
  std::unique_ptr<TiedProcess> Ask(std::string_view words) const;
  void Quit();
  std::string LastWords() const;
  std::filesystem::path pipes() const { return folder_ / "pipe"; }
  std::filesystem::path logs() const { return folder_ / "log"; }
  std::filesystem::path output() const { return folder_ / "output"; }

  const std::filesystem::path program_;
  const std::filesystem::path folder_;
  const Options options_;
  std::vector<std::string> environment_;
  std::unique_ptr<TiedProcess> daemon_;
};

}  // namespace longreach::agent
