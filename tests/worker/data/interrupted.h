// Imports that are killed on their way.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>

#include "worker/data/progress.h"

namespace longreach::data {

// Kills its process, as kill -9 does, at the so-many-th step of an import.
class KillAt final : public Progress {
 public:
  explicit KillAt(int step) : left_(step) {}
  void Start(int64_t, int64_t, const std::string&) override { Step(); }
  void Advance(int64_t) override { Step(); }
  void Finish() override { Step(); }

 private:
  void Step() {
    if (left_-- == 0) kill(getpid(), SIGKILL);
  }
  std::atomic<int> left_;  // Shards are made on several threads.
};

// Remembers what was done before and now.
class Recorded final : public Progress {
 public:
  void Start(int64_t total, int64_t done, const std::string&) override {
    total_ = total;
    before_ = done;
  }
  void Advance(int64_t by) override { now_ += by; }
  void Finish() override {}
  int64_t total() const { return total_; }
  int64_t before() const { return before_; }
  int64_t now() const { return now_; }

 private:
  int64_t total_ = 0;
  int64_t before_ = 0;
  std::atomic<int64_t> now_ = 0;
};

// Runs `import` in a process of its own that is killed at this step. False: it came to its end before.
inline bool KilledAt(int step, const std::function<void(Progress&)>& import) {
  const pid_t child = fork();
  if (child == 0) {
    KillAt progress(step);
    import(progress);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status);
}

}  // namespace longreach::data
