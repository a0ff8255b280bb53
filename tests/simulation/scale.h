// The real engine and the real store at full size: as many workers and jobs as one scheduler may ever see, in virtual time, with every
// commit on the disk. Without gRPC, whose cost does not depend on how many there are.
#pragma once

#include <cstdint>
#include <string>

#include "proto/base/status.h"

namespace longreach::simulation {

struct ScaleOptions {
  int workers = 50'000;
  int64_t jobs = 10'000'000;
  double job_s = 60;      // A job takes between half of this and one and a half.
  double played_s = 120;  // Of virtual time, once the jobs are there and every worker has called.
  std::string folder = ".";  // Where the store lies while it runs: 6 GB for 10,000,000 jobs.
  bool check = false;     // The ledger at the end, which takes minutes.
};

struct ScaleFigures {
  double submit_s = 0;
  double submit_cpu_us_per_job = 0;
  double store_bytes_per_job = 0;
  int64_t calls = 0;
  int64_t finished = 0;         // Jobs.
  int64_t false_expiries = 0;   // Attempts that were taken from a worker which had called in time.
  double cores = 0;             // Processor time for each second of virtual time.
  double group_p50_ms = 0;      // Of real time, from the first of its events to its answers.
  double group_p99_ms = 0;
  double group_max_ms = 0;
  double resident_mib = 0;
};

absl::StatusOr<ScaleFigures> RunAtScale(const ScaleOptions& options);

}  // namespace longreach::simulation
