// The trainer child: the worker's binary started anew, so that a crash, a hang or a poisoned GPU costs one attempt and
// never the worker. It trains one pack after the other, told over a pipe, and ends when the pipe closes.
#pragma once

#include <filesystem>

namespace longreach::agent {

// The descriptor on which a child finds its pipe.
inline constexpr int kChildPipe = 3;
// The hidden subcommand.
inline constexpr char kChildCommand[] = "trainer-child";

struct ChildOptions {
  bool cuda = false;
  std::filesystem::path cuda_plugin;
};

// Runs until the pipe closes; returns the process's exit code.
int RunTrainerChild(const ChildOptions& options);

}  // namespace longreach::agent
