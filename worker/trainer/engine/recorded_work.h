// How long each piece of a pool's work took on one thread, and how long the whole would take on more threads than the machine
// has. Without torch.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace longreach::trainer {

// Some calls of ThreadPool::Run() and what was around them, in seconds.
struct RecordedWork {
  // Of each item, by run. A run ends when all of its items have ended.
  std::vector<std::vector<double>> runs;
  // Before, between and after the runs: what only the calling thread does.
  double serial_seconds = 0;
};

// How long that work takes on so many threads, at least 1: run after run, the items of each in order to the first thread that is
// free, as ThreadPool hands them out. Each item takes as long as it took alone: memory bandwidth, caches that are shared, the
// frequency of a busy processor and the waking of threads are left out.
double SimulatedSeconds(const RecordedWork& work, int threads);

// Processor time of the calling thread: others on the machine disturb it less than the time of day.
double ThreadCpuSeconds();

// Does a pool's runs in its place, on the calling thread, and takes their times. For one thread.
class WorkRecorder {
 public:
  // `now`: seconds that never go back.
  explicit WorkRecorder(std::function<double()> now = ThreadCpuSeconds);

  // Calls work(i) for each i in [0, count), in order. What work() throws ends the run.
  void Run(int64_t count, const std::function<void(int64_t)>& work);

  // All since the last call, or since the recorder was made. The time from then on belongs to what comes next.
  RecordedWork Take();

 private:
  // Seconds since the call before.
  double Lap();

  std::function<double()> now_;
  double last_ = 0;
  RecordedWork work_;
};

}  // namespace longreach::trainer
