// The trainer child: a program of its own (trainer_program.h), so that a crash, a hang or a poisoned GPU costs attempts and
// never the worker. Each of its trainers trains one pack after the other, told over a pipe of its own; the child ends when one of them closes.
#pragma once

#include <filesystem>
#include <string>

#include "proto/base/status.h"
#include "worker/trainer/train.h"

namespace longreach::agent {

// The descriptor on which a child finds its first trainer's pipe; the others' follow.
inline constexpr int kChildPipe = 3;
// The hidden subcommand.
inline constexpr char kChildCommand[] = "trainer-child";

struct ChildOptions {
  std::string build = {};  // Of the agent; empty: it does not say.
  bool cuda = false;
  std::filesystem::path cuda_plugin;
  int trainers = 1;
  double hang_floor_s = 60;  // Of the agent that watches it (hang_watch.h).
};

// Opens the device in this process, as a child does first of all: what it is, or why no child can train on it.
absl::StatusOr<trainer::Capabilities> OpenDevice(const ChildOptions& options);

// Runs until a pipe closes; returns the process's exit code.
int RunTrainerChild(const ChildOptions& options);

}  // namespace longreach::agent
