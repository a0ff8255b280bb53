// What the fleet of fake workers is asked to do, and what it has counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "tests/support/fake_workers/latencies.h"

namespace longreach::fake {

struct Options {
  std::string scheduler;
  std::string name = "fake";  // Begins every worker's id and name: several fleets on one scheduler need several.
  int workers = 100;
  int slots = 1;
  int pack_limit = 1;
  bool noop = false;  // Takes jobs of the kind "noop", and no others.
  int connections = 1;  // That the workers share; 0: each has its own.
  // How long an attempt "trains": drawn between half of it and one and a half; 0: not at all.
  double train_s = 0;
  int lengths = 0;            // Measurements of a job beside its score.
  int64_t artifact_bytes = 0;  // Handed in before each success, as weights.
  // Shares of the attempts in which the worker crashes, reports a failure, or is silent for twice the lease term.
  double crash_share = 0;
  double fail_share = 0;
  double silent_share = 0;
  uint64_t seed = 1;
  double seconds = 0;       // 0: no end by time.
  bool until_idle = false;  // End when there was work, and all of it is done and acknowledged for `idle_s`.
  double idle_s = 1;
};

// What has happened; shared by all workers, which run on one thread.
struct Tally {
  int64_t calls = 0;
  int64_t leases = 0;
  int64_t leased_jobs = 0;
  int64_t reports = 0;            // Sent, repetitions included.
  int64_t acknowledged = 0;       // Attempts whose report was acknowledged.
  int64_t acknowledged_jobs = 0;  // Jobs in those that were successes.
  int64_t given_back = 0;
  int64_t failed = 0;
  int64_t crashes = 0;
  int64_t silences = 0;
  int64_t drops = 0;
  // Of those, attempts whose worker had called within the lease term all the time: unless its jobs were cancelled, the
  // scheduler was wrong.
  int64_t false_drops = 0;
  int64_t dropped_jobs = 0;
  int64_t uploads = 0;
  int64_t overtaken = 0;
  std::map<int, int64_t> errors;  // By gRPC's code.
  Latencies report;               // A call that carried a report, until its answer; not of a worker that leaves.
  Latencies assign;               // From the moment a slot became free until its next lease.
  std::chrono::steady_clock::time_point first_lease{};
  std::chrono::steady_clock::time_point last_acknowledged{};
};

}  // namespace longreach::fake
