// `longreach-worker bench`: how fast this machine trains a pack, beside what its matrix products could reach.
#pragma once

#include <optional>
#include <string>

namespace longreach::agent {

struct BenchOptions {
  std::string experiment;  // Empty: the one that the task belongs to.
  std::string task;  // Or several, with commas: a pack of each is trained at the same time.
  std::string encoding;  // NAME or NAME:randomized.
  int pack = 1;
  int packs = 0;  // At the same time, of the tasks in turn; 0: one of each.
  std::string lengths;       // "1..40"; empty: the paper's.
  std::optional<int> batch;  // Nothing: the paper's.
  double seconds = 10;
  int threads = 0;
  std::string simulate_threads;  // "1,2,4,8"; empty: none. With one real thread.
  bool cuda = false;
  std::string engine;  // Empty: what training takes.
  bool wait = false;   // For a line on standard input, and measure updates alone from then on.
  bool json = false;
};

// Prints the figures on standard output. Returns the process's exit code: 2 for a value that makes no sense.
int RunBench(const BenchOptions& options);

}  // namespace longreach::agent
