// One seed: a scheduler, workers and users, all that goes wrong between them, and then, with no more faults, the end of all jobs.
//
//   simulate store --seeds 1..1000              many seeds, and how often each fault and refusal occurred
//   simulate store --seed 17 --verbose          one seed with its event log, always the same
//   simulate core --seeds 1..10000              scheduler/core's pure functions without SQL and files
//
// In a seed: 3 to 5 workers, some 40 jobs of four sweeps that share jobs and need each other's weights, at least 300 events with at
// least one crash of the scheduler. Events run in groups, as the writer runs them, and every event is given to the reference model
// (model.h) in the same order. Compared are: each answer with the model's; after each group all jobs, sweeps with their counters
// and what they gave up, workers and attempts; at the end the ledger check with all files read, points of loss curves and where attempts began, as acknowledged, every result
// with the only one that its job can have, and the whole table with that of an undisturbed run. No lease may end before its time, and
// once the faults stop all jobs must come to an end. Jobs crash, diverge, have results that cannot be accepted or forget their weights
// by their ids alone, so that tables can be compared.
//
// Is it blind? plants.h has 23 bugs of a scheduler and its store (answers before the commit, leases of 14 s, stale reports, lost
// counts, forgotten checkpoints and points, jobs that were given up and go on, ...). Each is found within a hundred seeds; PlantTest sees to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/world.h"

namespace longreach::simulation {

enum class Kind { kCore, kStore };

struct Options {
  Kind kind = Kind::kCore;
  uint64_t seed = 1;
  bool verbose = false;   // Prints the event log.
  bool disturbed = true;
  int min_events = 300;   // Before the faults stop.
  int workers = 0;        // 0: 3 to 5, by the seed.
  std::string plant = {}; // A bug to be found (plants.h); empty: none.
};

struct Outcome {
  std::string violation;  // Empty: none.
  uint64_t hash = 0;      // Of the event log.
  Tally tally;
  int64_t events = 0;
  std::string table;      // Of all jobs, at the end.
};

Outcome Simulate(const Options& options);

// What must have happened at least once in a run of many seeds: each fault, each refusal, each kind of directive and outcome.
std::vector<std::string> Listed(Kind kind);

}  // namespace longreach::simulation
