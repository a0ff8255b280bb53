// A program nvidia-cuda-mps-control of the test's own, first on PATH: its daemon listens at a fifo, and ends at "quit" or SIGTERM.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "worker/agent/gpu_sharing.h"

namespace longreach::agent {

// This process's environment as it was, when this ends.
class ChangedEnvironment {
 public:
  ~ChangedEnvironment() {
    for (const auto& [name, value] : before_) value.has_value() ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  void Set(const std::string& name, const std::string& value) {
    Keep(name);
    setenv(name.c_str(), value.c_str(), 1);
  }
  void Unset(const std::string& name) {
    Keep(name);
    unsetenv(name.c_str());
  }

 private:
  void Keep(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    before_.try_emplace(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
  }
  std::map<std::string, std::optional<std::string>> before_;
};

class FakeMps {
 public:
  // What its daemon does; it answers once the fifo is there.
  static constexpr const char* kServes = "mkfifo \"$CUDA_MPS_PIPE_DIRECTORY/control\"; read word <\"$CUDA_MPS_PIPE_DIRECTORY/control\"; say \"ended by $word\"";

  // Makes its files in `folder`, and has temporary files in there too.
  explicit FakeMps(const std::filesystem::path& folder) : folder_(folder) {
    for (const char* name : {"bin", "tmp", "usual"}) std::filesystem::create_directory(folder_ / name);
    Does(kServes);
    environment_.Set("PATH", (folder_ / "bin").string() + ":" + std::getenv("PATH"));
    environment_.Set("TMPDIR", (folder_ / "tmp").string());
    for (const char* name : {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY", "CUDA_VISIBLE_DEVICES"}) environment_.Unset(name);
  }

  void Does(const std::string& daemon) {
    const std::filesystem::path program = folder_ / "bin" / "nvidia-cuda-mps-control";
    std::ofstream(program) << "#!/bin/sh\n"
                              "say() { echo \"$*\" >>'" << calls().string() << "'; }\n"
                              "if [ \"$1\" = -f ]; then\n"
                              "  say \"-f $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_LOG_DIRECTORY ${CUDA_VISIBLE_DEVICES-all}\"\n"
                              "  " << daemon << "\n"
                              "else\n"
                              "  read word; say \"$word\"; echo \"$word\" >\"$CUDA_MPS_PIPE_DIRECTORY/control\"\n"
                              "fi\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  void IsNotInstalled() { std::filesystem::remove(folder_ / "bin" / "nvidia-cuda-mps-control"); }

  // Patient, as the machine may be busy.
  GpuSharing::Options Options() const {
    return {.usual_folder = usual_folder(), .patience_with_start = std::chrono::minutes(1), .patience_with_end = std::chrono::minutes(1)};
  }
  ChangedEnvironment& environment() { return environment_; }
  // Where programs look by themselves.
  std::filesystem::path usual_folder() const { return folder_ / "usual"; }
  // What it was told and did, a line each.
  std::string Calls() const {
    std::ifstream in(calls());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool LeftNothingBehind() const { return std::filesystem::is_empty(folder_ / "tmp"); }

 private:
  std::filesystem::path calls() const { return folder_ / "calls"; }

  std::filesystem::path folder_;
  ChangedEnvironment environment_;
};

}  // namespace longreach::agent
