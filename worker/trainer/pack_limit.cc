#include "worker/trainer/pack_limit.h"

#include <algorithm>
#include <chrono>

#include "proto/base/text.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/device_memory.h"
#include "worker/trainer/own_stream.h"
#include "worker/trainer/trial.h"

namespace longreach::trainer {

namespace {

using Clock = std::chrono::steady_clock;

// A pack that is a few hundredths slower than the fastest, and smaller, loses less with one of its jobs' faults, and reports sooner.
constexpr double kWorthwhile = 0.95;
// So many sizes in a row that are no faster are the end: one may have been disturbed by other work.
constexpr int kNoFaster = 2;
// Of training, for each size.
constexpr double kSecondsEach = 0.5;

// Twice as many each time, and the papers' packs of three learning rates and three seeds: engines are made for nine, and a limit of eight would cut
// them into eight and one.
constexpr int kSizes[] = {1, 2, 4, 8, 9, 16, 32, 64, kLargestTrial};

PackSettings UsualJob() {
  PackSettings settings;
  settings.task = "even_pairs";
  settings.encoding = "log_kerple";
  settings.training.lengths = {20, 40};
  return settings;
}

// Job-steps per second.
absl::StatusOr<double> RateOf(const PackLimitRequest& request, double seconds_each, int jobs) {
  return Caught<double>([&]() -> absl::StatusOr<double> {
    const OwnStream own(request.cuda);
    const PackSettings settings = UsualJob();
    Trial trial(settings, jobs, {.threads = request.threads, .cuda = request.cuda, .engine = request.engine});
    trial.Warm();
    const Clock::time_point start = Clock::now();
    double updates = 0, seconds = 0;
    while (updates == 0 || seconds < seconds_each) {
      const int round = std::max(static_cast<int>(settings.training.lengths.size()), trial.engine().UpdatesAtATime());
      trial.Train(round);
      updates += round;
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return updates * trial.pack() / seconds;
  });
}

double Fastest(std::span<const PackTrial> trials) {
  return trials.empty() ? 0 : std::ranges::max(trials, {}, &PackTrial::job_steps_per_second).job_steps_per_second;
}

}  // namespace

int WorthwhilePack(std::span<const PackTrial> trials) {
  const double enough = kWorthwhile * Fastest(trials);
  const auto first = std::ranges::find_if(trials, [&](const PackTrial& trial) { return trial.job_steps_per_second >= enough; });
  return first == trials.end() ? 1 : first->jobs;
}

absl::StatusOr<PackLimit> MeasurePackLimit(const PackLimitRequest& request) { return MeasurePackLimit(request, kSecondsEach); }

absl::StatusOr<PackLimit> MeasurePackLimit(const PackLimitRequest& request, double seconds_each) {
  RETURN_IF_ERROR(CheckEngine(request.engine, request.cuda));
  if (!(seconds_each >= 0)) return absl::InvalidArgumentError(Text("seconds_each: ", seconds_each, " is not 0 or more"));
  PackLimit limit;
  int no_faster = 0;
  for (const int jobs : kSizes) {
    const absl::StatusOr<double> rate = RateOf(request, seconds_each, jobs);
    ReleaseDeviceMemory(request.cuda);
    if (rate.status().code() == absl::StatusCode::kResourceExhausted && !limit.trials.empty()) break;
    RETURN_IF_ERROR(rate.status());
    no_faster = kWorthwhile * *rate > Fastest(limit.trials) ? 0 : no_faster + 1;
    limit.trials.push_back({.jobs = jobs, .job_steps_per_second = *rate});
    if (no_faster == kNoFaster) break;
  }
  limit.jobs = WorthwhilePack(limit.trials);
  return limit;
}

}  // namespace longreach::trainer
