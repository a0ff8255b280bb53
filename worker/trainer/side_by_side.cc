#include "worker/trainer/side_by_side.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <system_error>
#include <thread>

#include "proto/base/resources.h"
#include "proto/base/text.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/own_stream.h"
#include "worker/trainer/trial.h"

namespace longreach::trainer {

namespace {

using Clock = std::chrono::steady_clock;

struct Measured {
  PackRate rate;
  double gflops = 0;
};

class SideBySide {
 public:
  explicit SideBySide(const BenchRequest& request)
      : request_(request),
        packs_(AllPacks(request)),
        share_(std::max(1, (request.threads > 0 ? request.threads : AvailableThreads()) / static_cast<int>(packs_.size()))),
        measured_(packs_.size()),
        left_(packs_.size()),
        ready_(static_cast<std::ptrdiff_t>(packs_.size()), Begin{this}) {}

  absl::StatusOr<BenchResult> Run() {
    {
      std::vector<std::jthread> threads;
      try {
        for (size_t pack = 0; pack < packs_.size(); ++pack) threads.emplace_back([this, pack] { Train(pack); });
      } catch (const std::system_error& error) {
        for (size_t pack = threads.size(); pack < packs_.size(); ++pack) {
          failed_ = true;
          measured_[pack] = absl::ResourceExhaustedError(Text("no thread for pack ", pack + 1, ": ", error.what()));
          ready_.arrive_and_drop();
        }
      }
    }
    BenchResult result;
    for (const absl::StatusOr<Measured>& one : measured_) {
      if (!one.ok()) return one.status();
      result.packs.push_back(one->rate);
      result.job_steps_per_second += one->rate.updates_per_second * request_.pack;
      result.gflops += one->gflops;
    }
    result.cpu_ms_per_job_step = cpu_ms_per_job_step_;
    result.engine = result.packs.front().engine;
    return result;
  }

 private:
  // What the last one to be ready does for all.
  struct Begin {
    SideBySide* all;
    void operator()() noexcept {
      if (!all->failed_ && all->request_.begin != nullptr) all->request_.begin();
      all->cpu_before_ = CpuMs();
      all->began_ = Clock::now();
    }
  };

  void Train(size_t pack) {
    bool waits = true;  // Others wait for it.
    measured_[pack] = Caught<Measured>([&]() -> absl::StatusOr<Measured> {
      const OwnStream own(request_.cuda);
      Trial trial(*packs_[pack], request_.pack, {.threads = share_, .cuda = request_.cuda, .engine = request_.engine});
      trial.Warm();
      waits = false;
      ready_.arrive_and_wait();
      return Measure(*packs_[pack], trial);
    });
    if (measured_[pack].ok()) return;
    failed_ = true;
    if (waits) ready_.arrive_and_drop();
  }

  // One that has been measured goes on until all have: those that are slower would be faster without it.
  Measured Measure(const PackSettings& settings, Trial& trial) {
    Measured measured{.rate = {.engine = trial.engine().Name()}};
    double rounds = 0, seconds = 0;
    bool measuring = true;
    while (left_ > 0 && !failed_) {
      trial.TrainRound([&](int updates) { job_steps_ += updates * trial.pack(); });
      if (!measuring) continue;
      ++rounds;
      seconds = std::chrono::duration<double>(Clock::now() - began_).count();
      measuring = seconds < request_.seconds;
      if (!measuring && --left_ == 0) cpu_ms_per_job_step_ = (CpuMs() - cpu_before_) / job_steps_;
    }
    if (failed_) return measured;  // Nobody asks for it.
    measured.rate.updates_per_second = rounds * trial.round() / seconds;
    measured.gflops = 1e-9 * rounds * request_.pack * FlopsOfRound(settings) / seconds;
    return measured;
  }

  const BenchRequest& request_;
  const std::vector<const PackSettings*> packs_;
  const int share_;  // Of the threads.
  std::vector<absl::StatusOr<Measured>> measured_;
  std::atomic<size_t> left_;  // To be measured.
  std::atomic<bool> failed_ = false;
  Clock::time_point began_;
  double cpu_before_ = 0;
  std::atomic<double> job_steps_ = 0;
  double cpu_ms_per_job_step_ = 0;  // Until the last one was measured.
  std::barrier<Begin> ready_;
};

}  // namespace

std::vector<const PackSettings*> AllPacks(const BenchRequest& request) {
  std::vector<const PackSettings*> packs = {&request.settings};
  for (const PackSettings& settings : request.beside) packs.push_back(&settings);
  return packs;
}

double CpuMs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double FlopsOfRound(const PackSettings& settings) {
  double flop = 0;
  for (const int length : settings.training.lengths) flop += MatmulFlops(settings, length);
  return flop;
}

absl::StatusOr<BenchResult> MeasureSideBySide(const BenchRequest& request) { return SideBySide(request).Run(); }

}  // namespace longreach::trainer
