#include "worker/agent/bench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/status.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "proto/catalog/catalog.h"
#include "proto/catalog/encoding_name.h"
#include "proto/catalog/packs.h"
#include "proto/catalog/sequence_kinds.h"
#include "proto/types/meant_name.h"
#include "worker/trainer/train.h"

namespace longreach::agent {
namespace {

constexpr int64_t kLongest = 100'000;

template <typename Entries>
absl::Status Unknown(std::string_view kind, std::string_view value, const Entries& entries) {
  std::vector<std::string> known;
  for (const auto& entry : entries) known.emplace_back(entry.name);
  const std::string meant = MeantName(kind, value, known);
  return absl::InvalidArgumentError(
      fmt::format("--{}: unknown {} '{}'\n  {}", kind, kind, value,
                  meant.empty() ? "known: " + Join(known, ", ") : meant));
}

// "1..40", "5,10,20..30", ascending, of an option's value.
absl::StatusOr<std::vector<int>> ParseNumbers(std::string_view option, std::string_view what, const std::string& text, int64_t largest) {
  std::vector<int> numbers;
  for (const std::string& part : Split(text, ',')) {
    const size_t dots = part.find("..");
    const std::optional<int64_t> first = ParseInteger(part.substr(0, dots));
    const std::optional<int64_t> last = dots == std::string::npos ? first : ParseInteger(part.substr(dots + 2));
    const int64_t above = numbers.empty() ? 0 : numbers.back();
    if (!first.has_value() || !last.has_value() || *first <= above || *last < *first || *last > largest) {
      return absl::InvalidArgumentError(
          fmt::format("--{}: '{}' is not an ascending list of {} from 1 to {}\n"
                      "  write for example 1..40 or 5,10,20",
                      option, text, what, largest));
    }
    for (int64_t number = *first; number <= *last; ++number) numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

// Sizes, batch and lengths of the paper's experiment that a task belongs to.
absl::Status TakeTask(const BenchOptions& options, const std::string& name, trainer::PackSettings& settings) {
  settings.task = name;
  if (const catalog::DataTask* task = catalog::FindDataTask(name)) {
    settings.experiment = task->experiment;
    settings.data = task->name;
  } else if (catalog::FindTask(name) == nullptr) {
    return Unknown("task", name, catalog::Tasks());
  }
  if (catalog::IsOfSequences(settings.experiment)) {
    settings.training.lengths.clear();
    for (int length = 1; length <= 40; ++length) settings.training.lengths.push_back(length);
  } else {
    settings.model.layers = 8;
    settings.model.embedding_dim = 256;
    settings.model.mlp_dim = 1024;
    settings.training.batch_size = settings.experiment == "images" ? 32 : 64;
    settings.training.lengths = {settings.experiment == "images" ? 506 : 256};
  }
  if (!options.experiment.empty() && options.experiment != settings.experiment) {
    return absl::InvalidArgumentError(fmt::format("--experiment: task '{}' belongs to '{}', not to '{}'\n  leave it out", name,
                                                  settings.experiment, options.experiment));
  }
  return absl::OkStatus();
}

// Says that it is ready, for who starts several of these and lets them begin together.
void WaitForALine() {
  fmt::print("ready\n");
  std::fflush(stdout);
  for (int c = std::getchar(); c != '\n' && c != EOF;) c = std::getchar();
}

int PacksOf(const BenchOptions& options) { return options.packs == 0 ? static_cast<int>(Split(options.task, ',').size()) : options.packs; }

absl::StatusOr<trainer::PackSettings> SettingsOf(const BenchOptions& options, const std::string& task) {
  trainer::PackSettings settings;
  RETURN_IF_ERROR(TakeTask(options, task, settings));
  const auto [encoding, randomized] = catalog::ParseEncodingName(options.encoding).value_or(catalog::EncodingName{.name = options.encoding});
  const catalog::Encoding* known = catalog::FindEncoding(encoding);
  if (known == nullptr) return Unknown("encoding", encoding, catalog::Encodings());
  if (randomized && (known->positions & catalog::kRandomized) == 0) {
    return absl::InvalidArgumentError(
        fmt::format("--encoding: '{}' cannot be randomized\n  use --encoding {}", encoding, encoding));
  }
  settings.encoding = encoding;
  settings.randomized = randomized;
  if (!options.lengths.empty()) {
    ASSIGN_OR_RETURN(settings.training.lengths, ParseNumbers("lengths", "lengths", options.lengths, kLongest));
  }
  if (options.batch) settings.training.batch_size = *options.batch;
  settings.evaluation.lengths = {settings.training.lengths.back()};
  settings.evaluation.examples = settings.training.batch_size;
  return settings;
}

absl::StatusOr<trainer::BenchRequest> BenchRequestOf(const BenchOptions& options) {
  if (options.pack < 1 || options.pack > catalog::kMaxJobsOfPack) {
    return absl::InvalidArgumentError(
        fmt::format("--pack: {} is not from 1 to {}\n  a usual value is 9", options.pack, catalog::kMaxJobsOfPack));
  }
  if (options.batch && *options.batch < 1) {
    return absl::InvalidArgumentError(fmt::format("--batch: {} is less than 1\n  without it the paper's value is taken", *options.batch));
  }
  if (!(options.seconds > 0 && options.seconds <= 86'400)) {
    return absl::InvalidArgumentError(
        fmt::format("--seconds: {} is not above 0 and at most 86400\n  a usual value is 10", options.seconds));
  }
  if (options.threads < 0) {
    return absl::InvalidArgumentError(fmt::format("--threads: {} is negative\n  0 uses all cores", options.threads));
  }
  trainer::BenchRequest request;
  const std::vector<std::string> tasks = Split(options.task, ',');
  const size_t packs = static_cast<size_t>(PacksOf(options));
  if (packs > static_cast<size_t>(catalog::kMaxPacksAtATime)) {
    return absl::InvalidArgumentError(fmt::format("--task: {} tasks, and at most {} packs are trained at the same time", packs, catalog::kMaxPacksAtATime));
  }
  if (packs < tasks.size()) {
    return absl::InvalidArgumentError(fmt::format("--packs: {} are fewer than the {} tasks\n  leave it out for a pack of each", packs, tasks.size()));
  }
  for (size_t pack = 0; pack < packs; ++pack) {
    ASSIGN_OR_RETURN(trainer::PackSettings settings, SettingsOf(options, tasks[pack % tasks.size()]));
    if (pack == 0) request.settings = std::move(settings);
    else request.beside.push_back(std::move(settings));
  }
  if (!options.simulate_threads.empty()) {
    ASSIGN_OR_RETURN(request.simulated_threads,
                     ParseNumbers("simulate-threads", "numbers", options.simulate_threads, trainer::kMostSimulatedThreads));
    if (options.cuda || options.threads > 1 || packs > 1) {
      return absl::InvalidArgumentError(fmt::format("--simulate-threads: the times come from one thread of a CPU, for one pack\n  leave out --{}",
                                                    options.cuda ? "device" : options.threads > 1 ? "threads" : "packs"));
    }
  }
  request.pack = options.pack;
  request.seconds = options.seconds;
  request.threads = options.threads;
  request.cuda = options.cuda;
  request.engine = options.engine;
  if (options.wait) request.begin = WaitForALine;
  return request;
}

// Of this process, in bytes.
double PeakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

std::string SimulatedJson(const trainer::BenchResult& result) {
  if (result.simulated.empty()) return "";
  std::vector<std::string> rates;
  for (const trainer::SimulatedRate& rate : result.simulated) {
    rates.push_back(fmt::format("{{\"threads\": {}, \"job_steps_per_second\": {}, \"speedup\": {}}}", rate.threads,
                                rate.job_steps_per_second, rate.speedup));
  }
  return fmt::format(", \"simulated\": [{}], \"serial_ms_per_update\": {}", Join(rates, ", "), result.serial_ms_per_update);
}

void PrintSimulated(const trainer::BenchResult& result) {
  if (result.simulated.empty()) return;
  fmt::print("Simulated, from processor times on one thread; {:.3f} ms of an update are one thread's alone\n", result.serial_ms_per_update);
  for (const trainer::SimulatedRate& rate : result.simulated) {
    fmt::print("  {:10.2f} job-steps/s on {}, {:.2f} times one\n", rate.job_steps_per_second,
               rate.threads == 1 ? "1 thread" : fmt::format("{} threads", rate.threads), rate.speedup);
  }
}

// Hours that the 945 jobs of Table B.1 take, two million updates of the paper's size each, at this rate of GFLOP/s in their matrix products.
// None if it is the rate of something else.
std::optional<double> TableB1Hours(const trainer::BenchRequest& request, const trainer::BenchResult& result) {
  constexpr double kUpdates = 945 * 2e6;
  constexpr int kLongestTraining = 40;
  trainer::PackSettings settings;
  const bool all_algorithmic = std::ranges::all_of(request.beside, [&](const trainer::PackSettings& other) { return other.experiment == settings.experiment; });
  if (!all_algorithmic || request.settings.experiment != settings.experiment || request.settings.training.batch_size != settings.training.batch_size) return std::nullopt;
  double flop = 0;
  const std::vector<const catalog::Task*> tasks = catalog::TasksOfTableB1();
  for (const catalog::Task* task : tasks) {
    settings.task = task->name;
    settings.encoding = request.settings.encoding;
    for (int length = 1; length <= kLongestTraining; ++length) flop += trainer::MatmulFlops(settings, length) / kLongestTraining;
  }
  return kUpdates * flop / static_cast<double>(tasks.size()) / (result.gflops * 1e9) / 3600;
}

std::string HoursJson(const trainer::BenchRequest& request, const trainer::BenchResult& result) {
  const std::optional<double> hours = TableB1Hours(request, result);
  return hours ? fmt::format(", \"table_b1_hours\": {}", *hours) : "";
}

const std::string& TaskOf(const trainer::BenchRequest& request, size_t pack) { return (pack == 0 ? request.settings : request.beside[pack - 1]).task; }

// Of each pack, in the order of the request.
std::string PacksJson(const trainer::BenchRequest& request, const trainer::BenchResult& result) {
  std::vector<std::string> packs;
  for (size_t i = 0; i < result.packs.size(); ++i) {
    packs.push_back(fmt::format("{{\"task\": \"{}\", \"engine\": \"{}\", \"updates_per_second\": {}}}", TaskOf(request, i), result.packs[i].engine,
                                result.packs[i].updates_per_second));
  }
  return fmt::format(", \"packs\": [{}]", Join(packs, ", "));
}

void PrintPacks(const trainer::BenchRequest& request, const trainer::BenchResult& result) {
  if (request.beside.empty()) return;
  fmt::print("Updates/s of each pack, while all are trained\n");
  for (size_t i = 0; i < result.packs.size(); ++i) {
    fmt::print("  {:10.2f} {}, {}\n", result.packs[i].updates_per_second, TaskOf(request, i), result.packs[i].engine);
  }
}

std::string PhasesJson(const trainer::BenchResult& result) {
  if (result.phases.empty()) return "";
  std::vector<std::string> phases;
  for (const trainer::PhaseShare& one : result.phases) phases.push_back(fmt::format("{{\"phase\": \"{}\", \"share\": {}}}", one.phase, one.share));
  return fmt::format(", \"gigabytes_per_second\": {}, \"copy_peak_gigabytes_per_second\": {}, \"phases\": [{}]", result.gigabytes_per_second,
                     result.copy_peak_gigabytes_per_second, Join(phases, ", "));
}

void PrintPhases(const trainer::BenchResult& result) {
  if (result.phases.empty()) return;
  fmt::print("  {:10.1f} GB/s to and from memory, counted from the buffers\n  {:10.1f} GB/s copy peak\nWhere an update's time goes\n",
             result.gigabytes_per_second, result.copy_peak_gigabytes_per_second);
  for (const trainer::PhaseShare& one : result.phases) fmt::print("  {:9.1f} % {}\n", 100 * one.share, one.phase);
}

int Refuse(const absl::Status& status, int exit_code) {
  fmt::print(stderr, "error: {}\n", ForTerminal(std::string(status.message())));
  return exit_code;
}

}  // namespace

int RunBench(const BenchOptions& options) {
  if (options.cuda) {
    const absl::Status loaded = trainer::LoadCudaPlugin(trainer::OwnCudaPlugin(), PacksOf(options));  // Before any other call of the trainer.
    if (!loaded.ok()) return Refuse(loaded, 1);
  }
  const absl::StatusOr<trainer::BenchRequest> request = BenchRequestOf(options);
  if (!request.ok()) return Refuse(request.status(), 2);
  if (const absl::Status valid = trainer::Validate(request->settings); !valid.ok()) return Refuse(valid, 2);
  const absl::StatusOr<trainer::BenchResult> result = trainer::Bench(*request);
  if (!result.ok()) return Refuse(result.status(), result.status().code() == absl::StatusCode::kInvalidArgument ? 2 : 1);
  const double ratio = result->gemm_peak_gflops > 0 ? result->gflops / result->gemm_peak_gflops : 0;
  const int batch = request->settings.training.batch_size;
  if (options.json) {
    fmt::print("{{\"schema\": \"longreach/v1\", \"task\": \"{}\", \"encoding\": \"{}\", \"pack\": {}, \"batch_size\": {}, "
               "\"engine\": \"{}\", \"job_steps_per_second\": {}, \"gflops\": {}, \"gemm_peak_gflops\": {}, \"ratio\": {}, "
               "\"eval_sequences_per_second\": {}, \"cpu_ms_per_job_step\": {}, \"cpu_ms_per_eval_sequence\": {}, "
               "\"peak_memory_bytes\": {}{}}}\n",
               options.task, options.encoding, options.pack, batch, result->engine, result->job_steps_per_second,
               result->gflops, result->gemm_peak_gflops, ratio, result->eval_sequences_per_second, result->cpu_ms_per_job_step,
               result->cpu_ms_per_eval_sequence, PeakMemory(), HoursJson(*request, *result) + PacksJson(*request, *result) + PhasesJson(*result) + SimulatedJson(*result));
  } else {
    fmt::print("{} with {}, {} of {}, batch {}, engine {}\n", options.task, options.encoding,
               request->beside.empty() ? "pack" : fmt::format("{} packs", 1 + request->beside.size()), options.pack, batch, result->engine);
    fmt::print("  {:10.2f} job-steps/s\n  {:10.2f} ms of processor time each\n  {:10.1f} GFLOP/s in matrix products\n", result->job_steps_per_second,
               result->cpu_ms_per_job_step, result->gflops);
    if (result->gemm_peak_gflops > 0) fmt::print("  {:10.1f} GFLOP/s GEMM peak\n  {:10.3f} of the peak\n", result->gemm_peak_gflops, ratio);
    if (result->eval_sequences_per_second > 0) {
      fmt::print("  {:10.1f} test sequences/s\n", result->eval_sequences_per_second);
    }
    fmt::print("  {:10.2f} GB of memory at most\n", PeakMemory() / 1e9);
    if (const std::optional<double> hours = TableB1Hours(*request, *result); hours) {
      fmt::print("  {:10.1f} hours for the 945 jobs of Table B.1 at this rate of GFLOP/s\n", *hours);
    }
    PrintPacks(*request, *result);
    PrintPhases(*result);
    PrintSimulated(*result);
  }
  return 0;
}

}  // namespace longreach::agent
