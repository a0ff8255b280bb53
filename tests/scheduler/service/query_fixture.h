// A real store in a temporary file, filled through the store's own functions, for tests of the reading calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "longreach/v1/api.pb.h"
#include "scheduler/service/live_board.h"
#include "store/attempts.h"
#include "store/jobs.h"
#include "store/store.h"
#include "tests/store/store_folder.h"

namespace longreach::service {

// Even pairs and parity check, RoPE plain and randomized, two learning rates, two seeds: 16 jobs of 100 steps.
v1::SweepSpec SmallSweep(const std::string& name);
// 500 jobs: what reads them all is long enough to find that it is to stop.
v1::SweepSpec LongSweep(const std::string& name);

class QueryFixture : public ::testing::Test {
 protected:
  QueryFixture();

  struct Made {
    int64_t num = 0;
    std::string id;
    std::vector<int64_t> jobs;     // Nums in order of expansion.
    std::vector<std::string> ids;  // The same jobs' ids.
  };
  // Time goes on by a second with each.
  Made AddSweep(const v1::SweepSpec& spec, int priority = 0);
  void AddWorker(const std::string& id, const std::string& name, const std::string& abilities = "{}");
  int64_t Lease(const std::string& worker, std::span<const int64_t> jobs, const std::string& build = "1.0", int start_step = 0);
  // Each job gets this accuracy over all lengths, half of it at length 50, and loss 1 - accuracy.
  void Succeed(int64_t attempt, std::span<const int64_t> jobs, std::span<const double> accuracies);
  void Diverge(int64_t attempt, int64_t job, int at);
  void Fail(int64_t attempt, int64_t job, const std::string& failure);
  void GiveBack(int64_t attempt, std::span<const int64_t> jobs);
  void End(int64_t attempt, Outcome outcome, const std::string& detail = "");
  void Checkpoint(int64_t attempt, int64_t job, int step);
  void PutLog(int64_t attempt, int64_t job, const std::string& text, int step = 0);
  // Any change that has no function here.
  void Write(const std::function<absl::Status(sql::Transaction&)>& change);

  // A snapshot of now.
  store::Snapshot Read();

  const store::StoreFolder folder_;
  std::unique_ptr<store::Store> store_;
  LiveBoard board_;
  WallTime now_{std::chrono::seconds(1'800'000'000)};
};

}  // namespace longreach::service
