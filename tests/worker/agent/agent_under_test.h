// An agent on a thread of its own with the real trainer child, and leases that a laptop trains in a moment.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "longreach/v1/worker.pb.h"
#include "tests/worker/agent/fake_scheduler.h"
#include "worker/agent/agent.h"

namespace longreach::agent {

class AgentUnderTest {
 public:
  explicit AgentUnderTest(AgentOptions options);
  // Leaves.
  ~AgentUnderTest();

  void Leave();
  // Waits until it has ended, and returns how.
  absl::Status Join();
  // Of a slot's trainer; 0: none.
  int TrainerPid(size_t slot = 0);
  // OK when it could be opened.
  const absl::Status& opened() const { return opened_; }

 private:
  boost::asio::io_context io_;
  std::unique_ptr<Agent> agent_;
  absl::Status opened_;
  absl::Status ended_;
  std::jthread thread_;
};

AgentOptions OptionsFor(const FakeScheduler& scheduler, const std::filesystem::path& state);

// A tiny encoder. Jobs are named by `first`, `first` + 1, ... and differ in their seeds.
v1::Lease LeaseOf(uint64_t attempt, int steps, int jobs = 1, int first = 1);
std::string JobId(int number);

// Steps that no test lives to see.
inline constexpr int kEndless = 1'000'000'000;

}  // namespace longreach::agent
