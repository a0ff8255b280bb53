// simulate core|store --seeds A..B: runs seeds, prints what happened how often, and for a seed that fails the command that repeats it.
// simulate scale --workers N --jobs N: what a scheduler of that size costs.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sqlite3.h>

#include "proto/base/text.h"
#include "tests/simulation/plants.h"
#include "tests/simulation/scale.h"
#include "tests/simulation/simulation.h"

namespace longreach::simulation {
namespace {

// Seeds of a run that are simulated twice: the event log must be the same.
constexpr uint64_t kTwiceEvery = 50;
constexpr size_t kFailuresShown = 5;

struct Run {
  Options options;
  uint64_t first = 1;
  uint64_t last = 1;
  int threads = 2;
  bool check_listed = true;
};

struct Total {
  Tally tally;
  int64_t events = 0;
  int64_t seeds = 0;
  int64_t twice = 0;
  std::vector<std::string> failures;
};

std::string Command(const Options& options) {
  return fmt::format("simulate {} --seed {} --events {}{} --verbose", options.kind == Kind::kCore ? "core" : "store", options.seed,
                     options.min_events, options.workers > 0 ? fmt::format(" --workers {}", options.workers) : "");
}

void RunSeed(const Run& run, uint64_t seed, std::mutex& mutex, Total& total) {
  Options options = run.options;
  options.seed = seed;
  Outcome outcome = Simulate(options);
  const bool twice = outcome.violation.empty() && !options.verbose && (seed % kTwiceEvery == 0 || run.first == run.last);
  if (twice && Simulate(options).hash != outcome.hash) outcome.violation = "the same seed gave two different event logs";
  const std::lock_guard lock(mutex);
  for (const auto& [name, count] : outcome.tally) total.tally[name] += count;
  total.events += outcome.events;
  total.twice += twice;
  ++total.seeds;
  if (outcome.violation.empty()) return;
  total.failures.push_back(fmt::format("seed {}: {}\n  repeat it with: {}", seed, outcome.violation, Command(options)));
}

int Print(const Run& run, const Total& total, double seconds) {
  for (const auto& [name, count] : total.tally) fmt::print("  {:10} {}\n", count, name);
  bool ok = total.failures.empty();
  if (run.check_listed) {
    for (const std::string& name : Listed(run.options.kind)) {
      if (total.tally.contains(name) && total.tally.at(name) > 0) continue;
      fmt::print("never happened: {}\n", name);
      ok = false;
    }
  }
  for (size_t i = 0; i < std::min(total.failures.size(), kFailuresShown); ++i) fmt::print("FAILED {}\n", total.failures[i]);
  fmt::print("{} {} seeds, {} events, {} seeds twice with the same log, {} failed, {:.1f} s\n", total.seeds,
             run.options.kind == Kind::kCore ? "core" : "store", total.events, total.twice, total.failures.size(), seconds);
  return ok ? 0 : 1;
}

int Simulate(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  std::mutex mutex;
  Total total;
  std::atomic<uint64_t> next = run.first;
  std::vector<std::jthread> threads;
  for (int i = 0; i < run.threads; ++i) {
    threads.emplace_back([&] {
      for (uint64_t seed = next++; seed <= run.last; seed = next++) RunSeed(run, seed, mutex, total);
    });
  }
  threads.clear();
  return Print(run, total, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

int RunScale(const ScaleOptions& options) {
  const absl::StatusOr<ScaleFigures> figures = RunAtScale(options);
  if (!figures.ok()) {
    fmt::print(stderr, "error: {}\n", figures.status().ToString());
    return 1;
  }
  fmt::print("{} jobs submitted in {:.0f} s, {:.1f} us of processor time and {:.0f} bytes each\n", options.jobs, figures->submit_s,
             figures->submit_cpu_us_per_job, figures->store_bytes_per_job);
  fmt::print("{} workers for {:g} s: {} calls, {} jobs done, {} false expiries\n", options.workers, options.played_s, figures->calls,
             figures->finished, figures->false_expiries);
  fmt::print("{:.2f} cores; a group of events takes {:.1f} ms (p50), {:.1f} ms (p99), {:.1f} ms at most; {:.0f} MiB of memory\n", figures->cores,
             figures->group_p50_ms, figures->group_p99_ms, figures->group_max_ms, figures->resident_mib);
  return figures->false_expiries == 0 ? 0 : 1;
}

}  // namespace
}  // namespace longreach::simulation

int main(int argc, char** argv) {
  using namespace longreach::simulation;
  CLI::App app("Runs scheduler, workers, network and users in one thread and in virtual time. A seed repeats a run exactly.");
  app.require_subcommand(1);
  Run run;
  std::string seeds = "1..100";
  uint64_t seed = 0;
  const auto add = [&](const char* name, const char* about, Kind kind) {
    CLI::App* command = app.add_subcommand(name, about);
    command->callback([&run, kind] { run.options.kind = kind; });
    command->add_option("--seeds", seeds, "A..B: these seeds")->capture_default_str();
    command->add_option("--seed", seed, "One seed");
    command->add_option("--events", run.options.min_events, "Events before the faults stop")->capture_default_str();
    command->add_option("--workers", run.options.workers, "Workers (default: 3 to 5, by the seed)");
    command->add_option("--threads", run.threads, "Seeds at a time")->capture_default_str()->check(CLI::Range(1, 256));
    command->add_option("--plant", run.options.plant, "Plant a bug (plants.h) to see it found");
    command->add_flag("--verbose", run.options.verbose, "Print the event log");
  };
  add("core", "scheduler/core's pure functions", Kind::kCore);
  add("store", "The real engine and store", Kind::kStore);
  ScaleOptions scale;
  CLI::App* at_scale = app.add_subcommand("scale", "The real engine and store with many workers and jobs, without faults");
  at_scale->add_option("--workers", scale.workers, "Workers, one job at a time")->capture_default_str()->check(CLI::Range(1, 1'000'000));
  at_scale->add_option("--jobs", scale.jobs, "Jobs, a multiple of 10")->capture_default_str()->check(CLI::Range(10, 10'000'000));
  at_scale->add_option("--job-s", scale.job_s, "Seconds that a job takes")->capture_default_str()->check(CLI::PositiveNumber);
  at_scale->add_option("--played-s", scale.played_s, "Seconds of virtual time")->capture_default_str()->check(CLI::PositiveNumber);
  at_scale->add_option("--folder", scale.folder, "Where the store lies meanwhile")->capture_default_str();
  at_scale->add_flag("--check", scale.check, "Check the store at the end");
  CLI11_PARSE(app, argc, argv);
  if (at_scale->parsed()) return RunScale(scale);
  if (seed != 0) {
    run.first = run.last = seed;
    run.check_listed = false;
  } else {
    const size_t dots = seeds.find("..");
    const auto first = longreach::ParseInteger(seeds.substr(0, dots));
    const auto last = dots == std::string::npos ? first : longreach::ParseInteger(seeds.substr(dots + 2));
    if (!first || !last || *first < 1 || *last < *first) {
      fmt::print(stderr, "error: --seeds: '{}' is not A..B with A of at least 1\n", seeds);
      return 2;
    }
    run.first = static_cast<uint64_t>(*first);
    run.last = static_cast<uint64_t>(*last);
    run.check_listed = run.last - run.first >= 99;  // Fewer need not meet everything.
  }
  if (!run.options.plant.empty() && FindPlant(run.options.plant) == nullptr) {
    fmt::print(stderr, "error: --plant: there is no '{}'; there are:\n", run.options.plant);
    for (const Plant& plant : Plants()) fmt::print(stderr, "  {}\n", plant.name);
    return 2;
  }
  if (run.options.verbose) run.threads = 1;
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);  // Counting memory takes a lock that all threads share.
  return Simulate(run);
}
