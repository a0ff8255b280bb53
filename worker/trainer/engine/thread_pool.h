// The threads that work units run on. LibTorch computes each unit with one thread, so nothing of a result
// depends on how many there are.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "proto/base/synchronized.h"
#include "worker/trainer/engine/recorded_work.h"

namespace longreach::trainer {

// Makes LibTorch single-threaded on the calling thread and flushes denormals to zero there: a steep bias
// makes probabilities around 1e-40, which would cost several times the work.
void PrepareThread();

// The most threads that a Run() of any pool of this process computes with, if it begins after this; 0: all that the pool has.
void LimitThreads(int threads);

class ThreadPool {
 public:
  // The thread that calls Run() is one of them. 0: all available. With a recorder, which is borrowed, it is the only one, and
  // the recorder takes the time of each item.
  explicit ThreadPool(int threads, WorkRecorder* recorder = nullptr);
  ~ThreadPool();

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls work(i) for each i in [0, count), on any of the threads; returns when all are done. Rethrows the
  // first exception. One Run() at a time.
  void Run(int64_t count, const std::function<void(int64_t)>& work);

 private:
  struct Job {
    const std::function<void(int64_t)>* work = nullptr;
    int64_t count = 0;
    int64_t next = 0;
    int64_t left = 0;
    int helpers = 0;  // That may take part; the others wait until there are more.
    std::exception_ptr failure;
    bool ending = false;
  };

  static constexpr int kCaller = -1;

  void EndHelpers();

  // A helper's life.
  void Help(int helper);
  // Takes items until there is none, or none for this helper.
  void Work(int helper);

  WorkRecorder* const recorder_;
  Synchronized<Job> job_;
  // Calls of Run() that have something for helpers, and those that are done: for who looks before it sleeps.
  std::atomic<uint64_t> begun_ = 0;
  std::atomic<uint64_t> done_ = 0;
  std::condition_variable changed_;
  std::condition_variable more_helpers_;
  std::condition_variable finished_;
  std::vector<std::jthread> helpers_;
};

}  // namespace longreach::trainer
