// How fast a pack trains and is tested on this machine, beside what its matrix products could reach.
#include <algorithm>
#include <chrono>

#include "proto/catalog/packs.h"
#include "worker/trainer/caught.h"
#include "worker/trainer/device.h"
#include "worker/trainer/engine/thread_pool.h"
#include "worker/trainer/own_stream.h"
#include "worker/trainer/side_by_side.h"
#include "worker/trainer/trial.h"
#include "worker/trainer/validate.h"

namespace longreach::trainer {

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The best rate of float32 products of `size` x `size` in `seconds`: one product on each thread, all at once.
double GemmGflops(int threads, bool cuda, double seconds) {
  constexpr int64_t kSize = 1024;
  constexpr int64_t kCudaSize = 8192;
  const at::Device device = DeviceOf(cuda);
  if (cuda) at::globalContext().setAllowTF32CuBLAS(false);  // One peak for all engines; each makes its own setting before it computes.
  const int64_t size = cuda ? kCudaSize : kSize;
  ThreadPool pool(threads);
  const int count = cuda ? 1 : pool.threads();
  std::vector<Tensor> a, b, c;
  for (int i = 0; i < count; ++i) {
    a.push_back(at::rand({size, size}, at::TensorOptions(at::kFloat).device(device)));
    b.push_back(at::rand({size, size}, at::TensorOptions(at::kFloat).device(device)));
    c.push_back(at::empty_like(a.back()));
  }
  const double flop =
      2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size) * count;
  double best = 0;
  const Clock::time_point begin = Clock::now();
  while (SecondsSince(begin) < seconds || best == 0) {
    const Clock::time_point start = Clock::now();
    pool.Run(count, [&](int64_t i) {
      const torch::NoGradGuard no_grad;
      at::mm_out(c[static_cast<size_t>(i)], a[static_cast<size_t>(i)], b[static_cast<size_t>(i)]);
    });
    if (cuda) (void)c[0][0][0].item<float>();  // Waits for the device.
    best = std::max(best, flop / SecondsSince(start) / 1e9);
  }
  return best;
}

// The best rate of a copy in `seconds`, in gigabytes a second: each byte is read and written.
double CopyGigabytes(bool cuda, double seconds) {
  const int64_t bytes = int64_t{1} << (cuda ? 30 : 26);
  const Tensor from = at::zeros({bytes}, at::TensorOptions(at::kByte).device(DeviceOf(cuda)));
  Tensor to = at::zeros_like(from);
  double best = 0;
  const Clock::time_point begin = Clock::now();
  while (SecondsSince(begin) < seconds || best == 0) {
    const Clock::time_point start = Clock::now();
    to.copy_(from);
    if (cuda) (void)to[0].item<uint8_t>();  // Waits for the device.
    best = std::max(best, 2e-9 * static_cast<double>(bytes) / SecondsSince(start));
  }
  return best;
}

// Adds up the time that updates take on some numbers of threads.
class Simulation {
 public:
  explicit Simulation(const std::vector<int>& threads) : threads_(threads), seconds_(threads.size(), 0) {}

  void Add(const RecordedWork& update) {
    serial_ += update.serial_seconds;
    alone_ += SimulatedSeconds(update, 1);
    for (size_t i = 0; i < threads_.size(); ++i) seconds_[i] += SimulatedSeconds(update, threads_[i]);
  }

  // Of so many updates of a pack.
  void PutInto(BenchResult& result, double updates, int pack) const {
    for (size_t i = 0; i < threads_.size(); ++i) {
      result.simulated.push_back({.threads = threads_[i], .job_steps_per_second = updates * pack / seconds_[i], .speedup = alone_ / seconds_[i]});
    }
    result.serial_ms_per_update = 1e3 * serial_ / updates;
  }

 private:
  const std::vector<int>& threads_;
  std::vector<double> seconds_;
  double serial_ = 0;
  double alone_ = 0;
};

absl::StatusOr<BenchResult> Measure(const BenchRequest& request) {
  const OwnStream own(request.cuda);
  WorkRecorder recorder;
  Simulation simulation(request.simulated_threads);
  const bool simulating = !request.simulated_threads.empty();
  Trial trial(request.settings, request.pack,
              {.threads = request.threads, .cuda = request.cuda, .engine = request.engine, .recorder = simulating ? &recorder : nullptr});
  StepEngine& engine = trial.engine();
  BenchResult result;
  result.engine = engine.Name();
  const bool alone = request.begin != nullptr;
  const double share = request.seconds / 10, training_seconds = alone ? request.seconds : 7 * share;
  if (!alone) result.gemm_peak_gflops = GemmGflops(engine.threads(), request.cuda, share);

  const std::vector<int>& lengths = request.settings.training.lengths;
  trial.Warm();
  (void)recorder.Take();
  (void)engine.TakeBytes();
  if (alone) request.begin();
  double steps = 0, flop = 0;
  const double cpu_before = CpuMs();
  const Clock::time_point start = Clock::now();
  // Whole rounds through the lengths, so that their mix is that of training.
  while (steps == 0 || SecondsSince(start) < training_seconds) {
    trial.TrainRound([&](int) {
      if (simulating) simulation.Add(recorder.Take());
    });
    steps += trial.round();
    flop += FlopsOfRound(request.settings);
  }
  const double seconds = SecondsSince(start);
  result.cpu_ms_per_job_step = (CpuMs() - cpu_before) / (steps * request.pack);
  result.job_steps_per_second = steps * request.pack / seconds;
  result.packs = {{.engine = result.engine, .updates_per_second = steps / seconds}};
  result.gflops = flop * request.pack / seconds / 1e9;
  if (simulating) simulation.PutInto(result, steps, request.pack);
  if (alone) return result;
  result.gemm_peak_gflops =
      std::max(result.gemm_peak_gflops, GemmGflops(engine.threads(), request.cuda, share));

  result.gigabytes_per_second = 1e-9 * engine.TakeBytes() / seconds;
  if (result.gigabytes_per_second > 0) result.copy_peak_gigabytes_per_second = CopyGigabytes(request.cuda, share);
  // Where the time goes is looked at afterwards: to look takes time too.
  if (engine.RecordPhases()) {
    trial.Train(trial.round());
    result.phases = engine.TakePhases();
  }

  // Tests at the longest length.
  const Batch batch = trial.ProblemOf(lengths.back()).TestBatch(engine.model().encoding().Use(), lengths.back(), 0);
  double sequences = 0;
  const double cpu_before_test = CpuMs();
  const Clock::time_point test_start = Clock::now();
  while (sequences == 0 || SecondsSince(test_start) < share) {
    engine.Evaluate(batch, trial.state(), [] {});
    sequences += static_cast<double>(batch.size * request.pack);
  }
  result.eval_sequences_per_second = sequences / SecondsSince(test_start);
  result.cpu_ms_per_eval_sequence = (CpuMs() - cpu_before_test) / sequences;
  return result;
}

}  // namespace

absl::StatusOr<BenchResult> Bench(const BenchRequest& request) {
  for (const PackSettings* settings : AllPacks(request)) {
    RETURN_IF_ERROR(Validate(*settings));
    if (settings->training.lengths.empty()) return absl::InvalidArgumentError("lengths: there are none to train on");
  }
  for (const int threads : request.simulated_threads) {
    if (threads < 1 || threads > kMostSimulatedThreads) {
      return absl::InvalidArgumentError(Text("simulated_threads: ", threads, " is not in 1..", kMostSimulatedThreads));
    }
  }
  if (request.cuda && !request.simulated_threads.empty()) {
    return absl::InvalidArgumentError("simulated_threads: a GPU's work is not that of threads");
  }
  if (!request.beside.empty() && !request.simulated_threads.empty()) {
    return absl::InvalidArgumentError("simulated_threads: the times of packs that are trained at the same time say nothing of one");
  }
  if (request.pack < 1 || request.pack > catalog::kMaxJobsOfPack) {
    return absl::InvalidArgumentError(Text("pack: ", request.pack, " is not in 1..", catalog::kMaxJobsOfPack));
  }
  if (!(request.seconds > 0)) return absl::InvalidArgumentError("seconds: must be positive");
  // The kernels for a GPU lane by lane, which nobody trains with: to see that their figures are taken.
  if (!request.engine.starts_with("emulated")) RETURN_IF_ERROR(CheckEngine(request.engine, request.cuda));
  if (!request.beside.empty()) return MeasureSideBySide(request);
  return Caught<BenchResult>([&] { return Measure(request); });
}

}  // namespace longreach::trainer
