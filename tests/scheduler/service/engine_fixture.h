// An engine on a real store with a clock of the test's own: events run at once, each as a group of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/clock.h"
#include "scheduler/service/engine.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/store/store_folder.h"

namespace longreach::service {

class FakeClock final : public Clock {
 public:
  WallTime Wall() const override { return wall_; }
  SteadyTime Steady() const override { return steady_; }
  void Advance(std::chrono::microseconds by) {
    wall_ += by;
    steady_ += by;
  }

 private:
  WallTime wall_{std::chrono::seconds(1'800'000'000)};
  SteadyTime steady_{std::chrono::seconds(1000)};
};

class TestWorker;

class EngineFixture : public ::testing::Test {
 protected:
  // On the engine as it is when a worker is made anew here, also after RestartScheduler().
  TestWorker Worker(const std::string& id);
  EngineFixture();
  // Whatever a test did, the ledger checks must find nothing, and what it wanted to happen during an event has happened.
  void TearDown() override {
    EXPECT_TRUE(during_event_ == nullptr);
    CheckLedger();
  }
  void CheckLedger();

  // Another engine on the same store, as after kill -9 and a start.
  void RestartScheduler();
  void Advance(std::chrono::microseconds by);
  // Runs what the engine wants to do by itself up to now.
  void RunDeadlines();

  // even_pairs with RoPE, seeds 0..seeds-1, 100 steps: one pack if the limit admits.
  static v1::SweepSpec Sweep(const std::string& name, int seeds);
  v1::SubmitSweepResponse Submit(const v1::SweepSpec& spec, std::optional<int> priority = {});
  absl::StatusOr<v1::Sweep> Steer(const std::string& sweep, v1::SteerSweepRequest::Action action, int priority = 0);
  absl::StatusOr<v1::WorkerInfo> Drain(const std::string& worker, bool drain);
  absl::Status Upload(const v1::LeasedJob& job, int64_t attempt, const std::string& worker, const std::string& kind, int step);

  v1::JobCounts Counts(const std::string& sweep);
  store::JobRow Job(const std::string& id);
  store::AttemptRow Attempt(uint64_t id);
  // Values of one metric over all lengths, by seed.
  std::vector<double> Scores(const std::string& sweep);

  FakeClock clock_;
  const store::StoreFolder folder_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Engine> engine_;
  int events_ = 0;       // That were handed to the writer.
  bool disk_full_ = false;  // The next events fail.
  bool busy_ = false;       // The next events wait for RunWaiting().
  void RunWaiting();
  EngineOptions options_;   // From the next RestartScheduler() on.
  std::vector<store::Event> waiting_;
  std::function<void()> during_event_;  // Happens once, while the next event waits for the writer.
  Engine* current_ = nullptr;
};

// A worker as the engine sees one.
class TestWorker {
 public:
  TestWorker(Engine** engine, std::string id) : engine_(engine), id_(std::move(id)) { SetAbilities(); }

  // `held`: what its folder has of earlier attempts.
  void Restart(std::vector<uint64_t> held = {}) {
    ++incarnation_;
    sequence_ = 0;
    held_ = std::move(held);
  }
  // Without a report.
  void LetGo(uint64_t attempt) { std::erase(held_, attempt); }

  // A call with what it holds; nothing: it is held open, and its answer will be in late().
  std::optional<absl::StatusOr<v1::SynchronizeResponse>> Call();
  // A call that must be answered at once with OK. Takes the leases and forgets what it is told to.
  v1::SynchronizeResponse Sync();
  // Takes one lease or fails.
  v1::Lease Take();

  // Any report; the attempt is no longer held.
  void Report(const v1::AttemptReport& report) {
    std::erase(held_, report.attempt());
    finished_.push_back(report);
  }
  // Finishes an attempt: accuracy 0.5 + seed / 100 for each job.
  void Succeed(const v1::Lease& lease);
  void Fail(const v1::Lease& lease, const std::string& detail);
  void GiveBack(const v1::Lease& lease);

  v1::SynchronizeRequest& next() { return next_; }
  // What the next calls say of an attempt that it holds.
  v1::HeldAttempt& Tell(uint64_t attempt) { return told_[attempt]; }
  std::optional<absl::StatusOr<v1::SynchronizeResponse>>& late() { return *late_; }
  const std::vector<uint64_t>& held() const { return held_; }
  const std::string& id() const { return id_; }
  uint64_t sequence() const { return sequence_; }
  uint64_t incarnation() const { return incarnation_; }

 private:
  void SetAbilities();

  Engine** engine_;
  std::string id_;
  uint64_t incarnation_ = 1;
  uint64_t sequence_ = 0;
  v1::SynchronizeRequest next_;  // Abilities, free slots and flags of the next calls.
  std::vector<uint64_t> held_;
  std::map<uint64_t, v1::HeldAttempt> told_;
  std::vector<v1::AttemptReport> finished_;
  std::shared_ptr<std::optional<absl::StatusOr<v1::SynchronizeResponse>>> late_;
};

v1::AttemptReport SuccessOf(const v1::Lease& lease);

}  // namespace longreach::service
