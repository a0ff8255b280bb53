#include "worker/trainer/engine/recorded_work.h"

#include <time.h>

#include <algorithm>
#include <queue>
#include <utility>

namespace longreach::trainer {

namespace {

// From the begin of a run to its end.
double RunSeconds(const std::vector<double>& items, int threads) {
  const size_t busy = std::min(items.size(), static_cast<size_t>(threads));
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at({}, std::vector<double>(busy, 0));
  double end = 0;
  for (const double item : items) {
    const double done = free_at.top() + item;
    free_at.pop();
    free_at.push(done);
    end = std::max(end, done);
  }
  return end;
}

}  // namespace

double SimulatedSeconds(const RecordedWork& work, int threads) {
  double seconds = work.serial_seconds;
  for (const std::vector<double>& items : work.runs) seconds += RunSeconds(items, threads);
  return seconds;
}

double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

WorkRecorder::WorkRecorder(std::function<double()> now) : now_(std::move(now)), last_(now_()) {}

void WorkRecorder::Run(int64_t count, const std::function<void(int64_t)>& work) {
  std::vector<double>& items = work_.runs.emplace_back();
  items.reserve(static_cast<size_t>(count));
  work_.serial_seconds += Lap();
  for (int64_t i = 0; i < count; ++i) {
    work(i);
    items.push_back(Lap());
  }
}

RecordedWork WorkRecorder::Take() {
  work_.serial_seconds += Lap();
  return std::exchange(work_, {});
}

double WorkRecorder::Lap() {
  const double before = std::exchange(last_, now_());
  return last_ - before;
}

}  // namespace longreach::trainer
